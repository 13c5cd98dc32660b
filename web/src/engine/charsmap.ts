/**
 * The compiled replacements of SentencePiece's normaliser, as `foreign_tokenizers/charsmap.py` reads
 * them: a trie over the bytes of UTF-8, whose values are places in a list of replacements.
 */

const offset = (unit: number): number => (unit >>> 10) << ((unit & 0x200) >> 6);

export class Charsmap {
  private readonly units: Uint32Array;
  private readonly replacements: Uint8Array;
  private readonly known = new Map<string, Uint8Array>(); // characters in UTF-8
  private readonly encoder = new TextEncoder();

  /** Of the compiled form; nothing is replaced if it is empty. */
  constructor(compiled: Uint8Array) {
    const view = new DataView(compiled.buffer, compiled.byteOffset, compiled.byteLength);
    const size = compiled.length ? view.getUint32(0, true) : 0;
    this.units = Uint32Array.from({ length: size / 4 }, (_, n) => view.getUint32(4 + 4 * n, true));
    this.replacements = compiled.subarray(4 + size);
  }

  /** The replacement of the longest match at a place, and where it ends; null without one. */
  find(letters: readonly string[], at: number): [text: string, end: number] | null {
    if (!this.units.length) return null;
    let place = offset(this.units[0]!);
    let match: [value: number, end: number] | null = null;
    for (let end = at; end < letters.length; end++) {
      let unit = 0;
      for (const byte of this.spell(letters[end]!)) {
        place ^= byte;
        unit = this.units[place]!;
        if ((unit & 0x800000ff) !== byte) return match && [this.read(match[0]), match[1]];
        place ^= offset(unit);
      }
      if ((unit >>> 8) & 1) match = [this.units[place]! & 0x7fffffff, end + 1];
    }
    return match && [this.read(match[0]), match[1]];
  }

  private spell(letter: string): Uint8Array {
    let found = this.known.get(letter);
    if (!found) this.known.set(letter, (found = this.encoder.encode(letter)));
    return found;
  }

  private read(start: number): string {
    const end = this.replacements.indexOf(0, start);
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.replacements.subarray(start, end));
  }
}
