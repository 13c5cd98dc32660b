/** The problems of a translation, as `translate/quality_check.py` and `translate/familiarity.py` find them. */

import type { Problem } from "../data/document";
import { count, hasAlnum, strip } from "./tables";
import type { Tokenizer } from "./tokenizer";
import { findUnknown } from "./unknown";

/** How words that a translation drops are found: see `extensions/coverage/dropped.py`. */
export interface CoverageRule {
  layer: number; // of the decoder
  head: number | null; // null: the mean of all
  shift: number; // the row of the first token of the translation
  unsaid: string[]; // words that may stay unsaid
  ratio: number; // the most tokens of a translation for one of the source
  least: number; // the least coverage of a word that is said
  word: string; // a pattern
}

/** The patterns of the lists of a language: see `extensions/coverage/lists.py`. */
type Lists = Record<"whole" | "joint" | "joints" | "article" | "opening" | "choice", string>;

export interface JudgingTables {
  own: string; // the language of the sources
  limit: number | null; // of the confidence, below which the model is unsure
  caps: Record<string, number>; // the highest confidence that each kind of problem allows
  messages: Record<string, string>;
  languages: Record<string, string>;
  function_words: Record<string, string[]>;
  numerals: string[]; // Roman ones, by number
  number_words: string[] | null; // the pattern of each number in the target language
  dropped: CoverageRule | null;
  lists: { source: Lists; target: Lists; few: number } | null;
  patterns: Record<"wide" | "number" | "groups" | "myriads" | "address" | "placeholder" | "hour" | "letters", string>;
  longest_unit: number;
  times: number;
  least_loop: number;
  least_copy: number;
  alike: number;
  least_length: number;
  short: number;
  long: number;
  ideograph: number;
  spelled_out: number;
  marks: string;
  largest: number;
  least_words: number;
}

/** What is judged. */
export interface Judged {
  text: string; // the source
  read: string; // what the tokenizer reads of it
  isCopied: boolean; // it is its own translation
  unknown: readonly string[]; // characters of that without a token
  translation: string;
  repeated: readonly string[]; // what is right to be in both, such as names
  isFinished: boolean;
  confidence: number;
  usual: number | null;
  dropped?: readonly string[]; // words of `read`
}

const without = (text: string, parts: readonly string[]): string => parts.reduce((left, part) => left.replaceAll(part, " "), text);
const words = (text: string): string[] => text.match(/[\p{L}\p{Nl}\p{No}]+/gu) ?? [];
const digits = (text: string): string[] => text.match(/\p{Nd}+/gu) ?? [];

const matchAll = (pattern: string, text: string): RegExpExecArray[] => [...text.matchAll(new RegExp(pattern, "gu"))];
const splitList = (list: string, { joint, article }: Lists): string[] =>
  list.split(new RegExp(joint, "u")).map((item) => item.replace(new RegExp(article, "u"), ""));
const hasRepeats = (items: readonly string[]): boolean => new Set(items.map((each) => each.toLowerCase())).size < items.length;

export class Judge {
  private readonly functionWords: Map<string, ReadonlySet<string>>;

  constructor(private readonly tables: JudgingTables, private readonly known: ReadonlySet<string> | null, private readonly characters: Tokenizer["characters"]) {
    this.functionWords = new Map(Object.entries(tables.function_words).map(([code, own]) => [code, new Set(own)]));
  }

  list(judged: Judged): Problem[] {
    const words = judged.dropped ?? [];
    const lists = [...this.findLists(judged)].filter((list) => !words.some((word) => list.includes(word)));
    const dropped = [...words, ...lists].map((each) => this.describe("dropped", { list: each }));
    return [...this.findFaults(judged), ...dropped, ...this.findSigns(judged)];
  }

  /** The sentences of a text that stay as they are. */
  listUntranslatable(sentences: readonly string[]): Problem[] {
    return sentences.length ? [this.describe("untranslatable", { list: sentences.join(" ") })] : [];
  }

  get rule(): CoverageRule | null {
    return this.tables.dropped;
  }

  /** A confidence that is no higher than the problems allow. */
  cap(confidence: number, problems: readonly Problem[]): number {
    const least = Math.min(confidence, ...problems.map(({ kind }) => this.tables.caps[kind]!));
    return Math.round(least * 1e4) / 1e4;
  }

  private describe(kind: string, fill: Record<string, string | number> = {}): Problem {
    return { kind, said: this.tables.messages[kind]!.replace(/\{(\w+)\}/gu, (_, name: string) => String(fill[name])) };
  }

  /** The visible faults of a translation. */
  private *findFaults({ text, translation, isFinished, repeated }: Judged): Generator<Problem> {
    if (!strip(translation)) {
      if (hasAlnum(text)) yield this.describe("empty");
      return;
    }
    const times = this.countRepeats(translation);
    if (times > this.countRepeats(text) + 1) yield this.describe("loop", { times });
    if (this.isCopy(without(text, repeated), without(translation, repeated))) yield this.describe("copy");
    yield* this.compareLengths(this.measure(text), this.measure(translation));
    if (!isFinished) yield this.describe("cut");
    const lost = this.listLost(text, translation);
    if (lost.length) yield this.describe("lost", { list: lost.join(", ") });
  }

  /** The items, parted by slashes, of each list of which the translation loses one. */
  private *findLists({ text, translation }: Judged): Generator<string> {
    const rule = this.tables.lists;
    if (!rule) return;
    const { source, target, few } = rule;
    const most = matchAll(target.joints, translation).length + 1;
    const isRepeated = matchAll(target.whole, translation).some(([list]) => hasRepeats(splitList(list, target)));
    for (const match of matchAll(source.whole, text)) {
      const items = splitList(match[0], source);
      if (items.length === few && matchAll(source.opening, text.slice(0, match.index)).length) continue;
      if (text.includes("?") && matchAll(source.choice, match[0]).length) continue;
      if (items.length > most || (isRepeated && !hasRepeats(items))) yield items.join(" / ");
    }
  }

  /** Signs that the model was not trained on such a text. */
  private *findSigns({ text, read, isCopied, unknown, confidence, usual }: Judged): Generator<Problem> {
    if (!hasAlnum(text)) return;
    if (unknown.length) yield this.describe("unknown", { list: unknown.join(" ") });
    if (isCopied) return;
    const unmet = this.known ? findUnknown(this.known, this.blank("placeholder", this.blank("address", read)), this.characters) : [];
    if (unmet.length) yield this.describe("words", { list: unmet.join(", ") });
    const { languages, limit, own } = this.tables;
    const isMet = this.known && !unmet.length; // a text of words that training met is in no other language
    const other = isMet ? null : this.findOtherLanguage(text);
    if (other) yield this.describe("language", { found: languages[other]!, own: languages[own]! });
    const share = (part: number) => `${Math.round(100 * part)}%`;
    if (limit && confidence < limit) yield this.describe("unsure", { confidence: share(confidence), usual: share(usual || limit) });
  }

  private all(name: keyof JudgingTables["patterns"], text: string): string[] {
    return text.match(new RegExp(this.tables.patterns[name], "gu")) ?? [];
  }

  private blank(name: keyof JudgingTables["patterns"], text: string): string {
    return text.replace(new RegExp(this.tables.patterns[name], "gu"), " ");
  }

  /** How often a stretch of text is repeated in a row; 1 if seldom, or if it is short. */
  private countRepeats(text: string): number {
    const { longest_unit, times: often, least_loop } = this.tables;
    const letters = Array.from(text);
    let most = 1;
    for (let unit = 1; unit <= Math.min(longest_unit, Math.floor(letters.length / often)); unit++) {
      let [run, longest] = [0, 0];
      for (let at = unit; at < letters.length; at++) {
        run = letters[at] === letters[at - unit] ? run + 1 : 0;
        longest = Math.max(longest, run);
      }
      const times = Math.floor(longest / unit) + 1;
      if (times >= often && longest + unit >= least_loop) most = Math.max(most, times);
    }
    return most;
  }

  private isCopy(source: string, target: string): boolean {
    const [ours, theirs] = [source, target].map((text) => words(this.blank("placeholder", this.blank("address", text)).toLowerCase()));
    if (ours!.length < this.tables.least_copy) return false;
    const both = ours!.length + theirs!.length;
    return (2 * countMatches(ours!, theirs!)) / both >= this.tables.alike;
  }

  /** The length of a text in letters of an alphabet. */
  private measure(text: string): number {
    return count(text.replace(/\s/gu, "")) + (this.tables.ideograph - 1) * this.all("wide", text).length;
  }

  private *compareLengths(source: number, target: number): Generator<Problem> {
    const { least_length, short, long } = this.tables;
    const ratio = target / Math.max(1, source);
    if (source >= least_length && ratio < short) yield this.describe("short", { ratio: round(ratio, 2) });
    if (target >= least_length && ratio > long) yield this.describe("long", { ratio: round(ratio, 1) });
  }

  /** The numbers, addresses and placeholders that the source has more often. */
  private listLost(text: string, translation: string): string[] {
    let source = spellDigits(text);
    const target = spellDigits(translation);
    const lost: string[] = [];
    for (const name of ["address", "placeholder"] as const) {
      const wanted = new Map<string, number>();
      for (const each of this.all(name, source)) {
        let end = each.length;
        while (end && this.tables.marks.includes(each[end - 1]!)) end--;
        wanted.set(each.slice(0, end), (wanted.get(each.slice(0, end)) ?? 0) + 1);
      }
      for (const [each, times] of wanted) if (target.split(each).length - 1 < times) lost.push(each);
      source = this.blank(name, source);
    }
    const known = new Set(this.listNumbers(target));
    source = this.blank("myriads", source);
    for (const number of new Set(this.all("number", source))) {
      const parts = digits(number);
      const isKept = known.has(parts.join("")) || parts.every((part) => known.has(part));
      if (!isKept && !(/^\p{Nd}+$/u.test(number) && this.isSaid(number, source, target, known))) lost.push(number);
    }
    return lost;
  }

  /** Whether a number is said although its digits are missing: in words, or as an hour. */
  private isSaid(number: string, source: string, target: string, known: ReadonlySet<string>): boolean {
    if (number.length > 2) return false;
    const value = Number(number);
    const said = this.isSpelledOut(value, target);
    if (said === null) return value <= this.tables.spelled_out;
    if (said || number === "00" || known.has(String(value)) || known.has(String(value).padStart(2, "0"))) return true;
    if (value <= 0 || value > 12 || ![source, target].some((each) => this.all("hour", each.toLowerCase()).length)) return false;
    return known.has(String(value + 12)) || !!this.isSpelledOut(Math.min(value + 12, this.tables.largest), target);
  }

  private isSpelledOut(number: number, text: string): boolean | null {
    const { number_words, numerals, largest } = this.tables;
    if (!number_words || number > largest) return null;
    const isRoman = number > 1 && new RegExp(`(?<![\\p{L}\\p{N}_])${numerals[number]!}[a-zè]*(?![\\p{L}\\p{N}_])`, "u").test(text);
    return isRoman || new RegExp(number_words[number]!, "u").test(text.toLowerCase());
  }

  /** Each group of digits, alone and joined with up to three after it. */
  private *listNumbers(text: string): Generator<string> {
    for (const run of this.all("groups", text)) {
      const groups = digits(run);
      for (let first = 0; first < groups.length; first++) {
        for (let last = first; last < Math.min(first + 4, groups.length); last++) yield groups.slice(first, last + 1).join("");
      }
    }
  }

  /** Another language, if the text has function words of that language only. */
  private findOtherLanguage(text: string): string | null {
    const own = this.functionWords.get(this.tables.own);
    if (!own) return null;
    const found = new Set(this.all("letters", text).map((word) => word.toLowerCase()));
    const shared = (theirs: ReadonlySet<string>) => [...found].filter((word) => theirs.has(word)).length;
    if (shared(own)) return null;
    let [best, most] = ["", 0];
    for (const [code, theirs] of this.functionWords) {
      const hits = shared(theirs);
      if (hits > most || (hits === most && code > best)) [best, most] = [code, hits];
    }
    return most >= this.tables.least_words ? best : null;
  }
}

/** A number with so many decimals; a half goes to the even neighbour, as in Python. */
function round(value: number, decimals: number): string {
  const scaled = value * 10 ** decimals;
  const low = Math.floor(scaled);
  const isHalf = scaled - low === 0.5 && Number.isInteger(8 * value); // others only look so
  return (isHalf ? (low + (low % 2)) / 10 ** decimals : value).toFixed(decimals);
}

/** A text in NFKC, with the digits of any script written as 0 to 9. */
function spellDigits(text: string): string {
  return text.normalize("NFKC").replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!;
    const first = code - (code % 16); // digits begin there, or 6 after it
    return String((code % 16) - (/\p{Nd}/u.test(String.fromCodePoint(first)) ? 0 : 6));
  });
}

/** The words in the blocks that two texts share, the longest first, as Python's SequenceMatcher counts them. */
function countMatches(ours: readonly string[], theirs: readonly string[]): number {
  let [size, left, right] = [0, 0, 0];
  let ends = new Map<number, number>();
  ours.forEach((word, i) => {
    const now = new Map<number, number>();
    theirs.forEach((other, j) => {
      if (word !== other) return;
      const length = (ends.get(j - 1) ?? 0) + 1;
      now.set(j, length);
      if (length > size) [size, left, right] = [length, i - length + 1, j - length + 1];
    });
    ends = now;
  });
  if (!size) return 0;
  const before = countMatches(ours.slice(0, left), theirs.slice(0, right));
  return before + size + countMatches(ours.slice(left + size), theirs.slice(right + size));
}
