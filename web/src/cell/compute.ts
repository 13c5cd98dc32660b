/** All cells of a derived tensor, by the equation that explains one of them. */

import type { Op } from "../data/document";
import { evaluate } from "../data/evaluate";
import { parse, tensorsOf } from "../data/expression";
import type { Tensor } from "../data/tensor";
import type { Trace } from "../data/trace";

/** Beyond so many multiplications a page would stand still. */
const MOST = 40_000_000;

export async function compute(trace: Trace, op: Op): Promise<Tensor> {
  const size = Object.values(op.sizes).reduce((product, each) => product * each, 1);
  if (size > MOST) throw new Error(`${op.name} is too large to be computed here`);
  const names = tensorsOf(parse(op.equation!));
  const found = await Promise.all(names.map((name) => trace.tensor(name)));
  const held = new Map(names.map((name, n) => [name, found[n]!]));
  return evaluate(op, (name) => held.get(name)!);
}
