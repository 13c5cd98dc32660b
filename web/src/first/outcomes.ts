/** What the network says without each word of a sentence. */

import { at } from "../data/tensor";
import type { Answer } from "../engine/engine";
import type { Edit } from "../engine/edits";
import { compareWords, listWords, makeCuts, type Said } from "./cuts";

/** What came of one cut. */
export interface Outcome {
  place: number; // of the source word
  word: string;
  share: number; // of all attention of the translation's words
  changed: number; // words of the translation that are gone or another
  said: Said[];
  answer: Answer;
}

/** Translates the sentence of an answer again, under edits; null where it can't. */
export type Retranslate = (base: Answer, edits: Edit[]) => Promise<Answer | null>;

/** Cut each word that has a letter or digit once, one after the other. */
export async function* cutEach(base: Answer, retranslate: Retranslate): AsyncGenerator<Outcome> {
  const before = listWords(base, "target");
  for (const [place, word] of listWords(base, "source").entries()) {
    if (!/[\p{L}\p{N}]/u.test(word)) continue;
    const answer = await retranslate(base, makeCuts(base, place));
    if (!answer) continue;
    const said = compareWords(before, listWords(answer, "target"));
    const changed = before.length - said.filter((each) => each.was >= 0).length;
    const share = before.reduce((sum, _, q) => sum + at(base.attention, [q, place]), 0) / before.length;
    yield { place, word, share, changed, said, answer };
  }
}
