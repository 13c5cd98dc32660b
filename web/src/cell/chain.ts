/** From a number down the largest term of each to a row of the embedding table or a position. */

import type { Trace } from "../data/trace";
import { explain, type Explanation } from "./explain";

const LONGEST = 400; // steps; the longest model is far below

/** Of the operands of a term, one that the sentence decides goes before a learned weight. */
export async function followDown(trace: Trace, start: Explanation): Promise<Explanation[]> {
  const steps = [start];
  while (steps.length < LONGEST) {
    const { terms } = steps.at(-1)!;
    const largest = terms.reduce((best, term) =>
      Math.abs(term.value) > Math.abs(best.value) ? term : best,
    );
    const living = largest.operands.find((cell) => trace.op(cell.name).kind !== "parameter");
    const next = living ?? largest.operands[0];
    if (!next) break;
    steps.push(await explain(trace, next.name, next.index));
  }
  return steps;
}
