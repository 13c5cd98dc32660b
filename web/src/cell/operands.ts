/** Which cells a cell is made of, as the op-graph says: what lights up under the mouse. */

import type { Axis, Op, Operand } from "../data/document";
import { evaluate, letters } from "../data/expression";
import type { Side, Trace } from "../data/trace";

export type Index = readonly number[];

export interface Lit {
  name: string;
  role: "operand" | "bias" | "mask";
  cells: Index[];
}

/** The axis that an op looks along to make one cell. */
export function alongOf(op: Op): Axis | null {
  return op.over ?? (op.kind === "softmax" ? op.axes.at(-1)! : null);
}

/** The cells of an operand for one cell of an op: several where it is looked along. */
export function locate(trace: Trace, op: Op, operand: Operand, index: Index): Index[] {
  const at = new Map(op.axes.map((axis, place) => [axis.letter, index[place]!]));
  const along = alongOf(op);
  const side = String(op.detail).startsWith("target") ? "target" : "source";
  const ids = trace.ids(side as Side);
  const scope = (letter: string) => {
    const found = at.get(letter);
    if (found === undefined) throw new Error(`${op.name}: no ${letter}`);
    return found;
  };
  const take = () => operand.index.map((text) => evaluate(text, scope, ids));
  if (!along || !letters(operand.index).has(along.letter)) return [take()];
  return Array.from({ length: along.size }, (_, place) => {
    at.set(along.letter, place);
    return take();
  });
}

/** All that a cell is made of, in the order of its formula. */
export function operandsOf(trace: Trace, name: string, index: Index): Lit[] {
  const op = trace.op(name);
  const list: [Lit["role"], Operand | null][] = [
    ...op.operands.map((operand): [Lit["role"], Operand] => ["operand", operand]),
    ["bias", op.bias],
    ["mask", op.mask],
  ];
  return list.flatMap(([role, operand]) =>
    operand ? [{ name: operand.name, role, cells: locate(trace, op, operand, index) }] : [],
  );
}
