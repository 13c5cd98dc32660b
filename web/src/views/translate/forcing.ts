/** Another word in the place of the one that was chosen: the translation goes on from there. */

import type { Trace } from "../../data/trace";
import { session } from "../../session.svelte";
import { here } from "../../state.svelte";

export const canForce = (): boolean => session.embedded === null;

/** Keep what was written before a step, then this piece, then as the model has it. */
export function force(trace: Trace, step: number, id: number): void {
  const before = trace.predicted.slice(0, step).map((piece) => piece.id);
  forceAll([...before, id], step);
}

export function forceAll(ids: readonly number[], step: number): void {
  // Those are pieces of the model that wrote what is on screen, and of its sentence.
  const { trace } = session;
  if (trace) here.text = trace.document.text;
  if (trace?.model && trace.model !== session.model?.id) here.model = trace.model;
  here.prefix = ids.join(",");
  void session.record();
  here.step = step;
}
