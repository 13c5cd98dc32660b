/** Where a cell lies, in words: `query 3 ▁it`. */

import { say, type Key } from "../say";
import type { Trace } from "../data/trace";
import type { Index } from "./operands";

export interface Place {
  dim: string;
  place: number;
  token: string | null;
}

/** What an axis counts, in the reader's language. */
export function nameDim(dim: string): string {
  const key = `dim.${dim}`;
  const name = say(key as Key);
  return name === key ? dim : name;
}

export function placesOf(trace: Trace, name: string, index: Index): Place[] {
  const { axes, kind } = trace.op(name);
  return index.map((place, n) => {
    const dim = axes[n]?.dim ?? (kind === "parameter" ? ["row", "column"][n]! : `axis ${n}`);
    const side = trace.side(name, dim);
    return { dim, place, token: side ? trace[side][place]!.text : null };
  });
}
