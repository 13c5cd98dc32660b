/** Where a cell lies, in words: `query 3 ▁it`. */

import type { Trace } from "../data/trace";
import type { Index } from "./operands";

export interface Place {
  dim: string;
  place: number;
  piece: string | null;
}

export function placesOf(trace: Trace, name: string, index: Index): Place[] {
  const { axes, kind } = trace.op(name);
  return index.map((place, n) => {
    const dim = axes[n]?.dim ?? (kind === "parameter" ? ["row", "column"][n]! : `axis ${n}`);
    const side = trace.side(name, dim);
    return { dim, place, piece: side ? trace[side][place]!.text : null };
  });
}
