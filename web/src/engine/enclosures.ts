/** Words in quotes, brackets or tags that a model hardly knows, as `extensions/enclosures` finds them. */

import type { Span } from "./symbols";
import { hasAlnum, type AdaptingTables, type Patterns } from "./tables";
import type { Tokenizer } from "./tokenizer";

/** A span with its opening and its closing mark, and the marks to be put in the translation. */
export interface Enclosure {
  start: number;
  end: number;
  marks: [opening: string, closing: string];
  comma: string; // what the network reads in the place of a mark
  both: [opening: Span, closing: Span]; // where the marks are
}

export function findEnclosures({ enclosures }: AdaptingTables, patterns: Patterns, source: Tokenizer, text: string, parts: readonly Span[]): Enclosure[] {
  const { rare, written, brackets, emphasis, comma, most_quoted } = enclosures;
  const found = pairTags(patterns, text, parts);
  if (!rare.length || !patterns.has("enclosed_hint", text)) return found;
  const isShortQuote = (start: number, end: number, words: string): boolean => {
    const own = words.split(/\s+/u);
    const isInside = hasAlnum(text.slice(0, start) + text.slice(end));
    if (isInside && (patterns.has("stop", words) || own.length > most_quoted)) return false;
    return source.encodeInside(own[0]!).length > source.encode(own[0]!).length;
  };
  let last = 0;
  for (const match of patterns.all("enclosed", text)) {
    const [kind, words] = Object.entries(match.groups!).find(([name, own]) => !name.startsWith("_") && own !== undefined)!;
    const [start, end] = [match.index, match.index + words.length + 2];
    if (!rare.includes(kind) || (start < last && last < end)) continue; // nor one that crosses another
    const isBracket = brackets.includes(kind);
    if (!isBracket && !emphasis.includes(kind) && !isShortQuote(start, end, words)) continue;
    found.push({ start, end, marks: written[kind]!, comma: isBracket ? comma : "", both: [[start, start + 1], [end - 1, end]] });
    last = Math.max(end, last);
  }
  return found;
}

/** Each pair of tags that has a letter or digit between, of some parts of a text. */
function pairTags(patterns: Patterns, text: string, parts: readonly Span[]): Enclosure[] {
  const pairs: Enclosure[] = [];
  const opened: { name: string; part: Span }[] = [];
  for (const part of parts) {
    const own = text.slice(...part);
    if (!patterns.fits("tag", own)) continue;
    const { closing, name } = patterns.at("tag", own, 0)!.groups!;
    const small = name!.toLowerCase();
    if (!closing) opened.push({ name: small, part });
    else {
      const place = opened.findLastIndex((each) => each.name === small);
      if (place < 0) continue;
      const [first] = opened.splice(place); // those that were opened within have no partner
      const both: [Span, Span] = [first!.part, part];
      if (!hasAlnum(patterns.replace("tag", text.slice(both[0][1], both[1][0]), () => ""))) continue;
      pairs.push({ start: both[0][0], end: both[1][1], marks: [text.slice(...both[0]), own], comma: "", both });
    }
  }
  return pairs;
}
