/** A tensor as a small picture: what stands in one of its cells is the number farthest from 0. */

import type { Tensor } from "../../data/tensor";

export interface Small {
  rows: number;
  columns: number;
  data: Float32Array;
  row: (place: number) => number; // of the tensor's last but one axis, to a row of the picture
}

const [MOST_ROWS, MOST_COLUMNS, GAP] = [48, 96, 1];

/** Heads stand side by side, a column of nothing (NaN) between them. */
export function shrink(tensor: Tensor): Small {
  const [columns = 1, rows = 1] = [...tensor.shape].reverse();
  const panes = tensor.shape.length > 2 ? tensor.shape.slice(0, -2).reduce((a, b) => a * b, 1) : 1;
  const high = Math.min(rows, MOST_ROWS);
  const wide = Math.min(columns, Math.max(1, Math.floor((MOST_COLUMNS - panes + 1) / panes)));
  const total = panes * wide + (panes - 1) * GAP;
  const data = new Float32Array(high * total).fill(Number.NaN);
  const row = (place: number) => Math.floor((place * high) / rows);
  for (let pane = 0; pane < panes; pane++) {
    for (let i = 0; i < rows; i++) {
      const start = (pane * rows + i) * columns;
      const target = row(i) * total + pane * (wide + GAP);
      for (let j = 0; j < columns; j++) {
        const at = target + Math.floor((j * wide) / columns);
        const [value, there] = [tensor.data[start + j]!, data[at]!];
        if (Number.isNaN(there) || Math.abs(value) > Math.abs(there)) data[at] = value;
      }
    }
  }
  return { rows: high, columns: total, data, row };
}

/** The largest size of what is finite; 1 where all is 0. */
export function limitOf(data: Float32Array): number {
  let most = 0;
  for (const value of data) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most || 1;
}
