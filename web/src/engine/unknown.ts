/** Words that a model never met in training, as `known_words.py` finds them. */

import { COMBINING, EAST, SOUTH_EAST } from "../data/words";

const LETTER = `(?![${EAST}${SOUTH_EAST}])[\\p{L}\\p{N}]`;
const WHOLE = `${LETTER}(?:${LETTER}|[${COMBINING}])*`;
const WORD = new RegExp(`[${EAST}]|(?=[\\p{L}\\p{N}])[${SOUTH_EAST}][${COMBINING}]*|${WHOLE}(?:['’]${WHOLE})*`, "gu");

/** Those that are not known, as they are written; a number is spelled digit by digit. */
export function findUnknown(known: ReadonlySet<string>, text: string): string[] {
  const found = [...text.matchAll(WORD)].map(([word]) => word);
  const isKnown = (word: string) => {
    const small = word.toLowerCase().replaceAll("’", "'");
    return known.has(small) || known.has(small.replace(/'s$/u, "")) || /^\p{Nd}+$/u.test(word);
  };
  const unknown = found.filter((word) => !isKnown(word));
  return [...new Set(unknown)];
}
