/** Symbols that training lacked, which the network does not read, as `text/symbols.py` has it. */

import type { Enclosure } from "./enclosures";
import { firstOf, hasAlnum, isAlnum, isLower, isSpace, isUpper, skipSpaceBack, type AdaptingTables, type Patterns } from "./tables";

const ANGLES = "«»‹›";

export type Span = [start: number, end: number]; // in halves of characters, as JavaScript counts

export interface Aside {
  symbols: string;
  gap: Span; // in the text that is left
  spaced: [before: boolean, behind: boolean];
  around: Span | null; // what it encloses together with another one, in what is left
}

/** A text without its unknown symbols; `places`: where each of its halves stood, and its end. */
export interface SetAside {
  text: string;
  spans: Span[];
  asides: Aside[];
}

export class Symbols {
  constructor(
    private readonly tables: AdaptingTables, private readonly patterns: Patterns, private readonly isUnknown: (text: string) => boolean,
  ) {}

  /** The span of a sentence without its label, and unknown symbols and their marks at its edges. */
  strip(text: string): Span {
    const begin = this.patterns.at("label", text, 0)?.[0].length ?? 0;
    let [start, end] = [begin, text.length];
    for (const run of this.findRuns(text).reverse()) {
      const after = run.index + run[0].length;
      const isFirst = run.index === begin;
      const isLast = after <= end && this.patterns.fits("end", text.slice(after, end));
      if ((!isFirst && !isLast) || !this.isUnknown(run[0])) continue;
      if (isFirst) start = Math.min(after, end);
      else end = skipSpaceBack(text, run.index);
    }
    return [start, end];
  }

  /** The spans of the sentences of a text that unknown faces part. */
  splitBehindFaces(text: string): Span[] {
    const runs = this.findRuns(text);
    const first = runs.length ? text.search(/[\p{L}\p{N}]/u) : -1;
    const ends = runs.flatMap(({ 0: run, index }) => {
      const isBehind = first >= 0 && index > first;
      return isBehind && this.ends(text, run, index) && this.isUnknown(run) ? [index + run.length] : [];
    });
    return [...ends, text.length].map((end, n): Span => [ends[n - 1] ?? 0, end]);
  }

  private ends(text: string, run: string, index: number): boolean {
    const { few } = this.tables;
    const behind = firstOf(text.slice(index + run.length, index + run.length + 2));
    if (!isSpace(run.at(-1)) || !isAlnum(behind)) return false;
    if (this.patterns.has("face", run)) return true;
    const isEmoji = this.patterns.has("emoji", run);
    if (!isUpper(behind)) return isEmoji && isLower(firstOf(text.slice(0, 2))); // its writer uses no capitals
    const before = Array.from(text.slice(Math.max(0, index - 2 * few), index)).slice(-few).join("");
    return isEmoji || (this.patterns.has("heart", run) && before.trim().split(/\s+/u).length > 1);
  }

  /** The spans of what signs between words part: "File > Save". */
  splitAtSeparators(text: string): Span[] {
    const own = ({ groups }: RegExpExecArray) => groups!["own"];
    let cuts = this.patterns.all("separator", text).filter((cut) => own(cut) || this.isUnknown(cut[0].trim()));
    if (text.includes("/") && this.patterns.has("prose", text)) cuts = cuts.filter(({ groups }) => !groups!["slash"]);
    const isQuoted = ["«»", "‹›"].some(([left, right]) => text.includes(left!) && text.includes(right!));
    if (isQuoted && cuts.every((cut) => ANGLES.includes(own(cut) ?? "|"))) cuts = [];
    const starts = [0, ...cuts.map(({ 0: sign, index }) => index + sign.length)];
    return starts.map((start, n): Span => [start, cuts[n]?.index ?? text.length]).filter(([start, end]) => start < end);
  }

  /** Runs of symbols; a face may touch a word where no bracket is open. */
  private findRuns(text: string): RegExpExecArray[] {
    return this.patterns.all(this.patterns.has("opening", text) ? "symbols" : "loose_symbols", text);
  }

  /** The marks behind symbols that follow each sentence, which belong to it. */
  findMoved(text: string, spans: readonly Span[]): Span[] {
    const isPlain = !/[^\0-\x7f]/u.test(text);
    return spans.map(([start, end], n): Span => {
      const moved = isPlain ? null : this.patterns.at("moved", text, end);
      const isOpen = start < end && !this.patterns.has("mark", text[end - 1]!);
      if (!moved || !isOpen || end + moved[0].length > (spans[n + 1]?.[0] ?? text.length)) return [end, end];
      return [end + moved[0].length - moved.groups!["marks"]!.length, end + moved[0].length];
    });
  }

  /** A text without its unknown symbols and some parts; null if it has none, or nothing else. */
  setAside(text: string, parts: readonly Span[] = [], enclosures: readonly Enclosure[] = []): SetAside | null {
    const spans = [...parts];
    for (const run of this.patterns.all(this.patterns.has("opening", text) ? "aside" : "loose_aside", text)) {
      const own = run.groups!["aside"]!;
      const start = run.index + run[0].length - run[0].trimStart().length;
      const span: Span = [start, start + own.length];
      if (this.isUnknown(own) && !touches(span, parts)) spans.push(span);
    }
    const isTaken = (mark: Span) => parts.some(([start, end]) => start === mark[0] && end === mark[1]);
    const marks = enclosures.filter(({ both }) => both.every((mark) => isTaken(mark) || !touches(mark, spans)));
    for (const { both } of marks) spans.push(...both.filter((mark) => !isTaken(mark)));
    return spans.length ? this.takeOut(text, spans.sort((one, two) => one[0] - two[0]), marks) : null;
  }

  private takeOut(text: string, spans: readonly Span[], enclosures: readonly Enclosure[]): SetAside | null {
    let [left, at] = ["", 0];
    const commas = new Map(enclosures.flatMap(({ both, comma }) => both.map(([start]) => [start, comma] as const)));
    const origins: Span[] = [];
    const asides: Aside[] = [];
    const keep = (from: number, to: number) => {
      left += text.slice(from, to);
      for (let place = from; place < to; place++) origins.push([place, place + 1]);
    };
    for (const [first, last] of spans) {
      let [begin, stop] = [first, last];
      while (begin > at && isSpace(text[begin - 1])) begin--;
      while (stop < text.length && isSpace(text[stop])) stop++;
      keep(at, begin);
      at = stop;
      const start = left.length;
      const spaced: [boolean, boolean] = [begin < first, last < stop];
      if (this.chooseGap(text, [begin, stop], spaced)) {
        if (commas.get(first)) {
          left += commas.get(first)!;
          origins.push([first, last]);
        }
        left += " ";
        origins.push([stop - Number(spaced[1]), stop]);
      }
      const isSpaced: [boolean, boolean] = [isSpace(text[first - 1]), last < stop]; // also behind a former one
      asides.push({ symbols: text.slice(first, last), gap: [start, left.length], spaced: isSpaced, around: null });
    }
    keep(at, text.length);
    for (const { both, marks } of enclosures) {
      const own = both.map(([place]) => asides[spans.findIndex(([first]) => first === place)]!);
      const around: Span = [own[0]!.gap[1], own[1]!.gap[0]];
      own.forEach((aside, n) => Object.assign(aside, { symbols: marks[n], around }));
    }
    return hasAlnum(left) ? { text: left, spans: origins, asides } : null;
  }

  private chooseGap(text: string, [begin, stop]: Span, spaced: [boolean, boolean]): boolean {
    const [before, behind] = [text.slice(Math.max(0, begin - 1), begin), text.slice(stop, stop + 1)];
    if (!before || !behind || this.tables.touches_next.includes(before)) return false;
    if (this.tables.touches_former.includes(behind)) return spaced[1];
    return spaced[0] || spaced[1] || (isAlnum(before) && isAlnum(behind));
  }
}

const touches = ([start, end]: Span, others: readonly Span[]): boolean => others.some(([a, b]) => start < b && a < end);
