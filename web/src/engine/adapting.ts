/**
 * A sentence as people write it becomes one as the model knows them, as `translate/adapting.py` has it:
 * what its translation repeats is read as stand-ins, capitals as the usual case, symbols not at all.
 */

import { capitalize, Casing, isUsual, toSmall, type Case, type Cut } from "./casing";
import { findEnclosures } from "./enclosures";
import { Placement, type Attend } from "./placement";
import { Symbols, type SetAside, type Span } from "./symbols";
import type { Tokenizer } from "./tokenizer";
import { count, firstOf, hasAlnum, hasCapital, hasLetter, isAlnum, isSpace, isUpper, Patterns, skipSpace, skipSpaceBack, type AdaptingTables, type ShortForm } from "./tables";

interface Part {
  start: number;
  end: number;
  kind: string; // the name of a group of the pattern, or "name", "location" or "woman"
}

/** What the network reads in the place of a part, and what its translation has there. */
interface StandIn {
  text: string;
  original: string;
  message?: string; // what the network writes for it, if that is something else
  pattern: string; // of what the network writes for it
  names: [string, string][]; // words of it, and what they are shown as
}

export interface Adapted {
  text: string; // what the tokenizer reads
  origins: Span[]; // of each half of a character of it, in the sentence
  standIns: StandIn[];
  names: Map<string, string>; // words of stand-ins, and what they are shown as
  kind: Case | null;
  aside: SetAside | null;
  asides: string[]; // what was taken out together with symbols
  repeated: string[]; // names that the network has to write as it reads them
  isOnlyStandIns: boolean; // there is nothing to translate
  stop: string; // at the end of `text`: the mark that the sentence lacks
  behind: string; // what a translation has in the place of that mark: a colon
}

const NO_LETTER = "0";
const JOINT = "\ua7f7"; // a letter that no text has, where a stand-in was
const NO_ONE: readonly string[] = [];
const NAME_JOINS = [" ", "\u00a0"];
const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&");
const stripColon = (text: string): string => text.slice(0, -1).replace(/[ \u00a0\u202f]+$/u, "");
const countOf = (text: string, part: string): number => text.split(part).length - 1;
/** Whether a text has a quote without the other one of its pair. */
const isAlone = (text: string, mark: string, other: string): boolean =>
  mark === other ? countOf(text, mark) % 2 > 0 : text.includes(mark) && !text.includes(other);
const spaceOf = (before: string, next: string | undefined): string => (before === "«" && next && isSpace(next) ? next : "");
/** What the network reads for a short form; "" if it knows no words for it. */
function readShort(match: RegExpMatchArray, { words, kind, joint }: Omit<ShortForm, "pattern">): string {
  const { before, short, hour, minute, half, noun } = match.groups!;
  if (short === undefined) {
    const time = `${half ? (Number(hour) % 12) + (/^p/iu.test(half) ? 12 : 0) : Number(hour)}:${minute || "00"}`;
    return joint ? `${noun!} ${joint} ${time}` : time;
  }
  const read = (words[short] ?? words[short.toLowerCase()])?.[before === "1" ? 0 : 1] ?? "";
  const isFirst = kind === "capitals" && match.index === 0;
  const own = isFirst || (kind === "typed" && isUpper(firstOf(short))) ? capitalize(read) : read;
  return before && own ? `${before} ${own}` : own;
}
const isDecimal = (text: string): boolean => /^\p{Nd}+$/u.test(text);

export class Adapter {
  readonly symbols: Symbols;
  private readonly patterns: Patterns;
  private readonly casing: Casing;
  private readonly firstNames: ReadonlySet<string>;
  private readonly knownNames: ReadonlySet<string>;
  private readonly shortForms: (Omit<ShortForm, "pattern"> & { pattern: RegExp })[];
  private readonly cuts = new Map<string, number[]>();

  constructor(
    private readonly tables: AdaptingTables, private readonly known: ReadonlySet<string>,
    private readonly source: Tokenizer, private readonly target: Tokenizer,
  ) {
    this.patterns = new Patterns(tables.patterns);
    this.symbols = new Symbols(tables, this.patterns, (text) => source.findUnknown(text).length > 0 || this.isNewEmoticon(text));
    this.shortForms = tables.short_forms.map((form) => ({ ...form, pattern: new RegExp(form.pattern, "gu") }));
    this.casing = new Casing(tables, this.patterns, tables.has_words ? known : null);
    this.firstNames = new Set(tables.first_names);
    this.knownNames = new Set(tables.known_names);
  }

  adapt(sentence: string): Adapted {
    const signs = this.findSigns(sentence);
    const { text, origins } = replaceParts(sentence, signs, signs.map(({ kind }) => kind));
    const adapted = this.adaptWords(text);
    return { ...adapted, origins: adapted.origins.map(([start, end]) => joinSpan(origins, start, end)) };
  }

  /** The lone signs, short forms and entities of a text, of which the network reads `kind`. */
  private findSigns(text: string): Part[] {
    const { spoken, short_kinds } = this.tables;
    const found: Part[] = [];
    if (Object.keys(spoken).some((sign) => text.includes(sign)) && hasLetter(text)) {
      for (const { 0: sign, index: start } of this.patterns.all("lone", text)) {
        if (spoken[sign]) found.push({ start, end: start + sign.length, kind: spoken[sign] });
      }
    }
    for (const { 0: own, 1: sign, 2: name, index: start } of this.tables.elides ? this.patterns.all("elided_name", text) : []) {
      if (!this.firstNames.has(name!) && this.isMet(name!.toLowerCase())) continue;
      found.push({ start, end: start + own.length - name!.length, kind: `${sign}e ` });
    }
    if (this.tables.from_english && text !== text.toLowerCase()) {
      for (const { index: start } of this.patterns.all("pronoun", text)) found.push({ start, end: start + 1, kind: "I" });
    }
    const isShouted = isUpper(text) && this.patterns.all("cased_word", text).length > 1;
    const low = isShouted && text.toLowerCase().length === text.length ? text.toLowerCase() : text;
    for (const form of this.shortForms) {
      if (form.beside && !new RegExp(form.beside, "u").test(low)) continue;
      for (const match of low.matchAll(form.pattern)) {
        const kind = readShort(match, form);
        if (kind && kind !== match[0]) found.push({ start: match.index, end: match.index + match[0].length, kind });
      }
    }
    if (!found.length) return [];
    const repeated = this.findVerbatim(text).filter(({ start, kind }) => !short_kinds.includes(kind) && text[start] !== "&");
    const meets = (one: Part, two: Part) => one.start < two.end && two.start < one.end;
    const parts: Part[] = [];
    for (const part of found.sort((one, two) => one.start - two.start || two.end - one.end)) {
      if ([...repeated, ...parts].some((other) => meets(part, other))) continue;
      parts.push({ ...part, kind: isShouted ? part.kind.toUpperCase() : part.kind });
    }
    return parts;
  }

  private isMet(word: string): boolean {
    return this.tables.has_words ? this.known.has(word) : this.source.hasToken(` ${word}`);
  }

  /** Whether a text has faces or hearts typed with marks, of which the tokenizer has none as a token. */
  private isNewEmoticon(text: string): boolean {
    const runs = this.patterns.all("emoticon", text).map(([run]) => run);
    return runs.length > 0 && !runs.some((run) => this.source.hasToken(run) || this.source.hasToken(` ${run}`));
  }

  private adaptWords(sentence: string): Adapted {
    const isLabel = this.tables.stop.colon !== "" && this.patterns.fits("colon_label", sentence);
    const isLetter = this.tables.is_cased && this.patterns.has("letter", sentence);
    if (isLabel || isLetter || (this.tables.has_letters && !hasLetter(sentence))) return this.copy(sentence);
    let parts = this.findVerbatim(sentence);
    if (isAllApart(sentence, parts)) return this.copy(sentence);
    const isPlain = !this.tables.is_cased || (!parts.length && isUsual(sentence));
    const kept = isPlain ? parts : [...parts, ...this.findAcronyms(sentence, parts)].sort((one, two) => one.start - two.start);
    const found = isPlain ? null : this.casing.find(blank(sentence, kept), this.cut);
    const isOwn = (found === "lower" && kept.some(({ start }) => !start)) || (found === "title" && this.patterns.has("addressed", sentence));
    const kind = isOwn ? null : found;
    const cased = kind ? this.truecase(sentence, kept, kind) : sentence;
    const days = this.findDays(cased);
    const isIn = (part: Part) => [...days.keys()].some(({ start, end }) => start < part.end && part.start < end);
    parts = [...parts.filter((part) => !this.isLeft(cased, part) && !isIn(part)), ...days.keys()];
    parts = [...parts, ...this.findForeign(cased, parts)].sort((one, two) => one.start - two.start);
    const titled = new Map<Part, string>();
    let repeated: string[] = [];
    if (this.tables.has_names && !this.isCommon(cased)) {
      parts = [...parts, ...this.findFullNames(cased, parts)].sort((one, two) => one.start - two.start);
      parts = [...parts, ...this.findNames(cased, parts, this.isName, this.belongs, this.isSurname)];
      if (!kind || kind === "lower") parts = this.joinTitles(cased, parts, titled);
      for (const part of parts) if (part.kind === "name" && !titled.has(part) && this.isPlace(cased, part)) part.kind = "location";
      parts.sort((one, two) => one.start - two.start);
      repeated = this.findNames(cased, parts, this.isKnownName, this.belongs, (word) => this.isSurname(word, true)).map(({ start, end }) => cased.slice(start, end));
    }
    let inside = parts.filter((part) => !isApart(cased, part));
    let chosen = this.choose(cased, inside, days);
    if (!chosen) {
      [inside, chosen] = [[], []];
      parts = parts.filter((part) => !this.tables.plain_kinds.includes(part.kind));
    }
    const { text: replaced, origins } = replaceParts(cased, inside, chosen);
    const standIns = inside.map((part, n) => days.get(part) ?? this.standIn(part.kind, chosen[n]!, titled.get(part) ?? sentence.slice(part.start, part.end)));
    const names = new Map(standIns.flatMap((each) => each.names));
    const spans = placeApart(cased, parts, inside, chosen);
    const isOnlyStandIns = standIns.length > 0 && !hasAlnum(this.cutAt(replaced, standIns).map(([own]) => own).join(""));
    const [dots] = /[.…]$/.test(replaced) ? (this.patterns.all("repeated_marks", replaced)[0] ?? []) : [];
    const colon = replaced.endsWith(":") ? this.tables.stop.colon : "";
    const bare = dots ? replaced.slice(0, -dots.length).trimEnd() : colon ? stripColon(replaced) : replaced;
    const stop = isOnlyStandIns ? "" : this.chooseStop(bare, !dots && !colon);
    const behind = stop ? (dots ?? colon) : "";
    const text = stop ? bare + stop : replaced;
    if (stop) origins.splice(bare.length, Infinity, [origins[bare.length]?.[0] ?? sentence.length, sentence.length]);
    const aside = this.setAside(text, spans);
    return {
      text: aside?.text ?? text,
      origins: aside ? aside.spans.map(([start, end]) => [origins[start]?.[0] ?? sentence.length, origins[end - 1]?.[1] ?? sentence.length]) : origins,
      standIns, names, kind, aside, asides: spans.map(([start, end]) => text.slice(start, end)), repeated, isOnlyStandIns, stop, behind,
    };
  }

  /** Words in a script of which the model knows no letter. */
  private findForeign(text: string, taken: readonly Part[]): Part[] {
    if (!this.tables.has_names) return [];
    return this.patterns.all("foreign", text).flatMap(({ 0: own, index: start }): Part[] => {
      const part = { start, end: start + own.length, kind: "foreign" };
      const unknown = this.source.findUnknown(own);
      const isUnread = Array.from(own).every((letter) => !hasLetter(letter) || unknown.includes(letter));
      return isUnread && !taken.some((other) => other.start < part.end && part.start < other.end) ? [part] : [];
    });
  }

  /** A text without what the network does not read; null if there is no such thing. */
  setAside(text: string, parts: readonly Span[] = []): SetAside | null {
    return this.symbols.setAside(text, parts, findEnclosures(this.tables, this.patterns, this.source, text, parts));
  }

  /** A sentence like "1 + 1 = 2", which is its own translation. */
  private copy(text: string): Adapted {
    const { origins } = replaceParts(text, [], []);
    const standIns = [this.standIn("sign", text, text)];
    const names = new Map(standIns.flatMap((each) => each.names));
    return { text, origins, standIns, names, kind: null, aside: null, asides: [], repeated: [], isOnlyStandIns: true, stop: "", behind: "" };
  }

  /** What a translation begins with, as the network would have written it. */
  readPrefix({ standIns, kind, behind }: Adapted, prefix: string): string {
    const whole = standIns.map(({ original, text, message = text }): Part => {
      const start = prefix.indexOf(original);
      return { start, end: start + original.length, kind: message };
    });
    const parts = whole.filter(({ start }) => start >= 0).sort((one, two) => one.start - two.start);
    parts.push(...this.findHalf(standIns, prefix, parts.at(-1)?.end ?? 0));
    const isClear = parts.every(({ start }, n) => !n || parts[n - 1]!.end <= start);
    const casing = new Casing(this.tables, this.patterns, null, this.tables.locales[1]);
    const cased = kind === "upper" ? casing.truecase(prefix, kind, (word) => this.target.encode(word)) : prefix;
    const { text } = isClear ? replaceParts(cased, parts, parts.map((part) => part.kind)) : { text: cased };
    if (behind && text.endsWith(behind)) return text.slice(0, -behind.length);
    return behind && text.endsWith(":") ? stripColon(text) : text;
  }

  /** The end of a text that begins what a stand-in stands for, if it is no word. */
  private findHalf(standIns: readonly StandIn[], text: string, at: number): Part[] {
    for (const { original, text: own, message = own } of standIns) {
      for (let start = Math.max(at, text.length - original.length + 1); start < text.length - 1; start++) {
        const half = text.slice(start);
        const word = toSmall(half.trim(), this.tables.locales[1]);
        const isWord = /^\p{L}+$/u.test(word) && this.target.hasToken(` ${word}`);
        const isBegun = original.startsWith(half) && !isAlnum(text.slice(0, start).slice(-1));
        if (isBegun && !isWord && !text.includes(original)) return [{ start, end: text.length, kind: message }];
      }
    }
    return [];
  }

  /** What the network wrote, with what was set aside, the case and the marks of its sentence. */
  restore({ standIns, kind, aside, asides, isOnlyStandIns, stop, behind }: Adapted, sentence: string, written: string, attend: Attend): string {
    if (isOnlyStandIns) return sentence;
    const placed = aside ? new Placement(this.tables, this.patterns, aside, written, attend).write() : written;
    const whole = stop ? this.stripStop(placed, stop) + behind : placed;
    const left = [...new Set(asides)].map((each): StandIn => ({ text: each, original: each, pattern: patternOf(each), names: [] }));
    const segments = this.cutAt(whole, [...standIns, ...left]);
    const texts = segments.map(([own]) => own);
    // Marks belong to the whole, also around a stand-in.
    const shaped = whole.includes(JOINT) ? texts : this.shapeMarks(sentence, texts.join(JOINT)).split(JOINT);
    const joined = segments
      .map(([, original], n) => {
        let text = shaped[n]!;
        if (n) text = this.fitGenitive(text, segments[n - 1]![1], sentence);
        if (kind) text = this.casing.putBack(text, kind);
        if (kind === "lower" && !n) text = this.casing.lowerFirst(text, (word) => this.target.encode(word));
        else if (!n && this.tables.has_names && isUpper(firstOf(sentence))) text = capitalize(text, this.tables.locales[1]);
        return text + original;
      })
      .join("");
    const [marks] = this.patterns.all("repeated_marks", sentence)[0] ?? []; // as often as they were typed
    const last = marks && ".…".includes(marks[0]!) ? "final_dots" : "final_mark";
    const marked = marks ? this.patterns.replace(last, joined, () => marks) : joined;
    return this.closeQuote(sentence, this.openQuote(sentence, this.fitArticles(marked)));
  }

  /** The text behind a name as a language has it: James' house, in German. */
  private fitGenitive(behind: string, name: string, sentence: string): string {
    const isBare = this.tables.stand_ins.sibilants.some((end) => name.toLowerCase().endsWith(end));
    if (!isBare || !this.patterns.at("owned", behind, 0)) return behind;
    return (sentence.includes("\u2019") ? "\u2019" : "'") + behind.slice(1);
  }

  /** A translation whose words fit its titles: "du roi", and "Chère Mme Lopez". */
  private fitArticles(text: string): string {
    const whole = this.patterns.replace("behind_word", text, (all, name, word) =>
      name && word!.endsWith(" ") ? all! : name + this.tables.fitted[word!]!);
    return this.patterns.at("first_article", whole, 0) ? capitalize(whole) : whole;
  }

  /** The mark that a sentence lacks at its end, where training text hardly lacks it; "" if it lacks none. */
  private chooseStop(text: string, mayAsk: boolean): string {
    const { usual, of_questions, questions } = this.tables.stop;
    const bare = this.patterns.has("enclosed_end", text) ? text.slice(0, -1) : text;
    if (!usual || !/[\p{L}\p{N}\p{M}]$/u.test(bare)) return "";
    const isQuestion = mayAsk && questions !== null && new RegExp(`^(?:${questions})`, "u").test(text.toLowerCase());
    return isQuestion ? of_questions[usual]! : usual;
  }

  /** A translation without the mark that stands for the one that its sentence lacked. */
  private stripStop(text: string, stop: string): string {
    let end = text.length;
    while (end && this.tables.stop.written[stop]!.includes(text[end - 1]!)) end--;
    if (text.length - end !== 1 && !(text.slice(end) in this.tables.stop.of_questions)) return text;
    return text.slice(0, end).replace(/[ \u00a0\u202f]+$/u, "");
  }

  /** A translation of a speech with its odd quote dropped, or closed before who speaks. */
  private pairQuotes(source: string, text: string): string {
    const [at, number] = [text.lastIndexOf('"'), countOf(text, '"')];
    if (number % 2 === 0 || (number === 1 && at) || !this.patterns.has("speech", source)) return text;
    const comma = text.lastIndexOf(", ");
    const isAlike = comma > 0 && countOf(text, ",") === countOf(source, ",");
    if (number === 1 && isAlike && this.patterns.has("spoken", source)) return `${text.slice(0, comma)},"${text.slice(comma + 1)}`;
    return (text.slice(0, at) + text.slice(at + 1)).replaceAll("  ", " ");
  }

  /** A translation with the quote before its first word, if only the closing one is there. */
  private openQuote(sentence: string, text: string): string {
    const opened = this.tables.quoted.map(([before]) => before);
    if (!opened.includes(sentence[0]!) || opened.includes(text[0]!)) return text;
    const [before, behind] = this.tables.quoted.find(([one, two]) => isAlone(text, two, one)) ?? [];
    if (!before || !behind) return text;
    return before + spaceOf(before, text[text.indexOf(behind) - 1]) + text;
  }

  /** A translation with the quote behind its last word, if only the opening one is there. */
  private closeQuote(sentence: string, text: string): string {
    const closed = this.tables.quoted.map(([, behind]) => behind);
    const bare = this.stripLast(sentence);
    const end = bare === sentence ? text.length : skipSpaceBack(text, this.stripLast(text).length);
    if (![...closed, ...this.tables.single_closed].includes(bare.at(-1)!) || closed.includes(text.slice(0, end).at(-1)!)) return text;
    const [before, behind] = this.tables.quoted.find(([one, two]) => isAlone(text, one, two)) ?? [];
    if (!before || !behind) return text;
    return text.slice(0, end) + spaceOf(before, text[text.indexOf(before) + 1]) + behind + text.slice(end);
  }

  private stripLast(text: string): string {
    let end = text.length;
    while (end && this.tables.last_quoted.includes(text[end - 1]!)) end--;
    return text.slice(0, end);
  }

  /** The spans of the parts of a sentence, whose colons part it where training text hardly had any. */
  splitAtColons(sentence: string): Span[] {
    if (!this.tables.stop.colon) return [[0, sentence.length]];
    const spans: Span[] = [];
    const last = sentence.search(/[\p{L}\p{N}][^\p{L}\p{N}]*$/u);
    const counts = new Map<string, number>();
    let [begin, at, isWord] = [0, 0, false];
    for (const match of this.patterns.all("colon", sentence)) {
      const before = sentence.slice(at, match.index + match[0].length);
      at += before.length;
      isWord ||= hasLetter(before);
      for (const mark of new Set(this.tables.bracketed.flat())) counts.set(mark, (counts.get(mark) ?? 0) + countOf(before, mark));
      if (!isWord || last < at || !this.isClosed(counts)) continue;
      spans.push([begin, at]);
      begin = skipSpace(sentence, at);
      counts.clear();
      isWord = false;
    }
    return [...spans, [begin, sentence.length]];
  }

  private isClosed(counts: ReadonlyMap<string, number>): boolean {
    return this.tables.bracketed.every(([one, two]) => (one === two ? counts.get(one)! % 2 === 0 : counts.get(one) === counts.get(two)));
  }

  private readonly cut: Cut = (word) => {
    let found = this.cuts.get(word);
    if (!found) this.cuts.set(word, (found = this.source.encode(word)));
    return found;
  };

  /** What is copied as it is and has a shape of its own: links, placeholders, numbers. */
  findVerbatim(text: string): Part[] {
    if (!this.patterns.has("hint", text)) return [];
    const found: Part[] = [];
    const { edge, counted } = this.tables;
    const apart = this.patterns.replace("touch", text, (own, name) => name ?? edge.repeat(own!.length));
    for (const match of this.patterns.all("verbatim", apart)) {
      const kind = Object.entries(match.groups!).find(([name, own]) => !name.startsWith("_") && own !== undefined)![0];
      const own = ["link", "mail", "path"].includes(kind) ? this.stripEnd(match[0]) : match[0];
      const end = match.index + own.length;
      const isCounted = kind === "number" && end < text.length && counted.includes(text[end]!);
      if (own && !isCounted) found.push({ start: match.index, end, kind });
    }
    return found;
  }

  /** A link without the marks of the sentence behind it. */
  private stripEnd(text: string): string {
    const { trailing, brackets } = this.tables;
    const surplus = new Map<string, number>(); // of brackets that nothing opens
    for (const [mark, opening] of Object.entries(brackets)) {
      surplus.set(mark, countOf(text, mark) - countOf(text, opening));
    }
    let end = text.length;
    for (; end; end--) {
      const mark = text[end - 1]!;
      const more = surplus.get(mark);
      if (more === undefined ? !trailing.includes(mark) : more <= 0) break;
      if (more !== undefined) surplus.set(mark, more - 1);
    }
    return text.slice(0, end);
  }

  private findNames(
    text: string, taken: readonly Part[], isNamed = this.isName, belongs = this.belongs, follows: (word: string, isNamed: boolean) => boolean = () => false,
  ): Part[] {
    const found: Part[] = [];
    const named = new Set<Part>(); // the others are names that are known, and belong to nobody
    for (const { 0: word, index: start } of this.patterns.all("word", text)) {
      const own = this.patterns.replace("possessive", word, () => "");
      const end = start + own.length;
      if (!hasCapital(own) || count(own) < 2) continue;
      if (taken.some((part) => start < part.end && part.start < end)) continue;
      const isFirst = this.isFirst(text, start);
      const last = found.at(-1);
      const isNext = last !== undefined && NAME_JOINS.includes(text.slice(last.end, start));
      const isName = isNamed.call(this, own, isFirst) || (isNext && this.firstNames.has(text.slice(last.start, last.end).split(/[ \u00a0]/u, 1)[0]!) && follows.call(this, own, named.has(last)));
      if (!isName && !belongs.call(this, own, isFirst)) continue;
      if (isNext) last.end = end;
      else found.push({ start, end, kind: "name" });
      if (isName) named.add(found.at(-1)!);
    }
    return found.filter((part) => named.has(part));
  }

  /** Names of several parts, and what is said to be a name; no word before them. */
  private findFullNames(text: string, taken: readonly Part[]): Part[] {
    const found: Part[] = [];
    for (const { 0: own, index, groups } of this.patterns.all("full_name", text)) {
      const first = own.split(" ", 1)[0]!;
      if (groups!["none"]) continue; // a part of another name
      const isWord = !groups!["place"] && !groups!["sure"] && this.tables.has_words && this.known.has(this.lower(first));
      const start = isWord && this.isFirst(text, index) && !this.isListed(first, true) ? index + first.length + 1 : index;
      const end = index + own.length;
      if (!taken.some((part) => start < part.end && part.start < end)) found.push({ start, end, kind: groups!["place"] ? "location" : "name" });
    }
    return found;
  }

  /** Names of the training text in capitals, which are not meant as emphasis. */
  private findAcronyms(text: string, taken: readonly Part[]): Part[] {
    return this.findNames(text, taken, (word) => isUpper(word) && this.knownNames.has(word), () => false);
  }

  /** Whether a word is a name that the network knows, and may yet translate. */
  private isKnownName(word: string, isFirst: boolean): boolean {
    return !this.tables.stand_ins.names.includes(word) && this.source.hasToken(` ${word}`) && this.isListed(word, isFirst);
  }

  /** Whether a word with a capital behind a name is one, being none of another kind; `isRepeated`: so is that name. */
  private isSurname(word: string, isRepeated: boolean): boolean {
    if (isRepeated && this.tables.with_articles && !isUpper(word)) return true; // nouns have no capital there
    const small = this.lower(word);
    return !this.casing.isCapitalized(small, this.cut(small), this.cut(word));
  }

  /** Whether a word is a part of the name beside it: a name that is known. */
  private belongs(word: string, isFirst: boolean): boolean {
    const isStandIn = this.tables.stand_ins.names.includes(word) && !(isFirst && this.source.hasToken(` ${this.lower(word)}`));
    return isStandIn || this.isListed(word, isFirst);
  }

  /** Whether a word is a name of the training text, or a frequent first name. */
  private isListed(word: string, isFirst: boolean): boolean {
    const [first, ...others] = word.split("-");
    const isFirstName = this.firstNames.has(first!) && others.every(hasCapital);
    if (this.knownNames.has(word) || !isFirstName) return this.knownNames.has(word);
    return others.length > 0 || !(isFirst && !this.tables.with_articles && this.source.hasToken(` ${this.lower(word)}`));
  }

  /** Whether the word before a name says that it is one of a place. */
  private isPlace(text: string, { start, end }: Part): boolean {
    const [first, ...others] = text.slice(start, end).split(/\s+/u);
    const isOwner = ["'", "\u2019"].includes(text[end] ?? "");
    const isFull = others.length || (!this.tables.towns.includes(first!) && text.slice(0, start).endsWith("to ")); // go to Dave
    if (isOwner || (isFull && this.firstNames.has(first!))) return false; // a person
    return this.patterns.has("before_place", text.slice(Math.max(0, start - this.tables.longest_before_place), start));
  }

  /** The parts with titles in front of names, which `titled` gets as they are written: Mme Abernathy. */
  private joinTitles(text: string, parts: readonly Part[], titled: Map<Part, string>): Part[] {
    let [left, last] = [[...parts], 0];
    for (const { 0: found, 1: title, index: start } of this.patterns.all("title", text)) {
      const at = start + found.length;
      const first = this.patterns.at("word", text, this.skipParticles(text, at))?.[0];
      if (start < last || !first) continue;
      const small = first.toLowerCase();
      const { polite, no_names } = this.tables;
      if (polite.includes(title!) ? no_names.includes(small) : this.source.hasToken(` ${small}`)) continue;
      const before = this.patterns.find("before_title", text.slice(Math.max(0, start - this.tables.longest_before), start))?.[1];
      if (before && this.tables.surnames.includes(title!) && !this.source.hasToken(` ${before.toLowerCase()}`)) continue;
      const end = (last = this.endName(text, at));
      if (end === at) continue;
      const [written, isWoman] = this.tables.titles[title!]!;
      const part: Part = { start, end, kind: isWoman ? "woman" : "name" };
      left = [...left.filter((each) => each.end <= start || each.start >= end), part];
      titled.set(part, `${written} ${text.slice(at, end)}`);
    }
    return this.joinLists(text, left, titled);
  }

  /** The parts with those of a long list of names as one, but for the last: "Aya, Noor, Priya and Zeynep". */
  private joinLists(text: string, parts: readonly Part[], titled: ReadonlyMap<Part, string>): Part[] {
    const ends = new Map(parts.filter((part) => part.kind === "name" && !titled.has(part)).map((part) => [part.end, part]));
    const joined = this.patterns.all("list_of_names", text).flatMap(({ 0: list, index }): Part[] => {
      const items = this.patterns.all("listed", list);
      const own = items.map((item) => ends.get(index + item.index + item[0].length));
      const isList = own.some(Boolean) && items.every(([item], n) => own[n] ?? this.firstNames.has(item));
      return isList ? [{ start: own[0]?.start ?? index, end: index + list.length, kind: "name" }] : [];
    });
    return [...parts.filter(({ start }) => !joined.some((list) => list.start <= start && start < list.end)), ...joined];
  }

  /** Where the words with a capital end that begin here, each after one space. */
  private endName(text: string, start: number): number {
    let [end, at] = [start, this.skipParticles(text, start)];
    for (;;) {
      const word = this.patterns.at("word", text, at)?.[0];
      if (!word || !isUpper(firstOf(word))) return end;
      const own = this.patterns.replace("possessive", word, () => "");
      end = at + own.length;
      if (own.length < word.length || !NAME_JOINS.includes(text[end] ?? "")) return end;
      at = this.skipParticles(text, end + 1);
    }
  }

  private skipParticles(text: string, at: number): number {
    return at + (this.patterns.at("particles", text, at)?.[0].length ?? 0);
  }

  private isFirst(text: string, start: number): boolean {
    const before = text.slice(0, start).trimEnd();
    return !before || this.tables.beginning.includes(before.at(-1)!);
  }

  private isName(word: string, isFirst: boolean): boolean {
    const isNew = this.tables.has_words && this.isNew(word, isFirst);
    if (this.isListed(word, isFirst)) return isNew || !this.source.hasToken(` ${word}`);
    return isUpper(word) ? this.isAcronym(word) : isNew;
  }

  /** Capitals like NASA that are no token, and no word with emphasis like SO. */
  private isAcronym(word: string): boolean {
    const small = this.lower(word);
    if (this.tables.has_words && !this.known.has(small)) return true;
    const isKnown = this.tables.has_words && count(word) > this.tables.longest_acronym;
    return !isKnown && !this.source.hasToken(` ${word}`) && !this.source.hasToken(` ${small}`);
  }

  private lower(word: string): string {
    return toSmall(word, this.tables.locales[0]);
  }

  private isNew(word: string, isFirst: boolean): boolean {
    const small = this.lower(word).replaceAll("\u2019", "'");
    if (this.known.has(small) || small.split("-").every((part) => this.known.has(part))) return false;
    const isInflected = this.tables.endings.some((ending) => {
      const stem = small.slice(0, -ending.length);
      return small.endsWith(ending) && count(stem) >= this.tables.least_stem && this.known.has(stem);
    });
    return !(isFirst && isInflected);
  }

  private isCommon(text: string): boolean {
    const first = this.patterns.all("cased_word", text)[0]?.[0].split(/['\u2019]/u)[0];
    return first === undefined || (isUsual(text) && this.source.hasToken(` ${first}`));
  }

  private isLeft(text: string, part: Part): boolean {
    const own = text.slice(part.start, part.end);
    return isDecimal(own) && own.length <= this.tables.small_number && !isBracketed(text, part);
  }

  private truecase(sentence: string, parts: readonly Part[], kind: Case): string {
    const text = this.casing.truecase(blank(sentence, parts), kind, this.cut);
    let [left, at] = ["", 0];
    for (const { start, end } of parts) {
      left += text.slice(at, start) + sentence.slice(start, end);
      at = end;
    }
    return left + text.slice(at);
  }

  /** A stand-in for each part, all different; null if there are not enough. */
  private choose(text: string, parts: readonly Part[], days: ReadonlyMap<Part, StandIn>): string[] | null {
    const { copies } = this.tables.stand_ins;
    const taken = new Set<string>();
    const chosen: string[] = [];
    for (const part of parts) {
      if (days.has(part)) {
        chosen.push(days.get(part)!.text);
        taken.add(days.get(part)!.text);
        continue;
      }
      const own = text.slice(part.start, part.end);
      const pool = copies.length ? copies : this.listStandIns(own, part.kind);
      const free = pool.find((each) => !taken.has(each) && (each === own || !this.spell(each).some((name) => text.includes(name))));
      if (free === undefined) return null;
      for (const each of this.spell(free)) taken.add(each);
      chosen.push(free);
    }
    return chosen;
  }

  private listStandIns(own: string, kind: string): string[] {
    const { stand_ins: { names, numbers, years, places, women }, of_numbers, digits } = this.tables;
    if (kind === "placeholder" && this.patterns.fits("numeric", own)) return numbers;
    if (!of_numbers.includes(kind)) {
      const preferred = kind === "location" ? places : kind === "woman" ? women : NO_ONE;
      const rank = (name: string) => (preferred.includes(name) ? 0 : places.includes(name) ? 2 : 1);
      return [...names].sort((one, two) => rank(one) - rank(two));
    }
    if (!isDecimal(own) || own.length > digits) return numbers;
    const pool = this.patterns.fits("year", own) ? years : numbers;
    const far = (each: string) => Math.abs(Number(each) - Number(own));
    return [...pool].sort((one, two) => far(one) - far(two));
  }

  /** What a network may write for a name, the name itself first: Maria for Mary. */
  private spell(name: string): string[] {
    const others = this.tables.stand_ins.spellings.find((each) => each.includes(name)) ?? [];
    return [name, ...others.filter((each) => each !== name)];
  }

  private standIn(kind: string, text: string, own: string): StandIn {
    const { names, genitive } = this.tables.stand_ins;
    if (names.includes(text)) return { text, original: own, pattern: patternOf(this.spell(text).join("|"), "", genitive), names: [[text, own]] };
    if (kind === "time") return this.tellTime(own, text);
    const { amounts, amount, nouns } = this.tables.stand_ins;
    const isAmount = nouns && amounts.includes(kind) && /^\p{Nd}+$/u.test(text) && new RegExp(amount, "u").test(own);
    const behind = isAmount ? `(?:[ \\u00a0\\u202f](?:${nouns})(?![\\p{L}\\p{N}_]))?` : "";
    return { text, original: own, pattern: patternOf(text, behind), names: [[text, own]] };
  }

  /** The stand-in for a time like 7:45 or 8:00 p.m., which the network reads as `text`. */
  private tellTime(own: string, text: string): StandIn {
    const { half, counts_to_24, target } = this.tables.dates;
    let end = own.length;
    while (end && half.includes(own[end - 1]!)) end--;
    const said = own.slice(end).trim().toLowerCase();
    const [hours, ...rest] = own.slice(0, end).split(":");
    const original = said && counts_to_24 ? [(Number(hours) % 12) + (said.startsWith("p") ? 12 : 0), ...rest].join(":") : own;
    const behind = target?.hours ? `(?: (?:${target.hours})(?![\\p{L}\\p{N}_]))?` : "";
    return { text, original, pattern: patternOf(text, behind), names: [[text, original]] };
  }

  /** The days of a text with their stand-ins; none if there are too many. */
  private findDays(text: string): Map<Part, StandIn> {
    const { patterns, often, months, last_day, target } = this.tables.dates;
    const matches = patterns
      .flatMap((pattern) => [...text.matchAll(new RegExp(pattern, "gu"))])
      .sort((one, two) => one.index - two.index || two[0].length - one[0].length);
    let [at, rest] = [0, ""];
    const days = matches.filter((match) => {
      if (match.index < at || Number(match.groups!["day"]) < 1 || Number(match.groups!["day"]) > last_day) return false;
      rest += text.slice(at, match.index);
      at = match.index + match[0].length;
      return true;
    });
    rest += text.slice(at);
    const free = often.filter(({ day, months: [own] }) => !rest.includes(own) && !new RegExp(`(?<!\\p{Nd})${day}(?!\\p{Nd})`, "u").test(rest));
    if (!target || days.length > free.length) return new Map();
    return new Map(days.map((match, n): [Part, StandIn] => {
      const { day = "", month = "", year, numeric } = match.groups!;
      const { months: [own, theirs], ...chosen } = free[n]!;
      const part: Part = { start: match.index, end: match.index + match[0].length, kind: "day" };
      const { text: read, message, pattern } = chosen;
      if (numeric) return [part, { text: read, message, pattern, original: numeric, names: [[read, numeric]] }];
      const name = target.months[months.indexOf(month)]!;
      const fill: Record<string, string> = { day: Number(day) === 1 ? target.first : String(Number(day)), month: name, year: year ?? "" };
      const original = (year ? target.dated : target.plain).replace(/\{(\w+)\}/gu, (_, key: string) => fill[key]!);
      const names: [string, string][] = [[String(chosen.day), String(Number(day))], [own, month], [theirs, year ? `${name} ${year}` : name]];
      return [part, { text: read, message, pattern, original, names }];
    }));
  }

  /** Each text up to a stand-in, and what that one stands for; "" at the end. */
  private cutAt(text: string, standIns: readonly StandIn[]): [own: string, original: string][] {
    if (!standIns.length) return [[text, ""]];
    const found: [string, string][] = [];
    let at = 0;
    for (const match of text.matchAll(new RegExp(standIns.map(({ pattern }) => `(${pattern})`).join("|"), "gu"))) {
      const which = match.slice(1).findIndex((own) => own !== undefined);
      found.push([text.slice(at, match.index), standIns[which]!.original]);
      at = match.index + match[0].length;
    }
    return [...found, [text.slice(at), ""]];
  }

  /** A translation with curly marks where its source has them. */
  private shapeMarks(source: string, text: string): string {
    let shaped = this.pairQuotes(source, text);
    if (!this.patterns.has("curly", source)) return shaped;
    if (this.patterns.has("curly_double", source)) {
      const [before, behind] = this.tables.quotes;
      shaped = this.patterns.replace("pairs", shaped, (_, inner) => before + inner! + behind);
    }
    if (source.includes("\u2019") && !source.includes("'")) {
      const [before, behind] = Array.from(this.tables.single_quotes);
      shaped = this.patterns.replace("single_pairs", shaped, (_, inner) => before! + inner! + behind!).replaceAll("'", "\u2019");
    }
    if (source.includes("\u2026") && !source.includes("...")) shaped = shaped.replaceAll("...", "\u2026");
    const dashes = this.patterns.all("dash", source).map(([dash]) => dash);
    if (!dashes.length || this.patterns.all("spaced_dash", shaped).length !== dashes.length) return shaped;
    return this.patterns.replace("spaced_dash", shaped, () => dashes.shift()!);
  }
}

/** A pattern of a stand-in that is no part of another word or number; `behind`: what may follow it. */
function patternOf(text: string, behind = "", isGenitive = false): string {
  if (!isAlnum(text.replaceAll("|", ""))) return escape(text);
  const end = "(?![\\p{L}\\p{N}_]|[.,:]\\p{Nd})";
  return `(?<![\\p{L}\\p{N}_])(?<!\\p{Nd}[.,])(?:${text})${behind}${isGenitive ? `(?=s?${end})` : end}`;
}

/** A sentence with its parts as digits, which have no case. */
function blank(text: string, parts: readonly Part[]): string {
  let [left, at] = ["", 0];
  for (const { start, end } of parts) {
    left += text.slice(at, start) + NO_LETTER.repeat(end - start);
    at = end;
  }
  return left + text.slice(at);
}

/** Whether each letter and digit of a sentence is in a tag, or in brackets as (Y/N). */
function isAllApart(sentence: string, parts: readonly Part[]): boolean {
  const apart = parts.filter((part) => isApart(sentence, part));
  return apart.length > 0 && !hasAlnum(replaceParts(sentence, apart, apart.map(() => "")).text);
}

/** Whether a part has no place in the grammar: a tag, or one in brackets of its own. */
const isApart = (text: string, part: Part): boolean => part.kind === "tag" || isBracketed(text, part);

function isBracketed(text: string, { start, end }: Part): boolean {
  return ["()", "[]"].includes(text.slice(Math.max(0, start - 1), start) + text.slice(end, end + 1));
}

function replaceParts(text: string, parts: readonly Part[], chosen: readonly string[]): { text: string; origins: Span[] } {
  let [left, at] = ["", 0];
  const origins: Span[] = [];
  const keep = (to: number) => {
    left += text.slice(at, to);
    for (let place = at; place < to; place++) origins.push([place, place + 1]);
  };
  parts.forEach(({ start, end }, n) => {
    keep(start);
    left += chosen[n]!;
    for (let half = 0; half < chosen[n]!.length; half++) origins.push([start, end]);
    at = end;
  });
  keep(text.length);
  return { text: left, origins };
}

/** The span of a sentence that a span of what was read comes from. */
function joinSpan(origins: readonly Span[], start: number, end: number): Span {
  if (start < end) return [origins[start]![0], origins[end - 1]![1]];
  const place = origins[start]?.[0] ?? origins.at(-1)?.[1] ?? 0; // of the space before a text
  return [place, place];
}

/** The span of each part without a stand-in, with its brackets, in the new text. */
function placeApart(text: string, parts: readonly Part[], inside: readonly Part[], chosen: readonly string[]): Span[] {
  let grown = 0;
  return parts.flatMap((part): Span[] => {
    const place = inside.indexOf(part);
    if (place >= 0) {
      grown += chosen[place]!.length - (part.end - part.start);
      return [];
    }
    const wider = Number(isBracketed(text, part));
    return [[part.start + grown - wider, part.end + grown + wider]];
  });
}
