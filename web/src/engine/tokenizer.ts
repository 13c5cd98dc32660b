/** Byte-pair encoding as `text/tokenizer.py` has it: lossless, with bytes for unknown characters. */

import { EAST } from "../data/words";
import { isSpace } from "./tables";

export type Merges = [string, string][];
/** What people type, and the characters that the model has seen in its place: see `text/characters.py`. */
export type Characters = Record<string, string>;

export interface Piece {
  id: number;
  start: number; // in characters of the text that was given
  end: number;
}

const [FIRST_BYTE, FIRST_CHARACTER] = [3, 259];
const WORD = / ?[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+/gu;
const IDLE = new RegExp(`(?<=[${EAST}])\\s+(?=[${EAST}])`, "gu");

/** A character of a cleaned text, and which characters of the given one it came from. */
export interface Letter {
  text: string;
  start: number;
  end: number;
}

export class Tokenizer {
  protected readonly ids: Map<string, number>;
  private readonly ranks: Map<string, [rank: number, id: number]>;
  protected bytes: Uint8Array[];
  readonly characters: ReadonlyMap<string, string> | null;

  constructor(
    public vocabulary: readonly string[],
    merges: Merges,
    characters?: Characters,
  ) {
    this.characters = characters ? new Map(Object.entries(characters)) : null;
    this.ids = new Map(vocabulary.map((token, id) => [token, id]));
    this.ranks = new Map(
      merges.map(([left, right], rank) => [
        `${this.ids.get(left)} ${this.ids.get(right)}`, [rank, this.ids.get(left + right)!],
      ]),
    );
    const encoder = new TextEncoder();
    this.bytes = vocabulary.map((token, id) =>
      id < FIRST_BYTE ? new Uint8Array() : id < FIRST_CHARACTER ? Uint8Array.of(id - FIRST_BYTE) : encoder.encode(token),
    );
  }

  hasToken(text: string): boolean {
    return this.ids.has(text);
  }

  /** A tokenizer that writes some tokens otherwise, and reads as this one does. */
  rename(names: ReadonlyMap<string, string>): Tokenizer {
    const encoder = new TextEncoder();
    const twin = Object.assign(Object.create(Object.getPrototypeOf(this) as object) as Tokenizer, this);
    twin.bytes = [...this.bytes];
    twin.vocabulary = this.vocabulary.map((token, id) => {
      const name = names.get(token.trim());
      if (name === undefined) return token;
      const written = (token.startsWith(" ") ? " " : "") + name;
      twin.bytes[id] = encoder.encode(written);
      return written;
    });
    return twin;
  }

  encode(text: string): number[] {
    return this.read(text).map(({ id }) => id);
  }

  /** The ids of a word as it stands behind a mark, where no space is before it. */
  encodeInside(word: string): number[] {
    return this.readWord(this.clean(word, false)).map(({ id }) => id);
  }

  /** The tokens of a text with their spans; `unspaced`: white space between Chinese is no text. */
  read(text: string, unspaced = false): Piece[] {
    const letters = this.clean(text, unspaced);
    if (!letters.length) return [];
    const led = [{ text: " ", start: letters[0]!.start, end: letters[0]!.start }, ...letters];
    const found: Piece[] = [];
    let at = 0;
    for (const [word] of led.map((each) => each.text).join("").matchAll(WORD)) {
      const own = led.slice(at, (at += Array.from(word).length));
      found.push(...this.readWord(own));
    }
    return found;
  }

  /** The characters, each once, that are no tokens. */
  findUnknown(text: string): string[] {
    const found = new Set(this.clean(text, false).map((letter) => letter.text));
    return [...found].filter((letter) => !this.ids.has(letter) && !isSpace(letter));
  }

  /** The text of any ids: controls are left out, and what is no text becomes U+FFFD. */
  decode(ids: readonly number[]): string {
    const all = Uint8Array.from(ids.flatMap((id) => [...(this.bytes[id] ?? [255])]));
    return this.trim(new TextDecoder("utf-8", { ignoreBOM: true }).decode(all));
  }

  /** A text without the space that was put before it to be cut. */
  protected trim(text: string): string {
    return text.replace(/^ /, "");
  }

  /** The characters that the network reads, in NFC, with the spans that they came from. */
  private clean(text: string, unspaced: boolean): Letter[] {
    const letters = compose(replaceCharacters(text, this.characters));
    return unspaced ? closeUp(letters) : letters;
  }

  /** A character as its token, or as those of its bytes. */
  protected spell({ text, start, end }: Letter): Piece[] {
    const id = this.ids.get(text);
    if (id !== undefined) return [{ id, start, end }];
    return [...new TextEncoder().encode(text)].map((byte) => ({ id: FIRST_BYTE + byte, start, end }));
  }

  /** Neighbours are merged, the lowest rank first, then the leftmost, as `text/dropout.py` has it. */
  protected readWord(letters: readonly Letter[]): Piece[] {
    const pieces: (Piece | undefined)[] = letters.flatMap((letter) => this.spell(letter));
    const size = pieces.length;
    const [after, before] = [pieces.map((_, n) => n + 1), pieces.map((_, n) => n - 1)];
    const mergeAt = (n: number) => this.ranks.get(`${pieces[n]?.id} ${pieces[after[n]!]?.id}`);
    const waiting = new Heap(); // ranks and places, as one number each
    const look = (n: number) => {
      const merge = mergeAt(n);
      if (merge) waiting.push(merge[0] * size + n);
    };
    for (let n = 0; n < size; n++) look(n);
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const left = next % size;
      const merge = mergeAt(left);
      if (!merge || merge[0] * size + left !== next) continue; // an earlier merge took one of the two
      const right = after[left]!;
      pieces[left] = { id: merge[1], start: pieces[left]!.start, end: pieces[right]!.end };
      pieces[right] = undefined;
      after[left] = after[right]!;
      before[after[left]!] = left;
      look(before[left]!);
      look(left);
    }
    return pieces.filter((each) => each !== undefined);
  }
}

/** Numbers, of which the least comes first. */
class Heap {
  private readonly all: number[] = [];

  push(value: number): void {
    let at = this.all.length;
    for (let up; at && this.all[(up = (at - 1) >> 1)]! > value; at = up) this.all[at] = this.all[up]!;
    this.all[at] = value;
  }

  pop(): number | undefined {
    const [least, last] = [this.all[0], this.all.pop()!];
    const size = this.all.length;
    if (!size) return least;
    let at = 0;
    for (let down = 1; down < size; down = 2 * at + 1) {
      if (down + 1 < size && this.all[down + 1]! < this.all[down]!) down++;
      if (this.all[down]! >= last) break;
      this.all[at] = this.all[down]!;
      at = down;
    }
    this.all[at] = last;
    return least;
  }
}

/** Known characters in place of the typed ones; white space once, and none at the ends. */
export function replaceCharacters(text: string, characters: ReadonlyMap<string, string> | null): Letter[] {
  const typed = Array.from(text.replace(/\p{Surrogate}/gu, "\ufffd"), (each, at) => ({ text: each, start: at, end: at + 1 }));
  if (!characters) return typed;
  const letters: Letter[] = [];
  let start = 0; // of what the next letter stands for: also what went before it
  for (const { text, end } of typed) {
    let isKept = false;
    for (const each of characters.get(text) ?? text) {
      if (each === " " && (letters.at(-1)?.text ?? " ") === " ") continue;
      letters.push({ text: each, start, end });
      isKept = true;
    }
    if (isKept) start = end;
  }
  if (letters.at(-1)?.text === " ") letters.pop();
  if (letters.length) letters.at(-1)!.end = typed.length;
  return letters;
}

/** Letter by letter in NFC; what was composed has the span of all that it was composed of. */
function compose(typed: readonly Letter[]): Letter[] {
  const letters: Letter[] = [];
  let [first, cluster] = [0, typed[0]?.text ?? ""];
  for (let next = 1; next <= typed.length; next++) {
    const letter = typed[next]?.text ?? "";
    if (joins(cluster, letter)) {
      cluster += letter;
      continue;
    }
    const composed = Array.from(cluster.normalize("NFC"));
    const isSame = composed.length === next - first && composed.join("") === cluster;
    const [start, end] = [typed[first]!.start, typed[next - 1]!.end];
    composed.forEach((text, n) => letters.push(isSame ? { ...typed[first + n]!, text } : { text, start, end }));
    [first, cluster] = [next, letter];
  }
  return letters;
}

/** Whether NFC may compose or reorder a character with those before it. */
function joins(before: string, letter: string): boolean {
  if (letter < "\u0300") return false;
  const first = Array.from(letter.normalize("NFD"))[0]!;
  return /\p{M}/u.test(first) || (before + first).normalize("NFC") !== before.normalize("NFC") + first;
}

/** Without the white space between Chinese characters, which belongs to the one after it. */
function closeUp(letters: Letter[]): Letter[] {
  const text = letters.map((each) => each.text).join("");
  const idle = new Set<number>();
  for (const match of text.matchAll(IDLE)) {
    const from = Array.from(text.slice(0, match.index)).length;
    for (let n = 0; n < Array.from(match[0]).length; n++) idle.add(from + n);
  }
  let start = -1;
  return letters.flatMap((each, n) => {
    if (idle.has(n)) {
      if (start < 0) start = each.start;
      return [];
    }
    const found = start < 0 ? each : { ...each, start };
    start = -1;
    return [found];
  });
}
