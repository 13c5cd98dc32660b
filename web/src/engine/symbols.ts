/** Symbols that training lacked, which the network does not read, as `text/symbols.py` has it. */

import { hasAlnum, isAlnum, type AdaptingTables, type Patterns } from "./tables";

export type Span = [start: number, end: number]; // in halves of characters, as JavaScript counts

interface Aside {
  symbols: string;
  gap: Span; // in the text that is left
  spaced: [before: boolean, behind: boolean];
}

/** A text without its unknown symbols; `places`: where each of its halves stood, and its end. */
export interface SetAside {
  text: string;
  spans: Span[];
  asides: Aside[];
}

const isSpace = (letter: string | undefined): boolean => letter !== undefined && /^\s$/u.test(letter);

export class Symbols {
  constructor(
    private readonly tables: AdaptingTables, private readonly patterns: Patterns, private readonly isUnknown: (text: string) => boolean,
  ) {}

  /** The span of a sentence without the unknown symbols at its edges, and their marks. */
  strip(text: string): Span {
    let [start, end] = [0, text.length];
    for (const run of this.patterns.all("symbols", text).reverse()) {
      const after = run.index + run[0].length;
      const isFirst = run.index === 0;
      const isLast = after <= end && this.patterns.fits("end", text.slice(after, end));
      if ((!isFirst && !isLast) || !this.isUnknown(run[0])) continue;
      if (isFirst) start = Math.min(after, end);
      else end = text.slice(0, run.index).trimEnd().length;
    }
    return [start, end];
  }

  /** The marks behind symbols that follow a sentence, which belong to it. */
  findMoved(text: string, [start, end]: Span, limit: number): Span {
    const moved = this.patterns.at("moved", text, end);
    const isOpen = start < end && !this.patterns.has("mark", text[end - 1]!);
    if (!moved || !isOpen || end + moved[0].length > limit) return [end, end];
    return [end + moved[0].length - moved.groups!["marks"]!.length, end + moved[0].length];
  }

  /** A text without its unknown symbols and some parts; null if it has none, or nothing else. */
  setAside(text: string, parts: readonly Span[] = []): SetAside | null {
    const spans = [...parts];
    for (const run of this.patterns.all("aside", text)) {
      const own = run.groups!["aside"]!;
      const start = run.index + run[0].length - run[0].trimStart().length;
      const end = start + own.length;
      if (this.isUnknown(own) && !parts.some(([a, b]) => start < b && a < end)) spans.push([start, end]);
    }
    return spans.length ? this.takeOut(text, spans.sort((one, two) => one[0] - two[0])) : null;
  }

  /** A translation with the symbols, in proportion to where they stood. */
  place({ text, asides }: SetAside, said: string): string {
    let [written, at] = ["", 0];
    for (const aside of asides) {
      const place = Math.max(at, this.findPlace(text, aside, said));
      written += said.slice(at, place);
      at = place;
      const [left, right] = [written.at(-1), said[at]];
      const needsLeft = left !== undefined && !isSpace(left) && (aside.spaced[0] || meet(left, aside.symbols));
      const isOpen = right !== undefined && !isSpace(right) && !this.tables.closing.includes(right);
      const needsRight = isOpen && (aside.spaced[1] || meet(aside.symbols, right));
      written += (needsLeft ? " " : "") + aside.symbols + (needsRight ? " " : "");
    }
    return written + said.slice(at);
  }

  private findPlace(text: string, { gap }: Aside, said: string): number {
    const ends = this.patterns.all("marked_word", text).map((word) => word.index + word[0].length);
    const before = ends.filter((end) => end <= gap[0]).length;
    if (before < ends.length && !hasAlnum(text.slice(gap[1]))) return this.endOf(said);
    if (before === 0 || before === ends.length) return before ? said.length : 0;
    const place = Math.round((said.length * before) / ends.length);
    const words = this.patterns.all("marked_word", said);
    const within = words.find((word) => word.index < place && place < word.index + word[0].length);
    return within ? within.index + within[0].length : place;
  }

  private endOf(said: string): number {
    let end = said.length;
    while (end && this.tables.last_marks.includes(said[end - 1]!)) end--;
    return end;
  }

  private takeOut(text: string, spans: readonly Span[]): SetAside | null {
    let [left, at] = ["", 0];
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
        left += " ";
        origins.push([stop - Number(spaced[1]), stop]);
      }
      asides.push({ symbols: text.slice(first, last), gap: [start, left.length], spaced });
    }
    keep(at, text.length);
    return hasAlnum(left) ? { text: left, spans: origins, asides } : null;
  }

  private chooseGap(text: string, [begin, stop]: Span, spaced: [boolean, boolean]): boolean {
    const [before, behind] = [text.slice(Math.max(0, begin - 1), begin), text.slice(stop, stop + 1)];
    if (!before || !behind || this.tables.touches_next.includes(before)) return false;
    if (this.tables.touches_former.includes(behind)) return spaced[1];
    return spaced[0] || spaced[1] || (isAlnum(before) && isAlnum(behind));
  }
}

const meet = (left: string, right: string): boolean => isAlnum(left.at(-1)!) && isAlnum(right[0]!);
