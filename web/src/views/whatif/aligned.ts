/** Two recordings beside each other, token by token. */

import type { Trace } from "../../data/trace";
import { strides, type Tensor } from "../../data/tensor";
import { pairCommon, type Pairs } from "../../data/words";
import type { Matrix } from "../../parts/slice";

/** The longest common run of texts; between two of its tokens, as many as face each other. */
export function align(a: readonly string[], b: readonly string[]): Pairs {
  const found: Pairs = [];
  let [i, j] = [0, 0];
  for (const [p, q] of [...pairCommon(a, b), [a.length, b.length] as const]) {
    if (p - i === q - j) for (let n = 0; n < p - i; n++) found.push([i + n, j + n]);
    if (p < a.length) found.push([p, q]);
    [i, j] = [p + 1, q + 1];
  }
  return found;
}

/** How many words of a text are left in another, in their order. */
export function countKept(before: string, after: string): { kept: number; all: number } {
  const split = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const [a, b] = [split(before), split(after)];
  const kept = align(a, b).filter(([i, j]) => a[i] === b[j]).length;
  return { kept, all: a.length };
}

export interface Difference {
  matrix: Matrix;
  rows: Pairs;
  columns: Pairs;
  first: (row: number, column: number) => number; // what it was
  second: (row: number, column: number) => number;
}

/** For each axis of a tensor, which place of one recording faces which of the other. */
export function pairAxes(a: Trace, b: Trace, name: string): Pairs[] | null {
  const [one, other] = [a.op(name).axes, b.ops.get(name)?.axes];
  if (!other || one.length !== other.length) return null;
  const found = one.map((axis, n): Pairs | null => {
    const side = a.side(name, axis.dim);
    if (side && axis.size > 1) {
      return align(
        a[side].map((token) => token.text),
        b[side].map((token) => token.text),
      );
    }
    if (axis.size !== other[n]!.size) return null;
    return Array.from({ length: axis.size }, (_, place) => [place, place]);
  });
  return found.every((pairs) => pairs !== null) ? found : null;
}

/** Second minus first, over the last two axes, at one place of those before. */
export function subtract(one: Tensor, other: Tensor, pairs: readonly Pairs[], first: readonly number[]): Difference {
  const [rows, columns] = pairs.length > 1 ? (pairs.slice(-2) as [Pairs, Pairs]) : [[[0, 0]] as Pairs, pairs[0]!];
  const read = (tensor: Tensor, which: 0 | 1) => {
    const steps = strides(tensor.shape);
    const start = first.reduce((sum, place, axis) => sum + place * steps[axis]!, 0);
    const [down = 0, across = 0] = pairs.length > 1 ? steps.slice(-2) : [0, steps[0]!];
    return (row: number, column: number) => tensor.data[start + rows[row]![which] * down + columns[column]![which] * across]!;
  };
  const [was, is] = [read(one, 0), read(other, 1)];
  const data = new Float32Array(rows.length * columns.length);
  let largest = 0;
  for (let row = 0; row < rows.length; row++) {
    for (let column = 0; column < columns.length; column++) {
      const [before, after] = [was(row, column), is(row, column)];
      const apart = before === after ? 0 : after - before; // of two -∞ too
      data[row * columns.length + column] = apart;
      if (Number.isFinite(apart)) largest = Math.max(largest, Math.abs(apart));
    }
  }
  return { matrix: { rows: rows.length, columns: columns.length, data, largest }, rows, columns, first: was, second: is };
}

/** Between two rows, in degrees. */
export function angle(one: Tensor, i: number, other: Tensor, j: number): number {
  const width = one.shape.at(-1)!;
  let [product, a, b] = [0, 0, 0];
  for (let n = 0; n < width; n++) {
    const [x, y] = [one.data[i * width + n]!, other.data[j * width + n]!];
    product += x * y;
    a += x * x;
    b += y * y;
  }
  const cosine = a * b > 0 ? product / Math.sqrt(a * b) : 1;
  return (Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI;
}
