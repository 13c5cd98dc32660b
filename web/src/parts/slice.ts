/** Two axes of a tensor, the others held at a place. */

import { strides, type Tensor } from "../data/tensor";
import type { Index } from "../cell/operands";

/** A place for each axis; null for the two (or the one) that are shown. */
export type Fixed = readonly (number | null)[];

export interface Matrix {
  rows: number;
  columns: number;
  data: Float32Array;
  largest: number; // farthest from 0 of the finite ones
}

export function openAxes(fixed: Fixed): number[] {
  return fixed.flatMap((place, axis) => (place === null ? [axis] : []));
}

/** An axis that is alone is the columns, of one row. */
export function cut(tensor: Tensor, fixed: Fixed, map = (value: number) => value): Matrix {
  const steps = strides(tensor.shape);
  const open = openAxes(fixed);
  const columnAxis = open.at(-1) ?? -1;
  const rowAxis = open.length > 1 ? open[0]! : -1;
  const rows = tensor.shape[rowAxis] ?? 1;
  const columns = tensor.shape[columnAxis] ?? 1;
  const start = fixed.reduce<number>((sum, place, axis) => sum + (place ?? 0) * steps[axis]!, 0);
  const data = new Float32Array(rows * columns);
  let largest = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const from = start + row * (steps[rowAxis] ?? 0) + column * (steps[columnAxis] ?? 0);
      const value = map(tensor.data[from]!);
      data[row * columns + column] = value;
      if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
    }
  }
  return { rows, columns, data, largest };
}

export function toIndex(fixed: Fixed, row: number, column: number): number[] {
  const open = openAxes(fixed);
  return fixed.map((place, axis) => {
    if (place !== null) return place;
    return axis === open.at(-1) ? column : row;
  });
}

/** Row and column of a cell; null if it lies in another part of the tensor. */
export function toPlace(fixed: Fixed, index: Index): [number, number] | null {
  const open = openAxes(fixed);
  if (index.length !== fixed.length) return null;
  if (fixed.some((place, axis) => place !== null && place !== index[axis])) return null;
  return [open.length > 1 ? index[open[0]!]! : 0, open.length ? index[open.at(-1)!]! : 0];
}
