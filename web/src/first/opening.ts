/** What the first screen does by itself, once: it cuts the thread of one word, and mends it. */

import { here } from "../state.svelte";
import { compareWords, listChanges, listWords, makeCuts } from "./cuts";
import type { Answer } from "../engine/engine";
import { findSwap } from "./examples";
import { screen } from "./screen.svelte";

/** Milliseconds: until the scissors set out, their way, and how long the cut is to be seen. */
export const TIMES = { before: 900, way: 900, cut: 2600 };

/** The cut that was shown: the word, and each word of the translation that another took the place of. */
export interface Shown {
  text: string; // of the sentence
  word: string;
  changes: [string, string][];
}

/** Where the scissors are led: they walk to the thread of a source word, and close. */
export interface Scissors {
  walk(place: number): Promise<void>;
  close(): void;
  leave(): void;
}

/** The word of the sentence whose cut is worth a look: the one that others can stand in place of. */
const findPlace = (answer: Answer): number => findSwap(screen.model, listWords(answer, "source"))?.place ?? -1;

/**
 * Show one cut: with motion, or, for people who want none, as a pair of translations. Null where there is
 * nothing to show, or `signal` ends it; what was cut is mended then.
 */
export async function showCut(scissors: Scissors, isStill: boolean, signal: AbortSignal): Promise<Shown | null> {
  const base = screen.before;
  const place = base?.id ? findPlace(base) : -1;
  if (!base || place < 0 || here.edits) return null;
  const cut = await screen.peek(base, makeCuts(base, place)); // so that the translation is there when the scissors close
  const shown = cut && { text: base.text, word: listWords(base, "source")[place]!, changes: listPairs(base, cut) };
  if (!shown?.changes.length || signal.aborted) return null;
  if (isStill) return shown;
  try {
    await wait(TIMES.before, signal);
    await scissors.walk(place);
    signal.throwIfAborted();
    scissors.close();
    await screen.toggle(place);
    await wait(TIMES.cut, signal);
    return shown;
  } catch {
    return null;
  } finally {
    scissors.leave();
    if (screen.last === place) await screen.mendAll();
    screen.hasCut = false; // by nobody's hand
  }
}

function listPairs(base: Answer, cut: Answer): [string, string][] {
  const [before, now] = [base, cut].map((answer) => listWords(answer, "target"));
  return listChanges(compareWords(before!, now!), now!);
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
