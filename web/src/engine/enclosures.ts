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

/** Each pair of tags with a letter or digit between that is in none of some parts, which are in order. */
function pairTags(patterns: Patterns, text: string, parts: readonly Span[]): Enclosure[] {
  const pairs: Enclosure[] = [];
  const opened: { name: string; part: Span; letters: number }[] = [];
  const counts = new Map<string, number>();
  const add = (name: string, more: number) => counts.set(name, (counts.get(name) ?? 0) + more);
  let [letters, at] = [0, 0]; // stretches with letters or digits so far; the end of the last part
  for (const part of parts) {
    letters += Number(hasAlnum(text.slice(at, part[0])));
    at = part[1];
    const own = text.slice(...part);
    if (!patterns.fits("tag", own)) continue;
    const { closing, name } = patterns.at("tag", own, 0)!.groups!;
    const small = name!.toLowerCase();
    if (!closing) {
      opened.push({ name: small, part, letters });
      add(small, 1);
    }
    while (closing && counts.get(small)) {
      const other = opened.pop()!; // those that were opened within have no partner
      add(other.name, -1);
      if (other.name !== small) continue;
      const both: [Span, Span] = [other.part, part];
      if (other.letters < letters) pairs.push({ start: both[0][0], end: at, marks: [text.slice(...both[0]), own], comma: "", both });
      break;
    }
  }
  return pairs;
}
