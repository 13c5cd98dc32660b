/** A sentence in the text that it was cut from, with what the network did not read of it. */

import type { Answer } from "../engine/engine";
import { wordsFrom } from "./cuts";

/** Symbols that the network did not read; they stand as they are before the word at `place`. */
export interface Aside {
  text: string;
  place: number; // behind the last word: the number of words
}

export interface Excerpt {
  text: string; // with the symbols
  read: string; // without them: as long as the answer's text, in the letters of the whole one
  asides: Aside[];
  origins: number[]; // of each character of the answer's text in the whole text, and of its end
}

const isBlank = (letter: string | undefined): boolean => letter !== undefined && /^\s$/.test(letter);

/** Whether two letters are the same in small letters: a text in capitals is read and written in the usual case. */
const isSame = (one: string | undefined, other: string | undefined): boolean => one?.toLowerCase() === other?.toLowerCase();

/** The sentence of an answer as it stands in the whole text, or its translation in the whole one. */
export function findExcerpt(answer: Answer, side: "source" | "target"): Excerpt {
  const read = Array.from(side === "source" ? answer.text : answer.translation);
  const plain = { text: read.join(""), read: read.join(""), asides: [], origins: [...read.keys(), read.length] };
  const { whole } = answer;
  if (!whole) return plain;
  const all = Array.from(side === "source" ? whole.text : whole.translation);
  const { chosen, sentences } = whole;
  const begin = chosen ? sentences[chosen]![side][0] : 0;
  const end = sentences[chosen + 1]?.[side][0] ?? all.length;
  const origins: number[] = [];
  const found: { first: number; last: number; at: number }[] = [];
  let at = 0; // what is read next
  for (let n = begin; n < end; n++) {
    if (isBlank(all[n])) continue;
    while (isBlank(read[at])) origins[at++] = n;
    const before = found.at(-1);
    if (isSame(all[n], read[at])) origins[at++] = n;
    else if (before?.at === at) before.last = n;
    else found.push({ first: n, last: n, at });
  }
  if (at < read.length && !read.slice(at).every(isBlank)) return plain;
  origins[read.length] = (origins[at - 1] ?? begin - 1) + 1;
  const starts = wordsFrom(answer, side);
  const asides = found.map(({ first, last, at }) => {
    const place = starts.findIndex((start) => start >= at);
    return { text: all.slice(first, last + 1).join(""), place: place < 0 ? starts.length : place };
  });
  const shown = read.map((letter, n) => (isSame(all[origins[n]!], letter) ? all[origins[n]!]! : letter)).join("");
  return { text: all.slice(begin, end).join("").trim(), read: shown, asides, origins };
}

/** How many sentences the text of an answer has. */
export const countSentences = (answer: Answer | null): number => answer?.whole?.sentences.length ?? 1;

/** One sentence of the text of an answer. */
export function readSentence({ whole, text }: Answer, place: number): string {
  const span = whole?.sentences[place]?.source;
  return span ? Array.from(whole!.text).slice(...span).join("") : text;
}
