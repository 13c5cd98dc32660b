/** The case of a sentence that is written unlike the training text, as `text/casing.py` has it. */

import { count, firstOf, hasCapital, hasOneCase, isLower, isUpper, toCapitals, type AdaptingTables, type Patterns } from "./tables";

export type Case = "upper" | "title" | "lower" | "words";
/** The ids of the tokens of a word by itself. */
export type Cut = (word: string) => number[];

/** One capital, in front, as most sentences have. */
export function isUsual(text: string): boolean {
  const first = firstOf(text);
  const tail = text.slice(first.length);
  return isUpper(first) && tail === tail.toLowerCase() && tail !== tail.toUpperCase();
}

export class Casing {
  constructor(
    private readonly tables: AdaptingTables, private readonly patterns: Patterns,
    private readonly known: ReadonlySet<string> | null, private readonly locale = tables.locales[0],
  ) {}

  /** In which case a sentence is written, if it is not the usual one. */
  find(text: string, cut: Cut): Case | null {
    const { abbreviation, least_sentence, stops } = this.tables;
    const words = this.patterns.all("cased_word", text).map(([word]) => word);
    const letters = words.reduce((sum, word) => sum + count(word), 0);
    if (letters < 2 || text.toUpperCase() === text.toLowerCase() || hasOneCase(text)) return null;
    if (text === text.toUpperCase()) return words.length > 1 || letters > abbreviation ? "upper" : null;
    if (text === text.toLowerCase()) {
      const isSentence = words.length >= least_sentence || stops.includes(text.trimEnd().at(-1)!) || text.includes(",");
      return isSentence || (this.tables.from_english && this.patterns.has("pronoun", text)) ? "lower" : null;
    }
    if (this.isTitle(words, cut)) return "title";
    return words.some((word) => this.isEmphatic(word)) ? "words" : null;
  }

  /** A sentence in the case that a model knows; it has as many characters as before. */
  truecase(text: string, kind: Case, cut: Cut): string {
    const words = this.patterns.all("cased_word", text).filter(([word]) => kind !== "words" || this.isEmphatic(word));
    let [left, at] = ["", 0];
    const ends = (number: number) => words[number]!.index + words[number]![0].length;
    const isBefore = (number: number) =>
      number >= 0 && number + 1 < words.length && this.tables.before_names.includes(lower(words[number]![0])) &&
      [" ", ". "].includes(text.slice(ends(number), words[number + 1]!.index));
    words.forEach((word, number) => {
      const form = this.chooseForm(word[0], kind, cut);
      const isHigh = kind !== "words" && (!number || isBefore(number) || isBefore(number - 1));
      left += text.slice(at, word.index) + (isHigh ? capitalize(form, this.locale) : form);
      at = word.index + word[0].length;
    });
    return left + text.slice(at);
  }

  /** A translation in the case of its sentence: only English writes titles with capitals. */
  putBack(text: string, kind: Case): string {
    const [before, after] = this.tables.capitals;
    const replace = (table: Record<string, string>, own: string) => Array.from(own, (each) => table[each] ?? each).join("");
    if (kind === "upper") return replace(after, toCapitals(replace(before, text)));
    return kind === "title" && this.tables.into_english ? this.writeTitle(text) : text;
  }

  /** A text that begins with a small letter, unless its first word is a name. */
  lowerFirst(text: string, cut: Cut): string {
    const word = this.patterns.at("cased_word", text, 0)?.[0];
    if (!word || !hasCapital(text) || (count(word) > 1 && isUpper(word))) return text;
    const own = this.patterns.at("elided", word, 0)?.[0] ?? word;
    const first = firstOf(text);
    const low = (each: string) => lower(each, this.tables.locales[1]);
    return this.isCapitalized(null, cut(low(own)), cut(own)) ? text : low(first) + text.slice(first.length);
  }

  private isTitle(words: readonly string[], cut: Cut): boolean {
    const { share, small_in_titles, small_word, least_title, from_english } = this.tables;
    if (words.some((word) => this.tables.honorifics.includes(word))) return false;
    const inner = words.slice(1).filter((word) => isUpper(firstOf(word)));
    const small = words.filter((word) => isLower(firstOf(word)));
    if (!inner.length || inner.length + 1 < share * words.length || !isUpper(firstOf(words[0]!))) return false;
    if (!small.every((word) => (from_english ? small_in_titles.includes(word) : count(word) <= small_word))) return false;
    const margin = Number(words.length < least_title); // then only what is no word with a capital tells
    const usual = inner.filter((word) => {
      const low = cut(lower(word, this.locale));
      return low.length === 1 && low.length + margin <= cut(word).length;
    });
    return usual.length >= Math.max(1, inner.length / 3);
  }

  private isEmphatic(word: string): boolean {
    return count(word) >= this.tables.emphasis && isUpper(word);
  }

  private chooseForm(own: string, kind: Case, cut: Cut): string {
    const low = lower(own, this.locale);
    const high = capitalize(low, this.locale);
    const capitals = low.toLocaleUpperCase(this.locale);
    const other = low === own && count(capitals) === count(low) ? capitals : own;
    const [lowCut, highCut, ownCut] = [cut(low), cut(high), cut(other)];
    if (kind === "words") return lowCut.length === 1 && ownCut.length > 1 && this.isKnown(low) ? low : own;
    if (ownCut.length < Math.min(lowCut.length, highCut.length)) return other;
    return this.isCapitalized(low, lowCut, highCut) ? high : low;
  }

  /** Whether a word is rather written with a capital; `word` null: only its tokens tell. */
  isCapitalized(word: string | null, low: readonly number[], high: readonly number[]): boolean {
    if (word !== null && !this.isKnown(word)) return true;
    if (low.length === 1 && high.length === 1) return this.tables.often * high[0]! < low[0]!;
    return high.length < low.length;
  }

  private isKnown(word: string): boolean {
    return !this.known || this.known.has(word.replaceAll("\u2019", "'"));
  }

  private writeTitle(text: string): string {
    const words = text.split(/(\s+)/u);
    return words
      .map((each, n) => (n > 0 && n < words.length - 1 && this.tables.small_in_titles.includes(each) ? each : capitalize(each)))
      .join("");
  }
}

/** Small letters, a character for each character. */
function lower(text: string, locale = "en"): string {
  return Array.from(text, (each) => (count(toSmall(each, locale)) === 1 ? toSmall(each, locale) : each)).join("");
}

/** A word in small letters by the rules of its language; an \u0130 is no two letters. */
export const toSmall = (word: string, locale = "en"): string => word.toLocaleLowerCase(locale).replaceAll("i\u0307", "i");

/** A text whose first letter is a capital, by the rules of its language. */
export function capitalize(text: string, locale = "en"): string {
  const first = firstOf(text);
  const high = first.toLocaleUpperCase(locale);
  return count(high) === 1 ? high + text.slice(first.length) : text;
}
