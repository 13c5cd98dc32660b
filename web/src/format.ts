/** Numbers and tokens as they are read. */

/** Four digits that count; the minus as typographers have it. */
export function number(value: number, digits = 4): string {
  if (value === Number.POSITIVE_INFINITY) return "∞";
  if (value === Number.NEGATIVE_INFINITY) return "−∞";
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) {
    return value.toExponential(digits - 1).replaceAll("-", "−");
  }
  const short = value.toPrecision(digits);
  const text = short.includes("e") ? value.toFixed(0) : short.replace(/(\.\d*?)0+$/, "$1");
  return text.replace(/\.$/, "").replace("-", "−");
}

export function percent(share: number): string {
  if (share >= 0.9995) return "100%";
  if (share < 0.0005) return share > 0 ? "<0.1%" : "0%";
  return `${(share * 100).toFixed(1)}%`;
}

/** What an error says, whatever was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A path through points, as an SVG has it. */
export const linePath = (points: Iterable<readonly [number, number]>): string =>
  Array.from(points, ([x, y], n) => `${n ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** With its sign. */
export const withSign = (value: number, decimals = 2): string => `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(decimals)}`;

/** How many letters wide a text is; Chinese ones and their like take `wide`. */
export const countLetters = (text: string, wide = 1.9): number =>
  Array.from(text).reduce((all, letter) => all + (letter > "⺀" ? wide : 1), 0);

/** What cannot be seen; the second has the joiners, too, which shape the letters beside them. */
const HIDDEN = /[\u00ad\u034f\u061c\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;
const ONLY_HIDDEN = /^[ ▁]*[\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+$/u;

/** A token's text with names in the place of what cannot be seen, as U+200B. */
export const nameInvisible = (text: string): string =>
  text.replace(ONLY_HIDDEN.test(text) ? /[^ ▁]/gu : HIDDEN, (each) => `U+${each.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`);

/** A token as it is shown: a space at its beginning becomes a mark, so that it can be seen. */
export const token = (text: string): string => nameInvisible(text.replace(/^[ ▁]/, "▁").replaceAll("\n", "⏎"));
