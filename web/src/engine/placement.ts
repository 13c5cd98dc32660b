/** Symbols that were set aside, placed in the translation by its attention, as `align/symbols.py` has it. */

import type { Aside, SetAside, Span } from "./symbols";
import { hasAlnum, isAlnum, isSpace, type AdaptingTables, type Patterns } from "./tables";

/** Where in the decoder words are aligned; `head` null: the mean of all. */
export interface Head {
  layer: number;
  head: number | null;
  row: "reads" | "predicts"; // of a token: the one whose input it is, or the one that predicts it
}

/** Cross-attention from a translation to its source; tokens are spans in halves of characters. */
export interface Attention {
  source: Span[];
  target: Span[];
  weights: (query: number, key: number) => number;
}

/** The attention between a text and its translation; null if there is none. */
export type Attend = (text: string, message: string) => Attention | null;

interface Link {
  source: number; // a word's number
  target: number;
  weight: number;
}

/** Words that the same tokens spell are one unit; `share`: of each token of it. */
interface Unit {
  words: number[];
  share: Map<number, number>;
}

const EAST = /[\u2e80-\u2fff\u3001-\u312f\u3190-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff9f\u{20000}-\u{3ffff}]/u;

export class Placement {
  private readonly words: Span[];
  private readonly sourceWords: Span[];
  private attention: Attention | null | undefined;

  constructor(
    private readonly tables: AdaptingTables, private readonly patterns: Patterns,
    private readonly source: SetAside, private readonly message: string, private readonly attend: Attend,
  ) {
    this.words = this.findWords(message, true);
    this.sourceWords = this.findWords(source.text, true);
  }

  /** The translation with all symbols and tags, but for other marks around nothing. */
  write(): string {
    const { message } = this;
    let [written, at] = ["", 0];
    for (const aside of this.source.asides) {
      const enclosed = aside.around ? this.enclose(aside, aside.around) : this.findPlace(aside);
      if (enclosed === null && !aside.symbols.startsWith("<")) continue;
      const found = enclosed ?? this.findPlace(aside); // no tag is lost
      const place = Math.max(at, found);
      written += message.slice(at, place);
      at = place;
      if (!aside.around) written += this.writeSymbols(aside, written.at(-1), message[at]);
      else {
        if (this.source.text.slice(...aside.gap).includes(",")) {
          if (isOpening(aside, aside.around)) written = written.replace(/,(\s*)$/u, "$1");
          else at += Number(message[at] === ",");
        }
        written += aside.symbols;
      }
    }
    return written + message.slice(at);
  }

  private writeSymbols({ symbols, spaced, gap: [begin, end] }: Aside, left: string | undefined, right: string | undefined): string {
    const text = symbols.startsWith("<") ? "" : this.source.text; // a tag is no word
    const needsLeft = left !== undefined && !isSpace(left) && (spaced[0] || this.isApart(text[begin - 1], left) || meet(left, symbols));
    const isOpen = right !== undefined && !isSpace(right) && !this.tables.closing.includes(right);
    const needsRight = isOpen && (spaced[1] || this.isApart(text[end], right) || meet(symbols, right));
    return (needsLeft ? " " : "") + symbols + (needsRight ? " " : "");
  }

  /** Whether a letter of a message needs the space that one of the source does not. */
  private isApart(source: string | undefined, message: string): boolean {
    const isTouched = (letter: string) => this.patterns.has("touched", letter);
    return source !== undefined && isTouched(source) && isAlnum(message) && !isTouched(message);
  }

  /** Where an opening or closing mark belongs; null if what it encloses is missing. */
  private enclose(aside: Aside, around: Span): number | null {
    const [{ text }, [begin, end]] = [this.source, around];
    const opens = isOpening(aside, around);
    if (!hasAlnum(text.slice(0, begin) + text.slice(end))) {
      if (opens) return 0;
      return text.slice(end).trim() ? this.beforeLastMarks() : this.message.length;
    }
    const block = this.findBlock(begin, end);
    if (!block) return null;
    if (opens) return block[0];
    const isLast = !hasAlnum(this.message.slice(block[1]));
    return isLast && end === text.length && !isAlnum(text[end - 1]!) ? this.message.length : block[1];
  }

  /** The span of the translation that most links from a span of the source lead to. */
  private findBlock(begin: number, end: number): Span | null {
    const [own, words] = [this.findWords(this.source.text, false), this.findWords(this.message, false)];
    const values = words.map(() => 0);
    for (const { source, target, weight } of this.align(own, words)) {
      const [left, right] = own[source]!;
      values[target]! += begin <= left && right <= end ? weight : -weight;
    }
    let [best, total, start] = [0, 0, 0];
    let block: Span | null = null;
    values.forEach((value, number) => {
      if (total <= 0) [total, start] = [0, number];
      total += value;
      if (total > best) [best, block] = [total, [words[start]![0], words[number]![1]]];
    });
    return block;
  }

  /** Behind the word aligned with the source word before, else before that of the next; else in proportion. */
  private findPlace({ gap, spaced }: Aside): number {
    const [{ text }, message, words] = [this.source, this.message, this.words];
    const before = this.sourceWords.filter(([, end]) => end <= gap[0]).length;
    const count = this.sourceWords.length;
    if (before < count && !hasAlnum(text.slice(gap[1]))) return this.beforeLastMarks();
    if (before === 0 || before === count) return before ? message.length : 0;
    const links = this.align(this.sourceWords, words).filter(({ target }) => !this.tables.closing.includes(message[words[target]![0]]!));
    const targets = (word: number) => links.filter(({ source }) => source === word).map(({ target }) => target).sort((a, b) => a - b);
    const [left, right] = [targets(before - 1), targets(before)];
    let place = left.length ? words[left.at(-1)!]![1] : Math.round((message.length * before) / count);
    if (right.length && (!left.length || (spaced[0] && !spaced[1]))) place = words[right[0]!]![0];
    const near = message.slice(Math.max(0, place - 1), place + 1);
    if (isSpace(near[0]) || EAST.test(near)) return place;
    return place + (this.patterns.at("rest_of_word", message, place)?.[0].length ?? 0);
  }

  private beforeLastMarks(): number {
    let end = this.message.length;
    while (end && this.tables.last_marks.includes(this.message[end - 1]!)) end--;
    return end;
  }

  private findWords(text: string, marked: boolean): Span[] {
    const found = this.patterns.all("marked_word", text).map(({ 0: word, index }): Span => [index, index + word.length]);
    return marked ? found : found.filter(([start]) => hasAlnum(firstLetter(text, start)));
  }

  /** Each word of the translation with the source word that it attends to most. */
  private align(sourceWords: readonly Span[], targetWords: readonly Span[]): Link[] {
    if (this.attention === undefined) this.attention = this.attend(this.source.text, this.message);
    const { attention } = this;
    if (!attention) return [];
    const [sources, targets] = [shareOut(sourceWords, attention.source), shareOut(targetWords, attention.target)];
    return targets.flatMap(({ words: own, share }) => {
      const total = [...share.values()].reduce((sum, each) => sum + each, 0) || 1;
      const weights = sources.map((unit) => {
        let weight = 0;
        for (const [query, part] of share) for (const [key, of] of unit.share) weight += (part / total) * of * attention.weights(query, key);
        return weight;
      });
      const best = weights.reduce((most, weight, n) => (weight > weights[most]! ? n : most), 0);
      const weight = weights[best] ?? 0;
      if (!(weight > 0)) return [];
      return own.flatMap((target) => sources[best]!.words.map((source) => ({ source, target, weight })));
    });
  }
}

/** The share of each token in words, by the characters in common. */
function shareOut(words: readonly Span[], tokens: readonly Span[]): Unit[] {
  const common = words.map(([start, end]) => tokens.map(([from, to]) => Math.max(0, Math.min(end, to) - Math.max(start, from))));
  const units = new Map<string, Unit>();
  common.forEach((row, word) => {
    const key = row.map((each) => Number(each > 0)).join("");
    const unit = units.get(key) ?? { words: [], share: new Map<number, number>() };
    unit.words.push(word);
    row.forEach((each, token) => each && unit.share.set(token, (unit.share.get(token) ?? 0) + each));
    units.set(key, unit);
  });
  const totals = tokens.map((_, token) => common.reduce((sum, row) => sum + row[token]!, 0));
  for (const { share } of units.values()) for (const [token, each] of share) share.set(token, each / totals[token]!);
  return [...units.values()];
}

const isOpening = ({ gap }: Aside, around: Span): boolean => gap[1] <= around[0];
const firstLetter = (text: string, at: number): string => String.fromCodePoint(text.codePointAt(at)!);
const meet = (left: string, right: string): boolean => isAlnum(left.at(-1)!) && isAlnum(right[0]!);
