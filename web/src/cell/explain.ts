/** Where one number comes from: `scale` times the sum of the terms, plus `bias`. */

import type { Op, Positions } from "../data/document";
import type { Trace } from "../data/trace";
import { alongOf, locate, type Index } from "./operands";

export interface Cell {
  name: string;
  index: Index;
  value: number;
}

export interface Term {
  value: number;
  operands: Cell[];
}

export interface Explanation {
  name: string;
  index: Index;
  op: Op;
  value: number; // as it was recorded
  terms: Term[];
  scale: number;
  bias: Cell | null;
  added: number; // the bias, or what else is added: epsilon in a variance
  mask: boolean | null; // whether it may be looked at; null: there is no mask here
  recomputed: number; // from the terms
}

export const LEAVES = new Set(["input", "parameter", "position"]);
const LINEAR = new Set(["gather", "add", "copy", "matmul", "dot", "weighted_sum", "concat"]);

export const ACTIVATIONS: Record<string, (x: number) => number> = {
  relu: (x) => Math.max(x, 0),
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu: (x) => (x * (1 + erf(x / Math.SQRT2))) / 2,
};

/** The cells that an op's operands give for one cell, one list an operand. */
async function takeCells(trace: Trace, op: Op, index: Index): Promise<Cell[][]> {
  return Promise.all(
    op.operands.map(async (operand) => {
      const cells = locate(trace, op, operand, index);
      const values = await trace.values(operand.name, cells);
      return cells.map((cell, n) => ({ name: operand.name, index: cell, value: values[n]! }));
    }),
  );
}

/** Rejects, with a sentence, where an operand was not recorded. */
export async function explain(trace: Trace, name: string, index: Index): Promise<Explanation> {
  const op = trace.op(name);
  const [recorded, columns, bias, seen] = await Promise.all([
    op.derived ? null : trace.values(name, [index]).then(([value]) => value!),
    takeCells(trace, op, index),
    op.bias ? takeCells(trace, { ...op, operands: [op.bias] }, index) : null,
    op.mask ? takeCells(trace, { ...op, operands: [op.mask] }, index) : null,
  ]);
  const parts = takeApart(op, index, columns, seen?.[0]?.map((cell) => cell.value !== 0) ?? null);
  const own = bias?.[0]?.[0] ?? null;
  const along = alongOf(op);
  const place = along && op.kind === "softmax" ? index.at(-1)! : 0;
  const mask = seen ? seen[0]![seen[0]!.length > 1 ? place : 0]!.value !== 0 : null;
  const found = { ...parts, added: own?.value ?? parts.added };
  const recomputed = finish(op, found, mask);
  const terms = mask === false ? found.terms.map((term) => ({ ...term, value: 0 })) : found.terms;
  if (LEAVES.has(op.kind) && op.kind !== "position") {
    const value = recorded!;
    const leaf = { terms: [{ value, operands: [] }], value, recomputed: value };
    return { name, index, op, scale: 1, bias: null, added: 0, mask: null, ...leaf };
  }
  return { name, index, op, ...found, terms, bias: own, mask, value: recorded ?? recomputed, recomputed };
}

interface Parts {
  terms: Term[];
  scale: number;
  added: number;
}

function finish(op: Op, { terms, scale, added }: Parts, mask: boolean | null): number {
  if (mask === false) return op.kind === "masked" ? Number.NEGATIVE_INFINITY : 0;
  const total = scale * sum(terms.map((term) => term.value)) + added;
  return op.kind === "deviation" ? Math.sqrt(total) : total;
}

function takeApart(op: Op, index: Index, columns: Cell[][], seen: boolean[] | null): Parts {
  const plain = (terms: Term[]): Parts => ({ terms, scale: 1, added: 0 });
  if (op.kind === "position") return wave(op, index);
  if (LINEAR.has(op.kind)) {
    const { scale } = op;
    if (!op.over) {
      const terms = columns.map(([cell]) => ({ value: cell!.value, operands: [cell!] }));
      return { terms, scale, added: 0 };
    }
    const terms = columns[0]!.map((_, n) => {
      const operands = columns.map((column) => column[column.length > 1 ? n : 0]!);
      return { value: operands.reduce((product, cell) => product * cell.value, 1), operands };
    });
    return { terms, scale, added: 0 };
  }
  const row = columns[0] ?? [];
  const values = row.map((cell) => cell.value);
  const [cell] = row;
  switch (op.kind) {
    case "softmax":
      return soften(row, seen, index.at(-1)!);
    case "layernorm":
      return norm(op, columns);
    case "mean":
      return { terms: row.map((c) => ({ value: c.value, operands: [c] })), scale: 1 / row.length, added: 0 };
    case "deviation": {
      const mean = sum(values) / values.length;
      const terms = row.map((c) => ({ value: (c.value - mean) ** 2, operands: [c] }));
      return { terms, scale: 1 / row.length, added: Number(op.detail) };
    }
    case "argmax": {
      const best = values.indexOf(Math.max(...values));
      return plain([{ value: best, operands: [row[best]!] }]);
    }
    case "mask": {
      const may = cell!.value !== 0 && (!op.detail || index[2]! <= index[1]!);
      return plain([{ value: Number(may), operands: [cell!] }]);
    }
    case "masked":
      return plain([{ value: cell!.value, operands: [cell!] }]);
  }
  const activate = ACTIVATIONS[op.kind];
  if (!activate || !cell) return plain([]);
  return plain([{ value: activate(cell.value), operands: [cell] }]);
}

/** exp of one score over the sum of all that may be looked at: its own first, then the rest. */
function soften(row: Cell[], seen: boolean[] | null, own: number): Parts {
  const open = row.filter((_, place) => seen?.[place] ?? true);
  const top = Math.max(...open.map((cell) => cell.value));
  const others = open.filter((cell) => cell !== row[own]);
  const value = Math.exp(Math.min(row[own]!.value - top, 0));
  const whole = sum(open.map((cell) => Math.exp(cell.value - top)));
  return { terms: [{ value, operands: [row[own]!, ...others] }], scale: 1 / whole, added: 0 };
}

/** (x - mean) * gain, over the deviation. */
function norm(op: Op, columns: Cell[][]): Parts {
  const [row, [own], [gain]] = columns as [Cell[], [Cell], [Cell]];
  const values = row.map((cell) => cell.value);
  const mean = sum(values) / values.length;
  const variance = sum(values.map((value) => (value - mean) ** 2)) / values.length;
  const terms = [
    { value: own.value * gain.value, operands: [own, gain] },
    { value: -mean * gain.value, operands: [...row, gain] },
  ];
  return { terms, scale: 1 / Math.sqrt(variance + Number(op.detail)), added: 0 };
}

/** The sine or cosine of a position (3.5). */
function wave(op: Op, index: Index): Parts {
  const settings = op.detail as Positions;
  const [q, d] = index as [number, number];
  const width = op.axes[1]!.size;
  const { frequency, steps, isSine } = waveOf(settings, width, d);
  const angle = (q + settings.offset) * 10000 ** (-frequency / steps);
  const value = isSine ? Math.sin(angle) : Math.cos(angle);
  return { terms: [{ value, operands: [] }], scale: settings.amplitude, added: 0 };
}

export function waveOf(settings: Positions, width: number, d: number) {
  const half = Math.floor(width / 2);
  const interleaved = settings.layout === "interleaved";
  return {
    frequency: interleaved ? Math.floor(d / 2) : d % half,
    isSine: interleaved ? d % 2 === 0 : d < half,
    steps: settings.grid === "paper" ? width / 2 : Math.max(half - 1, 1),
  };
}

/** Neumaier's: what each addition loses is added at the end. */
export function sum(values: readonly number[]): number {
  let total = 0;
  let lost = 0;
  for (const value of values) {
    const next = total + value;
    lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total;
    total = next;
  }
  return Number.isFinite(lost) ? total + lost : total;
}

/** By its series near 0, and by a continued fraction beyond 3; both to 1e-15. */
export function erf(x: number): number {
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  if (size > 3) {
    let tail = 0;
    for (let n = 60; n > 0; n--) tail = n / 2 / (size + tail);
    return Math.sign(x) * (1 - Math.exp(-size * size) / (Math.sqrt(Math.PI) * (size + tail)));
  }
  let [total, power] = [x, x];
  for (let n = 1; n < 80; n++) {
    power *= (-x * x) / n;
    total += power / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * total;
}
