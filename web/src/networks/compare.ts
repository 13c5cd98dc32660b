/** Where a translation differs from the right one, word by word. */

import { pairCommon } from "../data/words";

const splitWords = (text: string): string[] => text.replace(/[.,!?;:]/g, " ").split(/\s+/).filter(Boolean);

export interface Judged {
  words: { text: string; isRight: boolean }[];
  wrong: number; // words of the right translation that it does not have
  all: number;
  first: string | null; // the first of its own words that is not right
}

/** Judge a translation by the right one; marks between words do not count. */
export function judge(said: string, right: string): Judged {
  const [own, wanted] = [splitWords(said), splitWords(right)];
  const kept = new Set(pairCommon(own, wanted).map(([place]) => place));
  const words = own.map((text, place) => ({ text, isRight: kept.has(place) }));
  const first = words.find(({ isRight }) => !isRight)?.text ?? null;
  return { words, wrong: wanted.length - kept.size, all: wanted.length, first };
}
