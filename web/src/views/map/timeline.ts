/** The order of computing: the encoder once, then the decoder, once for each step. */

import type { Op } from "../../data/document";
import type { Side } from "../../data/trace";
import { chainOf, isOnTheWay } from "./tree";

export interface Moment {
  step: number; // -1: before the decoder's first step
  op: string;
}

type SideOf = (name: string, dim: string) => Side | null;

export class Timeline {
  private readonly once: string[];
  private readonly each: string[];
  readonly length: number;

  constructor(
    ops: Iterable<Op>,
    sideOf: SideOf,
    readonly steps: number,
  ) {
    const all = [...ops].filter(isOnTheWay);
    const grows = (op: Op) => op.axes.some((axis) => sideOf(op.name, axis.dim) === "target");
    this.once = all.filter((op) => !grows(op)).map((op) => op.name);
    this.each = all.filter(grows).map((op) => op.name);
    this.length = this.once.length + this.each.length * steps;
  }

  at(place: number): Moment {
    const n = Math.max(0, Math.min(this.length - 1, place));
    if (n < this.once.length) return { step: -1, op: this.once[n]! };
    const later = n - this.once.length;
    return { step: Math.floor(later / this.each.length), op: this.each[later % this.each.length]! };
  }

  /** The place of a moment; an op that is computed once has one place, whatever the step. */
  find({ step, op }: Moment): number {
    const once = this.once.indexOf(op);
    if (once >= 0) return once;
    const place = Math.max(0, this.each.indexOf(op));
    return this.once.length + Math.max(0, Math.min(step, this.steps - 1)) * this.each.length + place;
  }

  /** Where a step begins; -1: the encoder. */
  begin(step: number): number {
    return step < 0 ? 0 : this.once.length + Math.min(step, this.steps - 1) * this.each.length;
  }

  /** The next place, or the one before, whose box in a scene so deep is another. */
  move(place: number, by: 1 | -1, depth: number): number {
    const start = this.unit(place, depth);
    let next = place;
    while (next + by >= 0 && next + by < this.length && this.unit(next, depth) === start) next += by;
    if (by > 0) return next;
    const unit = this.unit(next, depth); // backwards: to where that box begins
    while (next > 0 && this.unit(next - 1, depth) === unit) next--;
    return next;
  }

  private unit(place: number, depth: number): string {
    const { step, op } = this.at(place);
    const chain = chainOf(op);
    return `${step} ${chain[Math.min(depth + 1, chain.length - 1)]}`;
  }
}

/** The same op one layer up or down, if there is one. */
export function shiftLayer(op: string, by: 1 | -1, has: (name: string) => boolean): string {
  const moved = op.replace(/^(encoder|decoder)\.(\d+)/, (_, side: string, layer: string) => `${side}.${Number(layer) + by}`);
  return has(moved) ? moved : op;
}
