/** Numbers of a recording, computed again from the cells that their equations name. */

import { explain } from "../cell/explain";
import type { Trace } from "../data/trace";

/** How many were computed again, and by how much the worst differs from what was recorded. */
export interface Checked {
  many: number;
  largest: number; // relative to the number, where that is above 1
  where: string;
}

/** Cells of all tensors in turn, the same of each recording: places spread by the golden ratio. */
export function* pickCells(trace: Trace): Generator<[name: string, index: number[]]> {
  const names = [...trace.ops.values()].filter((op) => op.equation && !op.derived && op.axes.length).map((op) => op.name);
  for (let turn = 1; ; turn++) {
    for (const [n, name] of names.entries()) {
      yield [name, trace.shape(name).map((size, axis) => Math.floor((((turn * 31 + n * 7 + axis * 13) * 0.6180339887) % 1) * size))];
    }
  }
}

/** Compute so many again, telling after each few; stops where `signal` says. */
export async function recompute(trace: Trace, many: number, tell: (checked: Checked) => void, signal: AbortSignal): Promise<void> {
  let found: Checked = { many: 0, largest: 0, where: "" };
  for (const [name, index] of pickCells(trace)) {
    if (signal.aborted || found.many >= many) return;
    const { value, recomputed } = await explain(trace, name, index);
    const isSame = value === recomputed; // infinite, where a mask closes
    const difference = isSame ? 0 : Math.abs(value - recomputed) / Math.max(1, Math.abs(value));
    found = { ...found, many: found.many + 1, ...(difference > found.largest && { largest: difference, where: name }) };
    if (found.many % 25 === 0 || found.many === many) tell(found);
  }
}
