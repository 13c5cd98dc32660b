/** The terms of an explanation as the rows of a table, each with the sum so far. */

import { sum, type Cell, type Explanation } from "./explain";

export interface Row {
  place: number;
  cells: Cell[]; // what is multiplied
  value: number; // what is added
  total: number; // with all before it
}

/** The largest score of a softmax: what is subtracted from all of them. */
export const topOf = (cells: readonly Cell[]): number =>
  cells.reduce((top, cell) => Math.max(top, cell.value), Number.NEGATIVE_INFINITY);

/** Of a softmax the powers that are summed below the line, its own first. */
export function rowsOf({ op, terms }: Explanation): Row[] {
  const [first] = terms;
  let list = terms.map((term) => ({ cells: term.operands, value: term.value }));
  if (op.kind === "softmax" && first) {
    const top = topOf(first.operands);
    list = first.operands.map((cell) => ({ cells: [cell], value: Math.exp(cell.value - top) }));
  }
  let total = 0;
  return list.map(({ cells, value }, place) => ({ place, cells, value, total: (total += value) }));
}

export const largestFirst = (rows: readonly Row[]): Row[] =>
  [...rows].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));

export const sumOf = (rows: readonly Row[]): number => sum(rows.map((row) => row.value));
