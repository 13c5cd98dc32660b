/** What stands beside the cells of an axis. */

import type { Trace } from "../data/trace";

/** Tokens where an axis counts them; else nothing, and the place is told on hovering. */
export function axisLabels(trace: Trace, name: string, axis: number): string[] {
  const dim = trace.op(name).axes[axis]?.dim ?? "";
  const side = trace.side(name, dim);
  return side ? trace[side].map((token) => token.text) : [];
}

/** Places from 0, as they are chosen of: heads, layers. */
export const countTo = (many: number): number[] => Array.from({ length: many }, (_, n) => n);

/** A row of the decoder: what it was given, and what it predicts. */
export function rowsOf(trace: Trace): string[] {
  return trace.target.map((token, row) => `${token.text} → ${trace.predicted[row]!.text}`);
}

/** The rows of a tensor: tokens; those of the decoder with what each predicts, but where they are read. */
export function rowLabelsOf(trace: Trace, name: string, axis: number): string[] {
  const dim = trace.op(name).axes[axis]?.dim ?? "";
  const isReader = trace.side(name, dim) === "target" && !/\.(key|value)$/.test(name);
  return isReader ? rowsOf(trace) : axisLabels(trace, name, axis);
}
