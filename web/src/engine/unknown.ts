/** Words that a model never met in training, as `known_words.py` finds them. */

import { COMBINING, EAST, SOUTH_EAST } from "../data/words";
import { toSmall } from "./casing";
import { replaceCharacters } from "./tokenizer";

const LETTER = `(?![${EAST}${SOUTH_EAST}])[\\p{L}\\p{N}]`;
const WHOLE = `${LETTER}(?:${LETTER}|[${COMBINING}])*`;
const WORD = new RegExp(`[${EAST}]|(?=[\\p{L}\\p{N}])[${SOUTH_EAST}][${COMBINING}]*|${WHOLE}(?:['’]${WHOLE})*`, "gu");

/** Those that are not known, as they are written; a number is spelled digit by digit. */
export function findUnknown(known: ReadonlySet<string>, text: string, characters: ReadonlyMap<string, string> | null = null): string[] {
  const typed = Array.from(text);
  const letters = replaceCharacters(text, characters);
  const places = letters.flatMap((letter) => Array.from({ length: letter.text.length }, () => letter));
  const isKnown = (word: string) => /^\p{Nd}+$/u.test(word) || ["en", "tr"].some((locale) => {
    const small = toSmall(word, locale).replaceAll("’", "'");
    return known.has(small) || known.has(small.replace(/'s$/u, ""));
  });
  const unknown = [...letters.map((letter) => letter.text).join("").matchAll(WORD)].flatMap(({ 0: word, index }) => {
    const own = typed.slice(places[index]!.start, places[index + word.length - 1]!.end).join("");
    return isKnown(word) || isKnown(own) ? [] : [own];
  });
  return [...new Set(unknown)];
}
