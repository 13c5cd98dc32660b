/**
 * What is found out about one token of a translation by asking again and again; any engine can be
 * asked. Of a recording under edits it is the unedited translation.
 */

import type { Request } from "../data/server";
import type { Trace } from "../data/trace";
import { groupWords, spell } from "../data/words";
import type { Edit } from "../views/whatif/edits";
import type { Engine, Outcome } from "./engine";

/** A word of the source, and what becomes of a token without it. */
export interface Share {
  word: string;
  tokens: number[]; // which of the source
  before: number; // the probability of the token
  after: number; // without the word
  translation: string; // which the model then writes
}

/** Words that can be cut or left out: all but the end mark and what has no letter. */
export function* wordsOf({ source, document }: Trace): Generator<{ word: string; tokens: number[]; occurrence: number }> {
  const seen = new Map<string, number>();
  for (const tokens of groupWords(source, document.text)) {
    const word = spell(source, tokens).trim();
    if (!/[\p{L}\p{N}]/u.test(word) || source[tokens[0]!]!.start === source[tokens.at(-1)!]!.end) continue;
    const occurrence = seen.get(word) ?? 0;
    seen.set(word, occurrence + 1);
    yield { word, tokens, occurrence };
  }
}

/** The decoder may not read one word, each in turn: which one does a token hang on? */
export const cutEach = (engine: Engine, trace: Trace, step: number, signal?: AbortSignal): AsyncGenerator<Share> =>
  tryEach(engine, trace, step, ({ word, occurrence }) => ({ do: "cut", word, occurrence }), signal);

/**
 * One word is left out of the sentence, each in turn, and the old translation is scored again. A word
 * that stands there twice is left out twice.
 */
export const leaveOutEach = (engine: Engine, trace: Trace, step: number, signal?: AbortSignal): AsyncGenerator<Share> =>
  tryEach(engine, trace, step, ({ word, occurrence }) => (occurrence ? null : { do: "word", word, by: "" }), signal);

async function* tryEach(
  engine: Engine, trace: Trace, step: number,
  make: (each: { word: string; occurrence: number }) => Edit | null, signal?: AbortSignal,
): AsyncGenerator<Share> {
  for (const each of wordsOf(trace)) {
    const edit = make(each);
    if (!edit) continue;
    const found = await attempt(() => engine.edit(trace, [edit], signal));
    signal?.throwIfAborted();
    if (!found) continue;
    const { word, tokens } = each;
    const { before, after } = found.changes.tokens[step]!;
    yield { word, tokens, before, after, translation: found.changes.after };
  }
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

/** Translations drawn one after another, each with the next seed, and how often each came. */
export async function* sample(engine: Engine, request: Request, count: number, signal?: AbortSignal): AsyncGenerator<Map<string, number>> {
  const found = new Map<string, number>();
  const decode = { ...request.decode, search: "sample" as const };
  for (let n = 0; n < count; n++) {
    const { translation } = await engine.translate({ ...request, decode, seed: (request.seed ?? 0) + n }, signal);
    found.set(translation, (found.get(translation) ?? 0) + 1);
    yield new Map([...found].sort(([, a], [, b]) => b - a));
  }
}
