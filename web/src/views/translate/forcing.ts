/** Another way to translate what is on screen: with another word in it, or another that ended. */

import type { Search } from "../../data/document";
import type { Trace } from "../../data/trace";
import { session } from "../../session.svelte";
import { here } from "../../state.svelte";

const EOS = 2;

export const canAsk = (): boolean => session.embedded === null;
/** Nothing follows the end. */
export const canForce = (id: number): boolean => canAsk() && id !== EOS;

/** Keep what was written before a step, then these tokens, then as the model has it. */
export function force(trace: Trace, step: number, ...ids: number[]): void {
  const before = trace.predicted.slice(0, step).map((token) => token.id);
  forceAll(trace, [...before, ...ids], step + ids.length - 1);
}

export function forceAll(trace: Trace, ids: readonly number[], step: number): void {
  ask(trace, { prefix: ids.join(",") });
  here.step = step;
}

/** Look into another translation that the search found, in every view. */
export function show(trace: Trace, search: Search, place: number): void {
  const forced = search.hypotheses[place]!.ids.slice(0, search.prefix);
  ask(trace, { prefix: forced.join(","), hypothesis: place ? String(place) : "" });
}

/** Tokens are those of the model that wrote what is on screen, and of its sentence. */
function ask(trace: Trace, way: { prefix?: string; hypothesis?: string }): void {
  here.text = trace.wholeText;
  if (trace.model && trace.model !== session.model?.id) here.model = trace.model;
  void session.record({ ...way, sentence: trace.sentence, edits: here.edits });
}
