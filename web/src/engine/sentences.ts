/** A text cut into sentences, as `text/sentences.py` has it; the file of a model has its language's marks and words. */

import type { Span } from "./symbols";
import { firstOf, isLower, isSmall, isSpace, isUpper, Patterns, skipSpace, skipSpaceBack } from "./tables";

/** What the file of a model says of sentences: see `extensions/site/splitting.py`. */
export interface SplittingTables {
  patterns: Record<PatternName, string>;
  continuers: string; // marks behind which a sentence goes on
  low_quote: string;
  longest_word: number; // characters of a word that may be an abbreviation
  rules: { never_last: string[]; seldom_last: string[]; before_number: string[]; starters: string[]; suffixes: string[]; has_ordinals: boolean };
}

type PatternName =
  | "line" | "digit" | "language_mark" | "marks" | "quotation" | "next_word" | "between_words" | "first_letter" | "last_letter"
  | "eastern" | "unspaced" | "label" | "initials" | "chain" | "at_bracket" | "elided" | "letter" | "numbered" | "letter_and_stop"
  | "ordinal" | "character" | "word_of_one";

export class Splitter {
  private readonly patterns: Patterns<PatternName>;
  private readonly neverLast: ReadonlySet<string>;
  private readonly seldomLast: ReadonlySet<string>;
  private readonly beforeNumber: ReadonlySet<string>;
  private readonly starters: ReadonlySet<string>;

  constructor(private readonly tables: SplittingTables) {
    const { never_last, seldom_last, before_number, starters } = tables.rules;
    this.patterns = new Patterns(tables.patterns);
    [this.neverLast, this.seldomLast] = [new Set(never_last), new Set(seldom_last)];
    [this.beforeNumber, this.starters] = [new Set(before_number), new Set(starters)];
  }

  /** The lines of a text, each with the line break behind it. */
  splitLines(text: string): string[] {
    return this.patterns.all("line", text).map(([line]) => line);
  }

  /** The target-language mark at the start of a text, like ">>fra<< ", or "". */
  findLanguageMark(text: string): string {
    return this.patterns.at("language_mark", text, 0)?.[0] ?? "";
  }

  /** The spans of the sentences; only white space lies between and around them. */
  split(text: string): Span[] {
    const spans: Span[] = [];
    let begin = skipSpace(text, 0);
    for (const end of this.findEnds(text)) {
      spans.push([begin, end]);
      begin = skipSpace(text, end);
    }
    const end = skipSpaceBack(text, text.length);
    return begin < end ? [...spans, [begin, end]] : spans;
  }

  /** The end of each sentence but the last. */
  private findEnds(text: string): number[] {
    const last = this.patterns.find("last_letter", text)?.index ?? 0;
    const marks = this.patterns.all("marks", text.slice(0, last));
    if (!marks.length) return [];
    const quotations = this.patterns.all("quotation", text).map(({ 0: own, index }): Span => [index, index + own.length]);
    const ends: number[] = [];
    let [begin, quotation] = [0, 0];
    let first = this.patterns.find("first_letter", text);
    for (const mark of marks) {
      while (quotation < quotations.length && quotations[quotation]![1] < mark.index + mark[0].length) quotation++;
      if (quotation < quotations.length && quotations[quotation]![0] < mark.index) continue;
      if (!first || first.index >= mark.index) continue;
      const end = this.findEnd(text, mark, begin, isSmall(first[0]));
      if (end === null) continue;
      ends.push(end);
      begin = end;
      first = this.patterns.find("first_letter", text, end);
    }
    return ends;
  }

  /** The end of the sentence from `begin` if a mark ends it; `isLow`: it began with a small letter. */
  private findEnd(text: string, mark: RegExpExecArray, begin: number, isLow: boolean): number | null {
    const end = mark.index + mark[0].length;
    const run = mark.groups!["spaced"];
    const start = skipSpace(text, end);
    const next = letterAt(text, end);
    if (this.tables.continuers.includes(letterAt(text, start)) && !text.startsWith(this.tables.low_quote, start)) return null;
    if (run === undefined) return mark[0] === "．" && this.patterns.has("digit", next) ? null : end;
    if (start === end) {
      const both = [letterBefore(text, mark.index), next];
      const isEastern = run === "." && both.every((each) => this.patterns.has("eastern", each));
      return isEastern || ((run === "?" || run === "!") && both.some((each) => this.patterns.has("unspaced", each))) ? end : null;
    }
    const word = this.patterns.at("next_word", text, end)!.groups!["word"]!;
    if (run === "." && this.belongsToWord(text, begin, mark.index, word)) return null;
    const isClosed = mark[0].length > run.length;
    return isSmall(firstOf(word)) && (isClosed || !isLow) ? null : end;
  }

  /** Whether the full stop at `at` belongs to an abbreviation, an ordinal or a label. */
  private belongsToWord(text: string, begin: number, at: number, next: string): boolean {
    const { longest_word, rules } = this.tables;
    const letters = Array.from(text.slice(Math.max(begin, at - 2 * longest_word), at)).slice(-longest_word);
    if (letters.length < longest_word && this.patterns.fits("label", text.slice(begin, at + 1))) {
      return !this.patterns.has("character", letterBefore(text, at));
    }
    const before = letters.join("");
    const word = this.patterns.split("between_words", before).at(-1)!;
    const forms = [word, this.patterns.split("elided", word).at(-1)!];
    const isIn = (words: ReadonlySet<string>) => forms.some((form) => words.has(form));
    const startsAnother = this.starters.has(next);
    if (isIn(this.neverLast) || (this.patterns.at("letter", word, 0) && this.patterns.at("letter_and_stop", next, 0))) return true;
    if (isIn(this.beforeNumber) && this.patterns.at("digit", next, 0)) return true;
    if (isLower(word) && this.patterns.at("at_bracket", before, 0)) return true;
    const pair = this.patterns.find("chain", before)?.groups!["pair"];
    if (pair) return !this.seldomLast.has(Array.from(pair).filter((each) => !isSpace(each)).join("")) || !startsAnother;
    const isInitial = this.patterns.at("initials", word, 0) && !this.patterns.at("word_of_one", word, 0);
    if (isInitial || (rules.has_ordinals && this.isOrdinal(before, word))) return !startsAnother;
    if (!isIn(this.seldomLast) && !this.hasSuffix(word)) return false;
    return !startsAnother && !(isUpper(firstOf(next)) && this.neverLast.has(next.replace(/\.$/u, "")));
  }

  /** Whether a number may be an ordinal: it does not belong to a word like "Nr.". */
  private isOrdinal(before: string, word: string): boolean {
    if (!this.patterns.at("ordinal", word, 0)) return false;
    const { word: noun, stop } = this.patterns.find("numbered", before)?.groups ?? {};
    if (noun === undefined) return true;
    return !this.beforeNumber.has(noun) && !this.hasSuffix(noun) && !(stop && firstOf(noun) === noun);
  }

  private hasSuffix(word: string): boolean {
    return this.tables.rules.suffixes.some((suffix) => word.endsWith(suffix));
  }
}

/** The character at a place, which may be two halves; "" at the end. */
const letterAt = (text: string, at: number): string => firstOf(text.slice(at, at + 2));
const letterBefore = (text: string, at: number): string => Array.from(text.slice(Math.max(0, at - 2), at)).at(-1) ?? "";
