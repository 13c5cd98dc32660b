/** What the file of a model says of reading sentences: see `extensions/site/adapting.py`. */

export interface AdaptingTables {
  is_cased: boolean; // training text had words with capitals
  has_letters: boolean; // training text had them
  has_names: boolean; // names can be told from other words
  longest_acronym: number; // letters of one that is also a known word
  has_words: boolean; // the words of the training text are listed
  from_english: boolean;
  into_english: boolean;
  first_names: string[];
  known_names: string[]; // of the training text, which are no other word in small letters
  stand_ins: {
    copies: string[]; names: string[]; numbers: string[]; years: string[];
    places: string[]; women: string[]; spellings: string[][]; genitive: boolean;
    sibilants: string[]; // ends of names behind which an apostrophe stands, and no s
    nouns: string | null; amounts: string[]; amount: string; // see `text/stand_ins.py`
  };
  titles: Record<string, [written: string, isWoman: boolean]>;
  elides: boolean; // d' before names
  surnames: string[]; // that are titles, too
  polite: string[]; // titles behind which any word with a capital is a name, but for no_names
  no_names: string[];
  single_closed: string;
  last_quoted: string; // marks at the end of a sentence
  before_names: string[]; // titles in small letters
  with_articles: boolean; // before each noun
  towns: string[]; // that are first names, too
  longest_before: number; // characters of a word before a title that is looked at
  longest_before_place: number; // characters
  fitted: Record<string, string>; // words before a title
  quotes: [string, string];
  single_quotes: string;
  quoted: [before: string, behind: string][]; // quotes around what is said
  bracketed: [before: string, behind: string][]; // what a colon parts has no half of these
  locales: [source: string, target: string]; // Turkish ones have other capitals
  capitals: [before: Record<string, string>, after: Record<string, string>];
  short_forms: ShortForm[];
  short_kinds: string[]; // kinds of what is repeated that a short form may look like
  spoken: Record<string, string>; // a sign that the network reads as a word: see `extensions/signs`
  dates: DateTables;
  stop: StopTables;
  enclosures: EnclosureTables;
  patterns: Record<PatternName, string>;
  trailing: string;
  edge: string; // for letters that touch what is repeated
  counted: string; // behind a number that may be a word elsewhere
  brackets: Record<string, string>; // the closing one: the opening one
  beginning: string;
  of_numbers: string[];
  plain_kinds: string[];
  stops: string;
  small_in_titles: string[];
  honorifics: string[];
  closing: string;
  last_marks: string;
  touches_next: string;
  touches_former: string;
  digits: number;
  least_stem: number;
  endings: string[]; // that many words of the training text have
  small_number: number;
  least_title: number;
  share: number;
  least_sentence: number;
  often: number;
  abbreviation: number;
  small_word: number;
  emphasis: number;
  few: number; // characters in which there are two words
}

/** What short forms are read as, behind 1 and behind other numbers. */
export type ShortWords = Record<string, [one: string, several: string]>;
/** See `extensions/signs`. */
export interface ShortForm {
  pattern: string;
  words: ShortWords;
  kind: "numbered" | "typed" | "capitals";
  joint: string; // between a noun and the time that is read behind it
  beside: string | null; // what the text has to have, too
}

/** How days are found, what stands for them, and how the target language writes them: see `extensions/days/dates.py`. */
interface DateTables {
  patterns: string[];
  months: string[];
  often: { day: number; months: [source: string, target: string]; text: string; message: string; pattern: string }[];
  target: { months: string[]; plain: string; dated: string; first: string; hours: string } | null;
  counts_to_24: boolean;
  half: string;
  last_day: number;
}

/** The mark that a sentence lacks at its end: see `text/final_stops.py`. */
interface StopTables {
  usual: string; // at the end of nearly all sentences of the training text, or ""
  colon: string; // of a translation, where the training text had hardly any, or ""
  questions: string | null; // how they begin, in small letters
  of_questions: Record<string, string>; // the mark of a question for that of a sentence
  written: Record<string, string>; // what stands for it in a translation
}

/** Quotes and brackets that training met too seldom: see `extensions/enclosures`. */
interface EnclosureTables {
  rare: string[];
  written: Record<string, [opening: string, closing: string]>;
  brackets: string[];
  emphasis: string[];
  comma: string;
  most_quoted: number;
}

type PatternName =
  | "hint" | "verbatim" | "touch" | "touched" | "word" | "foreign" | "full_name" | "behind_word" | "first_article" | "before_title" | "particles" | "elided_name" | "letter" | "possessive" | "year" | "numeric" | "before_place" | "list_of_names" | "listed" | "title" | "cased_word" | "pronoun" | "owned" | "repeated_marks" | "final_mark" | "final_dots" | "enclosed_end" | "elided" | "symbols" | "aside" | "loose_symbols" | "loose_aside" | "opening" | "emoticon" | "face" | "emoji" | "heart" | "end"
  | "label" | "enclosed" | "enclosed_hint" | "stop" | "colon" | "colon_label"
  | "moved" | "mark" | "curly" | "curly_double" | "pairs" | "speech" | "spoken" | "single_pairs" | "spaced_dash" | "dash" | "marked_word" | "rest_of_word" | "lone" | "tag" | "addressed" | "separator" | "prose";

/** A pattern finds the same as in Python: everywhere, at one place, or as the whole of a text. */
export class Patterns<Name extends string = PatternName> {
  private readonly made = new Map<string, RegExp>();

  constructor(private readonly sources: Record<Name, string>) {}

  all(name: Name, text: string): RegExpExecArray[] {
    return [...text.matchAll(this.get(name, "gu"))] as RegExpExecArray[];
  }

  has(name: Name, text: string): boolean {
    return this.get(name, "u").test(text);
  }

  /** The first match that begins at a place or behind it. */
  find(name: Name, text: string, place = 0): RegExpExecArray | null {
    const pattern = this.get(name, "gu");
    pattern.lastIndex = place;
    const found = pattern.exec(text);
    pattern.lastIndex = 0;
    return found;
  }

  at(name: Name, text: string, place: number): RegExpExecArray | null {
    const pattern = this.get(name, "yu");
    pattern.lastIndex = place;
    return pattern.exec(text);
  }

  fits(name: Name, text: string): boolean {
    return this.at(name, text, 0)?.[0].length === text.length;
  }

  replace(name: Name, text: string, by: (...found: string[]) => string): string {
    return text.replace(this.get(name, "gu"), by);
  }

  split(name: Name, text: string): string[] {
    return text.split(this.get(name, "u"));
  }

  private get(name: Name, flags: string): RegExp {
    const key = flags + name;
    let found = this.made.get(key);
    if (!found) this.made.set(key, (found = new RegExp(this.sources[name], flags)));
    return found;
  }
}

/** Whether a text has capitals and no other letters of two cases, as Python's `isupper` has it. */
export const isUpper = (text: string): boolean =>
  /^(?=.*\p{Uppercase})[^\p{Lowercase}\p{Lt}]*$/su.test(text);
export const isLower = (text: string): boolean =>
  /^(?=.*\p{Lowercase})[^\p{Uppercase}\p{Lt}]*$/su.test(text);
/** Georgian and Cherokee: Unicode has capitals, or small letters, that hardly anybody writes. */
const ONE_CASE = /([\u10a0-\u10ff\u1c90-\u1cbf\u13a0-\u13ff\uab70-\uabbf]+)/u;
export const hasOneCase = (text: string): boolean => ONE_CASE.test(text);
/** Whether a letter is small, in a script that has capitals, too. */
export const isSmall = (letter: string): boolean => /^\p{Lowercase}$/u.test(letter) && !hasOneCase(letter);
export const hasCapital = (word: string): boolean => isUpper(firstOf(word)) && !hasOneCase(firstOf(word));
/** Capitals, but for letters of one case. */
export const toCapitals = (text: string): string =>
  text.split(ONE_CASE).map((part, number) => (number % 2 ? part : part.toUpperCase())).join("");
export const isAlnum = (text: string): boolean => /^[\p{L}\p{N}]+$/u.test(text);
export const hasAlnum = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);
export const count = (text: string): number => Array.from(text).length;
export const hasLetter = (text: string): boolean => /\p{L}/u.test(text);
/** Python's white space: a byte order mark is none, but separators of files and records are. */
export const isSpace = (letter: string | undefined): boolean => letter !== undefined && /^(?!\ufeff)[\s\x1c-\x1f\x85]$/u.test(letter);
/** The place behind white space that begins at a place. */
export function skipSpace(text: string, at: number): number {
  let end = at;
  while (isSpace(text[end])) end++;
  return end;
}
/** The place before white space that ends at a place. */
export function skipSpaceBack(text: string, at: number): number {
  let begin = at;
  while (begin && isSpace(text[begin - 1])) begin--;
  return begin;
}
/** A text without white space at its ends. */
export const strip = (text: string): string =>
  text.slice(skipSpace(text, 0), skipSpaceBack(text, text.length));
/** The first character, which may be two halves. */
export const firstOf = (text: string): string => Array.from(text)[0] ?? "";
