/** Where the cells of a heat map lie. */

import { countLetters } from "../format";

export interface Grid {
  rows: number;
  columns: number; // of the tensor
  shown: number; // columns on screen: several in one where there is no room
  bin: number;
  width: number; // of a cell on screen
  height: number;
  left: number; // of the cells; labels are beside them
  top: number;
}

const LETTER = 7.3; // width of a letter of the labels
const LONGEST = 22; // letters

export interface Room {
  width: number; // of all
  most: number; // of a cell
  rowLabels: readonly string[];
  columnLabels: readonly string[];
  right: number; // beside the cells
}

export const clip = (label: string): string => (label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label);

/** Wide letters, as Chinese ones, take the room of two. */
function longest(labels: readonly string[]): number {
  const width = (text: string) => countLetters(clip(text), 2);
  return labels.reduce((most, label) => Math.max(most, width(label)), 0);
}

export function lay(rows: number, columns: number, room: Room): Grid {
  const left = room.rowLabels.length ? Math.ceil(longest(room.rowLabels) * LETTER) + 10 : 0;
  const free = Math.max(24, room.width - left - room.right);
  const bin = Math.max(1, Math.ceil(columns / free));
  const shown = Math.ceil(columns / bin);
  const width = Math.max(1, Math.min(room.most, Math.floor(free / shown)));
  const least = Math.min(room.most, Math.max(2, Math.min(16, Math.floor(420 / rows))));
  const height = Math.max(least, Math.min(width, room.most));
  const labelled = room.columnLabels.length > 0 && width >= 9;
  const top = labelled ? Math.ceil(longest(room.columnLabels) * LETTER * 0.87) + 12 : 0;
  return { rows, columns, shown, bin, width, height, left, top };
}

/** How far right the labels of columns reach: they lean out, by 60 degrees. */
export function reach(grid: Grid, labels: readonly string[]): number {
  const ends = labels.map((label, column) => grid.left + (column + 0.5) * grid.width + longest([label]) * LETTER * 0.5 + 8);
  return Math.ceil(Math.max(0, ...ends));
}

/** In each bin the value that is farthest from 0, and its column. */
export function farthest(row: ArrayLike<number>, start: number, end: number): number {
  let best = start;
  for (let column = start + 1; column < Math.min(end, row.length); column++) {
    if (Math.abs(row[column]!) > Math.abs(row[best]!)) best = column;
  }
  return best;
}

/** One path around all these cells. */
export function outline(grid: Grid, cells: Iterable<readonly [number, number]>): string {
  const { width: w, height: h } = grid;
  let path = "";
  let last = "";
  for (const [row, column] of cells) {
    const at = `M${Math.floor(column / grid.bin) * w + grid.left} ${row * h + grid.top}`;
    if (at !== last) path += `${at}h${w}v${h}h${-w}z`;
    last = at;
  }
  return path;
}
