/** Which cells a cell is made of, as its equation says: what lights up under the mouse. */

import { CALLS, OPERATIONS, parse, type Cells, type Expression } from "../data/expression";
import type { Op } from "../data/document";
import type { Side, Trace } from "../data/trace";

export type Index = readonly number[];
export type Values = Record<string, number>; // of letters

export interface Lit {
  name: string;
  role: "operand" | "mask";
  cells: Index[];
}

/** What the letters of a tensor stand for at one of its cells. */
export const valuesAt = (op: Op, index: Index): Values =>
  Object.fromEntries(op.axes.map((axis, place) => [axis.letter, index[place]!]));

/** A place in a tensor: whole numbers, letters, functions of these, and the ids of tokens. */
function placeOf(trace: Trace, part: Expression, at: Values): number {
  switch (part.is) {
    case "number":
      return part.value;
    case "letter":
      return at[part.name]!;
    case "operation":
      return OPERATIONS[part.sign]!(placeOf(trace, part.left, at), placeOf(trace, part.right, at));
    case "call":
      return CALLS[part.name]!(...part.given.map((each) => placeOf(trace, each, at)));
    case "cells": {
      const side = part.name.split(".")[0] as Side;
      return trace.ids(side)(placeOf(trace, part.index[0]!, at));
    }
    default:
      throw new Error("no index");
  }
}

export const locate = (trace: Trace, cells: Cells, at: Values): number[] =>
  cells.index.map((part) => placeOf(trace, part, at));

/** All cells that an expression reads where its letters have these values, in its order. */
export function* cellsOf(trace: Trace, op: Op, part: Expression, at: Values): Generator<[string, number[]]> {
  if (part.is === "cells") yield [part.name, locate(trace, part, at)];
  else if (part.is === "reduction") {
    for (let n = 0; n < op.sizes[part.letter]!; n++) {
      yield* cellsOf(trace, op, part.body, { ...at, [part.letter]: n });
    }
  } else if (part.is === "operation") {
    yield* cellsOf(trace, op, part.left, at);
    yield* cellsOf(trace, op, part.right, at);
  } else if (part.is === "call") {
    for (const each of part.given) yield* cellsOf(trace, op, each, at);
  }
}

/** All that a cell is made of, tensor by tensor. */
export function operandsOf(trace: Trace, name: string, index: Index): Lit[] {
  const op = trace.op(name);
  if (!op.equation) return [];
  const found = new Map<string, Map<string, Index>>();
  for (const [tensor, cell] of cellsOf(trace, op, parse(op.equation), valuesAt(op, index))) {
    if (!found.has(tensor)) found.set(tensor, new Map());
    found.get(tensor)!.set(cell.join(), cell);
  }
  return [...found].map(([tensor, cells]) => ({
    name: tensor, role: /(^|\.)mask$/.test(tensor) ? "mask" : "operand", cells: [...cells.values()],
  }));
}
