/** Where a cell lies, in words: `query 3 ▁it`. */

import { addHabit } from "../parts/heads";
import { say, type Key } from "../say";
import type { Trace } from "../data/trace";
import type { Index } from "./operands";

export interface Place {
  dim: string;
  place: number;
  said: string; // the name of the axis and the place; of a head its habit, too
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
    const plain = `${nameDim(dim)} ${place}`;
    const said = dim === "head" ? addHabit(trace.document.habits, name, place, plain) : plain;
    return { dim, place, said, token: side ? trace[side][place]!.text : null };
  });
}
