/** Words in quotes or brackets that a model hardly knows, as `text/enclosures.py` finds them. */

import { hasAlnum, type AdaptingTables, type Patterns } from "./tables";
import type { Tokenizer } from "./tokenizer";

/** A span with its opening and its closing mark, and the marks to be put in the translation. */
export interface Enclosure {
  start: number;
  end: number;
  marks: [opening: string, closing: string];
  comma: string; // what the network reads in the place of a mark
}

export function findEnclosures({ enclosures }: AdaptingTables, patterns: Patterns, source: Tokenizer, text: string): Enclosure[] {
  const { rare, written, brackets, emphasis, comma, most_quoted } = enclosures;
  if (!rare.length || !patterns.has("enclosed_hint", text)) return [];
  const isShortQuote = (start: number, end: number, words: string): boolean => {
    const own = words.split(/\s+/u);
    const isInside = hasAlnum(text.slice(0, start) + text.slice(end));
    if (isInside && (patterns.has("stop", words) || own.length > most_quoted)) return false;
    return source.encodeInside(own[0]!).length > source.encode(own[0]!).length;
  };
  const found: Enclosure[] = [];
  let last = 0;
  for (const match of patterns.all("enclosed", text)) {
    const [kind, words] = Object.entries(match.groups!).find(([name, own]) => !name.startsWith("_") && own !== undefined)!;
    const [start, end] = [match.index, match.index + words.length + 2];
    if (!rare.includes(kind) || (start < last && last < end)) continue; // nor one that crosses another
    const isBracket = brackets.includes(kind);
    if (!isBracket && !emphasis.includes(kind) && !isShortQuote(start, end, words)) continue;
    found.push({ start, end, marks: written[kind]!, comma: isBracket ? comma : "" });
    last = Math.max(end, last);
  }
  return found;
}
