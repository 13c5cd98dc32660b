/**
 * A sentence as people write it becomes one as the model knows them, as `translate/adapting.py` has it:
 * what its translation repeats is read as stand-ins, capitals as the usual case, symbols not at all.
 */

import { Casing, isUsual, type Case, type Cut } from "./casing";
import { Symbols, type SetAside, type Span } from "./symbols";
import type { Tokenizer } from "./tokenizer";
import { count, firstOf, hasAlnum, isAlnum, isUpper, Patterns, type AdaptingTables } from "./tables";

interface Part {
  start: number;
  end: number;
  kind: string; // the name of a group of the pattern, or "name"
}

export interface Adapted {
  text: string; // what the tokenizer reads
  origins: Span[]; // of each half of a character of it, in the sentence
  names: Map<string, string>; // what stands in, and for what
  kind: Case | null;
  aside: SetAside | null;
  repeated: string[]; // what was taken out together with symbols
  isOnlyStandIns: boolean; // there is nothing to translate
}

const NO_LETTER = "0";
const NAME_JOINS = [" ", "\u00a0"];
const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&");
const isDecimal = (text: string): boolean => /^\p{Nd}+$/u.test(text);

export class Adapter {
  readonly symbols: Symbols;
  private readonly patterns: Patterns;
  private readonly casing: Casing;
  private readonly firstNames: ReadonlySet<string>;
  private readonly cuts = new Map<string, number[]>();

  constructor(
    private readonly tables: AdaptingTables, private readonly known: ReadonlySet<string>,
    private readonly source: Tokenizer, private readonly target: Tokenizer,
  ) {
    this.patterns = new Patterns(tables.patterns);
    this.symbols = new Symbols(tables, this.patterns, (text) => source.findUnknown(text).length > 0);
    this.casing = new Casing(tables, this.patterns, tables.has_words ? known : null);
    this.firstNames = new Set(tables.first_names);
  }

  adapt(sentence: string): Adapted {
    let parts = this.findVerbatim(sentence);
    const kind = this.tables.is_cased && (parts.length || !isUsual(sentence)) ? this.casing.find(blank(sentence, parts), this.cut) : null;
    const cased = kind ? this.truecase(sentence, parts, kind) : sentence;
    parts = parts.filter((part) => !this.isLeft(cased, part));
    if (this.tables.has_names && !this.isCommon(cased)) parts = [...parts, ...this.findNames(cased, parts)].sort((one, two) => one.start - two.start);
    let inside = parts.filter((part) => !isApart(cased, part));
    let chosen = this.choose(cased, inside);
    if (!chosen) {
      [inside, chosen] = [[], []];
      parts = parts.filter((part) => !this.tables.plain_kinds.includes(part.kind));
    }
    const { text, origins } = replaceParts(cased, inside, chosen);
    const names = new Map(inside.map((part, n) => [chosen[n]!, sentence.slice(part.start, part.end)]));
    const spans = placeApart(cased, parts, inside, chosen);
    const aside = this.symbols.setAside(text, spans);
    const isOnlyStandIns = names.size > 0 && !hasAlnum(this.cutAt(text, names.keys()).map(([own]) => own).join(""));
    return {
      text: aside?.text ?? text,
      origins: aside ? aside.spans.map(([start, end]) => [origins[start]?.[0] ?? sentence.length, origins[end - 1]?.[1] ?? sentence.length]) : origins,
      names, kind, aside, repeated: spans.map(([start, end]) => text.slice(start, end)), isOnlyStandIns,
    };
  }

  /** What the network wrote, with what was set aside, the case and the marks of its sentence. */
  restore({ names, kind, aside, repeated, isOnlyStandIns }: Adapted, sentence: string, written: string): string {
    if (isOnlyStandIns) return sentence;
    const placed = aside ? this.symbols.place(aside, written) : written;
    const originals = new Map([...repeated.map((each): [string, string] => [each, each]), ...names]);
    const cutText = this.cutAt(placed, originals.keys());
    return cutText
      .map(([own, standIn], n) => {
        let text = this.shapeMarks(sentence, own);
        if (kind) text = this.casing.putBack(text, kind);
        if (kind === "lower" && !n) text = this.casing.lowerFirst(text, (word) => this.target.encode(word));
        return text + (originals.get(standIn) ?? "");
      })
      .join("");
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
    for (const match of this.patterns.all("verbatim", text)) {
      const kind = Object.entries(match.groups!).find(([name, own]) => !name.startsWith("_") && own !== undefined)![0];
      const own = ["link", "mail", "path"].includes(kind) ? this.stripEnd(match[0]) : match[0];
      if (own) found.push({ start: match.index, end: match.index + own.length, kind });
    }
    return found;
  }

  /** A link without the marks of the sentence behind it. */
  private stripEnd(text: string): string {
    const { trailing, brackets } = this.tables;
    let end = text.length;
    for (; end; end--) {
      const mark = text[end - 1]!;
      const opening = brackets[mark];
      if (opening === undefined && !trailing.includes(mark)) break;
      const times = (each: string) => text.slice(0, end).split(each).length - 1;
      if (opening !== undefined && times(mark) <= text.split(opening).length - 1) break;
    }
    return text.slice(0, end);
  }

  private findNames(text: string, taken: readonly Part[]): Part[] {
    const found: Part[] = [];
    for (const { 0: word, index: start } of this.patterns.all("word", text)) {
      const own = this.patterns.replace("possessive", word, () => "");
      const end = start + own.length;
      if (!isUpper(firstOf(own)) || count(own) < 2 || isUpper(own)) continue;
      if (taken.some((part) => start < part.end && part.start < end)) continue;
      if (!this.isName(own, this.isFirst(text, start))) continue;
      const last = found.at(-1);
      if (last && NAME_JOINS.includes(text.slice(last.end, start))) last.end = end;
      else found.push({ start, end, kind: "name" });
    }
    return found;
  }

  private isFirst(text: string, start: number): boolean {
    const before = text.slice(0, start).trimEnd();
    return !before || this.tables.beginning.includes(before.at(-1)!);
  }

  private isName(word: string, isFirst: boolean): boolean {
    if (this.tables.has_words && this.isNew(word, isFirst)) return true;
    if (!this.firstNames.has(word) || this.source.hasToken(` ${word}`)) return false;
    return !isFirst || !this.source.hasToken(` ${word.toLowerCase()}`);
  }

  private isNew(word: string, isFirst: boolean): boolean {
    const small = word.toLowerCase().replaceAll("\u2019", "'");
    if (this.known.has(small) || small.split("-").every((part) => this.known.has(part))) return false;
    const letters = Array.from(small);
    return !(isFirst && this.tables.endings.some((cut) => letters.length - cut >= this.tables.least_stem && this.known.has(letters.slice(0, -cut).join(""))));
  }

  private isCommon(text: string): boolean {
    const first = this.patterns.all("cased_word", text)[0]?.[0].split(/['\u2019]/u)[0];
    return first === undefined || (isUsual(text) && this.source.hasToken(` ${first}`));
  }

  private isLeft(text: string, { start, end, kind }: Part): boolean {
    return kind === "tag" || (isDecimal(text.slice(start, end)) && end - start <= this.tables.small_number);
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
  private choose(text: string, parts: readonly Part[]): string[] | null {
    const { copies } = this.tables.stand_ins;
    const taken = new Set<string>();
    for (const part of parts) {
      const own = text.slice(part.start, part.end);
      const pool = copies.length ? copies : this.listStandIns(own, part.kind);
      const free = pool.find((each) => !taken.has(each) && (each === own || !text.includes(each)));
      if (free === undefined) return null;
      taken.add(free);
    }
    return [...taken];
  }

  private listStandIns(own: string, kind: string): string[] {
    const { stand_ins: { names, numbers, years }, of_numbers, digits } = this.tables;
    if (kind === "placeholder" && this.patterns.fits("numeric", own)) return numbers;
    if (!of_numbers.includes(kind)) return names;
    if (!isDecimal(own) || own.length > digits) return numbers;
    const pool = this.patterns.fits("year", own) ? years : numbers;
    const far = (each: string) => Math.abs(Number(each) - Number(own));
    return [...pool].sort((one, two) => far(one) - far(two));
  }

  /** Each text up to a stand-in that is no part of another word, and that stand-in; "" at the end. */
  private cutAt(text: string, standIns: Iterable<string>): [own: string, standIn: string][] {
    const each = [...standIns].map((own) => (isAlnum(own) ? `(?<![\\p{L}\\p{N}_])(?<!\\p{Nd}[.,])${own}(?![\\p{L}\\p{N}_]|[.,:]\\p{Nd})` : escape(own)));
    if (!each.length) return [[text, ""]];
    const found: [string, string][] = [];
    let at = 0;
    for (const match of text.matchAll(new RegExp(each.join("|"), "gu"))) {
      found.push([text.slice(at, match.index), match[0]]);
      at = match.index + match[0].length;
    }
    return [...found, [text.slice(at), ""]];
  }

  /** A translation with curly marks where its source has them. */
  private shapeMarks(source: string, text: string): string {
    if (!this.patterns.has("curly", source)) return text;
    let shaped = text;
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

/** A sentence with its parts as digits, which have no case. */
function blank(text: string, parts: readonly Part[]): string {
  let [left, at] = ["", 0];
  for (const { start, end } of parts) {
    left += text.slice(at, start) + NO_LETTER.repeat(end - start);
    at = end;
  }
  return left + text.slice(at);
}

/** Whether a part stands in brackets of its own, and has no place in the grammar. */
function isApart(text: string, { start, end }: Part): boolean {
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

/** The span of each part without a stand-in, with its brackets, in the new text. */
function placeApart(text: string, parts: readonly Part[], inside: readonly Part[], chosen: readonly string[]): Span[] {
  let grown = 0;
  return parts.flatMap((part): Span[] => {
    const place = inside.indexOf(part);
    if (place >= 0) {
      grown += chosen[place]!.length - (part.end - part.start);
      return [];
    }
    const wider = Number(isApart(text, part));
    return [[part.start + grown - wider, part.end + grown + wider]];
  });
}
