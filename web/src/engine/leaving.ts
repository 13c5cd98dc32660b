/** What a translation is without each word of its source: leave-one-out, with any engine. */

import type { Trace } from "../data/trace";
import { groupWords, spell } from "../data/words";
import type { Engine, Outcome } from "./engine";

/** A word of the source, and what one token of the translation is worth without it. */
export interface Share {
  word: string;
  before: number; // the probability of the token
  after: number; // where the sentence lacks the word
  translation: string; // which the model then writes
}

/**
 * Leave out one word after another, and score the old translation again. Of a recording under edits
 * it is the unedited translation. A word that stands there twice is left out twice, at once.
 */
export async function* leaveOutEach(engine: Engine, trace: Trace, step: number, signal?: AbortSignal): AsyncGenerator<Share> {
  for (const word of listWords(trace)) {
    const found = await attempt(() => engine.edit(trace, [{ do: "word", word, by: "" }], signal));
    signal?.throwIfAborted();
    if (!found) continue;
    const { before, after } = found.changes.tokens[step]!;
    yield { word, before, after, translation: found.changes.after };
  }
}

function listWords({ source, document }: Trace): string[] {
  const words = groupWords(source.slice(0, -1), document.text).map((tokens) => spell(source, tokens).trim());
  return [...new Set(words)].filter((word) => /[\p{L}\p{N}]/u.test(word));
}

/** A sentence may be nothing without its only word. */
async function attempt(ask: () => Promise<Outcome | null>): Promise<Outcome | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof DOMException) throw error;
    return null;
  }
}
