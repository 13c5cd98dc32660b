/** Tokenizers with a unigram language model: one that a training learned, and SentencePiece's. */

import { Charsmap } from "./charsmap";
import { Tokenizer, type Characters, type Letter, type Piece } from "./tokenizer";
import { Viterbi } from "./viterbi";

/** As `extensions/unigram/learned_unigram.py` has it: words and bytes are those of byte-pair encoding. */
export class LearnedUnigram extends Tokenizer {
  private readonly viterbi: Viterbi;

  constructor(vocabulary: readonly string[], scores: readonly number[], characters?: Characters) {
    super(vocabulary, [], characters);
    const known = new Map(vocabulary.map((token, id) => [token, scores[id]!]));
    this.viterbi = new Viterbi(known, Math.min(...known.values()), (sum) => sum);
  }

  protected override readWord(letters: readonly Letter[]): Piece[] {
    let at = 0;
    return this.viterbi.segment(letters.map(({ text }) => text)).flatMap((end) => {
      const own = letters.slice(at, (at = end));
      const id = this.ids.get(own.map(({ text }) => text).join(""));
      const [{ start }, last] = [own[0]!, own.at(-1)!];
      return id === undefined ? this.spell(own[0]!) : [{ id, start, end: last.end }];
    });
  }
}

/** How SentencePiece's normaliser is set, under the names of its own file; what is usual is left out. */
export interface Spec {
  add_dummy_prefix?: boolean;
  remove_extra_whitespaces?: boolean;
  treat_whitespace_as_suffix?: boolean;
  user_defined_symbols?: string[];
}

export interface UnigramTables {
  vocabulary: string[];
  scores: (number | null)[]; // ln p; null: no text yields the token
  others: Record<string, number>; // of tokens that texts yield, but that the network does not know
  charsmap: string; // the first byte of each four, all the second ones and so on, as base64
  spec: Spec;
  byte_fallback: boolean;
  tags: string[]; // tokens that callers add
}

const [SPACE, UNKNOWN] = ["▁", "<unk>"];
const CODE = /(>>[^<>]*<<)/u;
const CONTROLS = 3;

/** As `foreign_tokenizers/unigram.py` has it. */
export class Unigram extends Tokenizer {
  private readonly known = new Map<string, number>();
  private readonly byteIds: number[] = [];
  private readonly tags: ReadonlyMap<string, number>;
  private readonly unknown: number;
  private readonly charsmap: Charsmap;
  private readonly symbols = new Map<string, string[][]>(); // by the first character, the longest first
  private readonly viterbi: Viterbi;
  private readonly isLed: boolean; // by a mark of a space

  constructor(private readonly tables: UnigramTables) {
    super(tables.vocabulary, []);
    const { vocabulary, scores, others, spec } = tables;
    this.unknown = vocabulary.indexOf(UNKNOWN);
    this.tags = new Map(tables.tags.map((tag) => [tag, vocabulary.indexOf(tag)]));
    this.takeBytes();
    for (const token of [...vocabulary.slice(0, CONTROLS), UNKNOWN, ...tables.tags]) this.ids.delete(token);
    for (const [token, id] of this.ids) {
      if (scores[id] !== null) this.known.set(token, Math.fround(scores[id]!));
    }
    for (const [token, score] of Object.entries(others)) this.known.set(token, Math.fround(score));
    this.charsmap = new Charsmap(putTogether(atob(tables.charsmap)));
    const symbols = new Set(spec.user_defined_symbols);
    for (const letters of [...symbols].map((each) => Array.from(each)).sort((a, b) => b.length - a.length)) {
      if (letters.length) this.symbols.set(letters[0]!, [...(this.symbols.get(letters[0]!) ?? []), letters]);
    }
    let rarest = Number.POSITIVE_INFINITY;
    for (const [token, score] of this.known) if (!symbols.has(token)) rarest = Math.min(rarest, score);
    this.viterbi = new Viterbi(this.known, Number.isFinite(rarest) ? rarest : 0, Math.fround);
    this.isLed = (spec.add_dummy_prefix ?? true) && !spec.treat_whitespace_as_suffix;
    const encoder = new TextEncoder();
    this.bytes = vocabulary.map((token, id) => {
      const byte = this.byteIds.indexOf(id);
      return byte >= 0 && id !== this.unknown ? Uint8Array.of(byte) : encoder.encode(this.readToken(token, id));
    });
  }

  override read(text: string): Piece[] {
    const pieces: Piece[] = [];
    let begin = 0;
    for (const part of text.replace(/\p{Surrogate}/gu, "\ufffd").split(CODE)) {
      const tag = this.tags.get(part);
      const letters = Array.from(part);
      if (tag !== undefined) pieces.push({ id: tag, start: begin, end: begin + letters.length });
      else if (part) pieces.push(...this.cut(letters, begin));
      begin += letters.length;
    }
    // Spans without gaps: characters that the normaliser removed join the next token.
    let end = 0;
    return pieces.map((piece, n) => {
      const start = Math.min(piece.start, end);
      end = Math.max(piece.end, end);
      return { id: piece.id, start, end: n === pieces.length - 1 ? begin : end };
    });
  }

  /** The parts of a text, each once, that no token spells. */
  override findUnknown(text: string): string[] {
    const letters = Array.from(text);
    const unknown = this.read(text).filter(({ id }) => id === this.unknown);
    return [...new Set(unknown.map(({ start, end }) => letters.slice(start, end).join("").trim()))].filter(Boolean);
  }

  protected override trim(text: string): string {
    return this.isLed ? super.trim(text) : text.replace(/ +$/, "");
  }

  private takeBytes(): void {
    if (!this.tables.byte_fallback) return;
    for (let byte = 0; byte < 256; byte++) {
      const name = `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
      this.byteIds.push(this.ids.get(name) ?? this.unknown);
      this.ids.delete(name);
    }
  }

  private readToken(token: string, id: number): string {
    if (token === UNKNOWN) return "\ufffd";
    const isSilent = id < CONTROLS || this.tags.has(token) || token.startsWith(" ");
    return isSilent ? "" : token.replaceAll(SPACE, " ");
  }

  private cut(given: readonly string[], begin: number): Piece[] {
    const letters = this.normalize(given);
    const texts = letters.map(({ text }) => text);
    const pieces: Piece[] = [];
    let [at, waiting] = [0, 0]; // characters without a token from `waiting` to `at` are one
    const put = (from: number, to: number, ids: readonly number[]) => {
      for (const id of ids) pieces.push({ id, start: begin + letters[from]!.start, end: begin + letters[to - 1]!.end });
    };
    const putUnknown = () => {
      if (waiting < at) put(waiting, at, this.spellUnknown(texts.slice(waiting, at).join("")));
    };
    for (const end of this.viterbi.segment(texts)) {
      const token = texts.slice(at, end).join("");
      if (this.known.has(token)) {
        putUnknown();
        put(at, end, [this.ids.get(token) ?? this.unknown]);
        waiting = end;
      }
      at = end;
    }
    putUnknown();
    return pieces;
  }

  private spellUnknown(token: string): number[] {
    const id = this.ids.get(token);
    if (id !== undefined) return [id];
    return this.byteIds.length ? [...new TextEncoder().encode(token)].map((byte) => this.byteIds[byte]!) : [this.unknown];
  }

  /** The characters as they are segmented, with the spans that they came from. */
  private normalize(given: readonly string[]): Letter[] {
    const { add_dummy_prefix: isMarked = true, remove_extra_whitespaces: isClean = true, treat_whitespace_as_suffix: isSuffix } = this.tables.spec;
    let parts = this.replace(given);
    if (!parts.length || (isClean && parts.every(({ text }) => text === " "))) return [];
    if (isClean) parts = removeSpaces(parts);
    const letters = parts.flatMap(({ text, start, end }) =>
      Array.from(text.replaceAll(" ", SPACE), (letter): Letter => ({ text: letter, start, end })));
    if (isMarked && !isSuffix) letters.unshift({ text: SPACE, start: 0, end: 0 });
    while (isClean && letters.at(-1)?.text === SPACE) letters.pop();
    if (isMarked && isSuffix) letters.push({ text: SPACE, start: given.length, end: given.length });
    return letters;
  }

  /** What each part of a text becomes. */
  private replace(given: readonly string[]): Letter[] {
    const parts: Letter[] = [];
    for (let at = 0; at < given.length;) {
      const symbol = this.symbols.get(given[at]!)?.find((letters) => letters.every((letter, n) => given[at + n] === letter));
      if (symbol) {
        symbol.forEach((text, n) => parts.push({ text, start: at + n, end: at + n + 1 }));
        at += symbol.length;
      } else {
        const [text, end] = this.charsmap.find(given, at) ?? [given[at]!, at + 1];
        parts.push({ text, start: at, end });
        at = end;
      }
    }
    return parts;
  }
}

/** The parts without the spaces at the beginning and those that follow a space. */
function removeSpaces(parts: readonly Letter[]): Letter[] {
  let isAfterSpace = true;
  return parts.flatMap((part) => {
    const text = isAfterSpace ? part.text.replace(/^ +/, "") : part.text;
    if (!text) return [];
    isAfterSpace = text.endsWith(" ");
    return [{ ...part, text }];
  });
}

function putTogether(letters: string): Uint8Array {
  const bytes = new Uint8Array(letters.length);
  let read = 0;
  for (let first = 0; first < 4; first++) {
    for (let place = first; place < bytes.length; place += 4) bytes[place] = letters.charCodeAt(read++);
  }
  return bytes;
}
