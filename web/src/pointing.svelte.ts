/** The cell under the mouse or the keyboard's cursor, and everything that it was made of. */

import type { Trace } from "./data/trace";
import { operandsOf, type Index, type Lit } from "./cell/operands";
import { here } from "./state.svelte";

export interface Pointed {
  trace: Trace;
  name: string;
  index: Index;
  value: number;
  x: number; // on the screen
  y: number;
}

class Pointing {
  at: Pointed | null = $state.raw(null);
  lit: Lit[] = $derived(this.at ? operandsOf(this.at.trace, this.at.name, this.at.index) : []);
}

export const pointing = new Pointing();

/** How a cell is written in an address: `memory[3,0]`. */
export const writeCell = (name: string, index: Index): string => `${name}[${index.join(",")}]`;

export function readCell(trace: Trace, text: string): { name: string; index: number[] } | null {
  const [, name = "", list = ""] = /^([\w.-]+)\[([\d,]*)\]$/.exec(text) ?? [];
  const index = list ? list.split(",").map(Number) : [];
  const op = trace.ops.get(name);
  if (!op) return null;
  const { axes } = op;
  const fits = axes.length
    ? axes.length === index.length && axes.every((axis, n) => index[n]! < axis.size)
    : index.length > 0;
  return fits ? { name, index } : null;
}

/** Ask why: the drawer opens. */
export function explainCell(name: string, index: Index): void {
  here.cell = writeCell(name, index);
}
