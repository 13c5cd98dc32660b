/** All cells of a derived tensor, by the rule that explains one of them. */

import type { Op } from "../data/document";
import { zeros, type Tensor } from "../data/tensor";
import type { Trace } from "../data/trace";
import { explain } from "./explain";
import { alongOf } from "./operands";

/** Beyond so many multiplications a page would stand still. */
const MOST = 4_000_000;

export async function compute(trace: Trace, op: Op): Promise<Tensor> {
  const found = zeros(...op.axes.map((axis) => axis.size));
  if (found.data.length * (alongOf(op)?.size ?? 1) > MOST) {
    throw new Error(`${op.name} is too large to be computed here`);
  }
  const names = [...op.operands, op.bias, op.mask].flatMap((each) => (each ? [each.name] : []));
  await Promise.all(names.map((name) => trace.tensor(name)));
  const index = found.shape.map(() => 0);
  for (let place = 0; place < found.data.length; place++) {
    found.data[place] = (await explain(trace, op.name, [...index])).recomputed;
    for (let axis = index.length - 1; axis >= 0 && ++index[axis]! === found.shape[axis]; axis--) {
      index[axis] = 0;
    }
  }
  return found;
}
