/** The colours of theme.css for canvases: scales as tables of 256, and ink that can be read. */

export type Rgb = readonly [number, number, number];
export type Scale = "share" | "signed";

/** Of a tensor: what lies between 0 and 1 has no sign to show. */
export const scaleOf = (name: string): Scale =>
  /\.(weights|mask)$|^probabilities$/.test(name) ? "share" : "signed";

const SIZE = 256;
let tables: Partial<Record<Scale, Uint32Array<ArrayBuffer>>> = {};

/** A colour of theme.css as it is now: `colour("ink")`. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function stops(name: string): string[] {
  return colour(name).split(/\s+/);
}

/** One colour a head; after the last comes the first again. */
export function headColour(head: number): string {
  const found = stops("heads");
  return found[head % found.length] ?? "currentColor";
}

export function readHex(text: string): Rgb {
  const number = Number.parseInt(text.slice(1), 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

/** 256 colours, as a canvas keeps them in memory. */
export function table(scale: Scale): Uint32Array {
  return (tables[scale] ??= spread(stops(scale).map(readHex)));
}

export function spread(colours: readonly Rgb[]): Uint32Array<ArrayBuffer> {
  const found = new Uint32Array(SIZE);
  for (let place = 0; place < SIZE; place++) {
    const at = (place / (SIZE - 1)) * (colours.length - 1);
    const left = Math.min(Math.floor(at), colours.length - 2);
    const [from, to] = [colours[left]!, colours[left + 1]!];
    const mix = (n: 0 | 1 | 2) => Math.round(from[n] + (at - left) * (to[n] - from[n]));
    found[place] = ((255 << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0)) >>> 0;
  }
  return found;
}

/** The place in a table of a value: shares go from 0 to `limit`, signed ones from -limit. */
export function place(scale: Scale, value: number, limit: number): number {
  const part = scale === "share" ? value / limit : (value / limit + 1) / 2;
  return Math.max(0, Math.min(SIZE - 1, Math.round(part * (SIZE - 1)))) || 0;
}

export function forgetTables(): void {
  tables = {};
}
