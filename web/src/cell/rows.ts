/** The terms of an explanation as the rows of a table, each with the sum so far. */

import { sum } from "../data/expression";
import type { Cell, Explanation, Term } from "./explain";

export interface Row {
  place: number;
  cells: Cell[]; // what is multiplied
  value: number; // what is added
  total: number; // with all before it
}

/** What is added up: below the fraction's bar where a sum stands there, as in a softmax. */
export function rowsOf({ terms, divisor }: Explanation): Row[] {
  const list: Term[] = divisor.length ? divisor : terms;
  let total = 0;
  return list.map(({ operands, value }, place) => ({ place, cells: operands, value, total: (total += value) }));
}

export const largestFirst = (rows: readonly Row[]): Row[] =>
  [...rows].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));

export const sumOf = (rows: readonly Row[]): number => sum(rows.map((row) => row.value));
