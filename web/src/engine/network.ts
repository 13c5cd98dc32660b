/**
 * A network that runs on its own equations: the op-graph of a model, evaluated by whole arrays. The
 * source is read once; then rows of a search grow by a token at a time, each with a KV cache, which
 * is what the equations read of earlier positions. Tensors that read each other, as a recurrent unit's
 * do, are computed position by position.
 */

import type { Op } from "../data/document";
import { evaluateInto, type Held } from "../data/evaluate";
import { parse, tensorsOf, walk } from "../data/expression";
import { strides, type Tensor } from "../data/tensor";

/** Sizes in the op-graph of a model, which knows no sentence yet. */
const [SOURCE, TARGET] = [-1, -2];

/** A change of one tensor in place; `from` is the position of its first row. */
export type Edit = (held: Held, from: number, fetch: (name: string) => Held) => void;

/** Changes by the names of the tensors; not `isCacheable`: a row depends on more than those before. */
export interface Edits {
  edits: ReadonlyMap<string, readonly Edit[]>;
  isCacheable: boolean;
}

export const NO_EDITS: Edits = { edits: new Map(), isCacheable: true };

interface Plan {
  op: Op;
  own: number; // the axis along which its rows are written, -1 if none
  isKept: boolean; // read at positions before the newest
}

export interface State {
  tensors: Map<string, Held>;
  tokens: number[][]; // of each row
  readonly source: number;
  readonly edits: Edits;
}

export class Network {
  readonly plans: Plan[];
  private readonly groups: Plan[][]; // of one, or of those that read each other
  private readonly byName: Map<string, Op>;

  constructor(
    readonly ops: readonly Op[],
    readonly weights: ReadonlyMap<string, Tensor>,
  ) {
    this.byName = new Map(ops.map((op) => [op.name, op]));
    const needed = this.closure("logits");
    const plans = ops.filter((op) => op.equation && needed.has(op.name));
    const kept = new Set(plans.flatMap((op) => [...this.readBefore(op)]));
    this.plans = plans.map((op) => ({ op, own: ownAxis(op), isKept: kept.has(op.name) }));
    this.groups = groupPlans(this.plans);
    for (const group of this.groups) if (group.length > 1) for (const plan of group) plan.isKept = true;
  }

  get vocabulary(): number {
    return this.weights.get("output_table.weight")!.shape[0]!;
  }

  /** Read a source, the end mark included. */
  start(ids: readonly number[], edits = NO_EDITS, reuse?: State): State {
    const tensors = new Map<string, Held>([["source.ids", { shape: [ids.length], data: Float32Array.from(ids) }]]);
    const state = { tensors, tokens: [[]], source: ids.length, edits };
    const affected = new Set<string>();
    for (const plan of this.plans) {
      if (plan.own < 0) this.compute(plan, state, 0, 0, reuse, affected);
    }
    return state;
  }

  /** Append the same number of tokens to each row; the logits after each, rows × tokens × vocabulary. */
  step(tokens: readonly (readonly number[])[], state: State, reuse?: State): Float32Array {
    const before = state.tokens[0]!.length;
    state.tokens = state.tokens.map((row, n) => [...row, ...tokens[n]!]);
    const to = state.tokens[0]!.length;
    const from = state.edits.isCacheable ? before : 0;
    state.tensors.set("target.ids", {
      shape: [to], data: Float32Array.from(state.tokens.flat()), rows: to,
    });
    const affected = new Set<string>(reuse ? this.findAffected(state.edits) : []);
    for (const group of this.groups) {
      if (group.length > 1) this.recur(group, state, from, to, reuse, affected);
      else if (group[0]!.own >= 0) this.compute(group[0]!, state, from, to, reuse, affected);
    }
    const { data } = state.tensors.get("logits")!;
    if (from === before) return data;
    const [size, rows] = [this.vocabulary, state.tokens.length];
    const found = new Float32Array(rows * (to - before) * size);
    for (let row = 0; row < rows; row++) {
      found.set(data.subarray((row * to + before) * size, (row + 1) * to * size), row * (to - before) * size);
    }
    return found;
  }

  /** Row i goes on from row rows[i]. */
  keep(rows: readonly number[], state: State): void {
    const isSame = rows.length === state.tokens.length && rows.every((row, n) => row === n);
    if (isSame) return;
    state.tokens = rows.map((row) => state.tokens[row]!);
    for (const { op, isKept } of this.plans) {
      const held = isKept ? state.tensors.get(op.name) : undefined;
      if (held?.rows === undefined) continue;
      const data = new Float32Array(rows.length * held.rows);
      rows.forEach((row, n) => data.set(held.data.subarray(row * held.rows!, (row + 1) * held.rows!), n * held.rows!));
      state.tensors.set(op.name, { ...held, data });
    }
  }

  /** Everything that the network computes of a source and its translation, the begin mark first. */
  pass(source: readonly number[], given: readonly number[], edits = NO_EDITS, reuse?: State): State {
    const state = this.start(source, edits, reuse);
    this.step([given], state, reuse);
    return state;
  }

  /**
   * One row of a tensor, computed anew, with what it is derived from. `instead`: tensors that are
   * read in the place of others.
   */
  row(name: string, at: number, state: State, instead: ReadonlyMap<string, string> = new Map()): Held {
    const op = this.byName.get(name)!;
    const isNew = (each: string) =>
      this.byName.get(each)?.kind === "derived" || [...this.closure(each)].some((below) => instead.has(below));
    const held = new Map<string, Held>();
    for (const each of tensorsOf(parse(op.equation!))) {
      const other = instead.get(each);
      held.set(each, !other && isNew(each) ? this.row(each, at, state, instead) : this.fetch(other ?? each, state));
    }
    const own = ownAxis(op);
    const { source, tokens: [target] } = state;
    const bound = bind(op, source, target!.length);
    const shape = bound.axes.map(({ size }, axis) => (axis === own ? 1 : size));
    const found = fresh(undefined, shape, own, at, 1);
    evaluateInto(found, bound, (each) => held.get(each)!);
    return found;
  }

  /** What the last norm reads: the output of the last layer. */
  get top(): string {
    return tensorsOf(parse(this.byName.get("last")!.equation!)).find((name) => this.byName.get(name)!.kind === "window")!;
  }

  private compute({ op, own, isKept }: Plan, state: State, from: number, to: number, reuse: State | undefined, affected: Set<string>): void {
    const edits = state.edits.edits.get(op.name);
    if (reuse) {
      if (!edits && !tensorsOf(parse(op.equation!)).some((name) => affected.has(name))) {
        return void state.tensors.set(op.name, reuse.tensors.get(op.name)!);
      }
      affected.add(op.name);
    }
    const length = (size: number) => (size === SOURCE ? state.source : size === TARGET ? to : size);
    const shape = op.axes.map((axis, n) => (n === own ? to - from : length(axis.size)));
    const sizes: Record<string, number> = {};
    for (const letter in op.sizes) sizes[letter] = length(op.sizes[letter]!);
    const rows = own < 0 ? 1 : state.tokens.length;
    const held = isKept ? reach(state.tensors.get(op.name), shape, own, from, rows) : fresh(state.tensors.get(op.name), shape, own, from, rows);
    const fetch = (name: string) => this.fetch(name, state);
    evaluateInto(held, { ...op, sizes }, fetch, rows);
    for (const edit of edits ?? []) edit(held, from, fetch);
    state.tensors.set(op.name, isKept ? whole(held, own, from) : held);
  }

  /** Compute tensors that read each other, one position after the other; before the first they are zero. */
  private recur(group: readonly Plan[], state: State, from: number, to: number, reuse: State | undefined, affected: Set<string>): void {
    const isAffected = ({ op }: Plan) =>
      state.edits.edits.has(op.name) || tensorsOf(parse(op.equation!)).some((name) => affected.has(name));
    if (reuse && !group.some(isAffected)) {
      for (const { op } of group) state.tensors.set(op.name, reuse.tensors.get(op.name)!);
      return;
    }
    if (reuse) for (const { op } of group) affected.add(op.name);
    for (const { op, own } of from ? [] : group) {
      const shape = op.axes.map(({ size }, axis) => (axis === own ? 1 : size));
      state.tensors.set(op.name, reach(undefined, shape, own, 0, state.tokens.length));
    }
    for (let place = from; place < to; place++) {
      for (const plan of group) this.compute(plan, state, place, place + 1, undefined, affected);
    }
  }

  private fetch(name: string, state: State): Held {
    const found = state.tensors.get(name) ?? this.weights.get(name);
    if (!found) throw new Error(`the model has no ${name}`);
    return found;
  }

  /** Those that depend on an edited tensor that the source alone decides. */
  private findAffected({ edits }: Edits): string[] {
    const found = new Set<string>();
    for (const { op, own } of this.plans) {
      if (own >= 0) continue;
      if (edits.has(op.name) || tensorsOf(parse(op.equation!)).some((name) => found.has(name))) found.add(op.name);
    }
    return [...found];
  }

  /** A tensor and all that it is made of. */
  private closure(name: string, found = new Set<string>()): Set<string> {
    const op = this.byName.get(name);
    if (!op || found.has(name)) return found;
    found.add(name);
    if (op.equation) for (const each of tensorsOf(parse(op.equation))) this.closure(each, found);
    return found;
  }

  /** What an equation reads at other positions than the one that it writes. */
  private *readBefore(op: Op): Generator<string> {
    const own = op.axes[ownAxis(op)]?.letter;
    for (const part of walk(parse(op.equation!))) {
      if (part.is !== "cells") continue;
      const read = this.byName.get(part.name)!;
      const place = part.index[ownAxis(read)];
      if (place && place.is !== "number" && !(place.is === "letter" && place.name === own)) yield part.name;
    }
  }
}

/** A network that has read a draft of the translation: as long as a search follows it, nothing is computed. */
export class Foreseen implements Pick<Network, "start" | "step" | "keep" | "vocabulary"> {
  private isLeft = false; // the search has gone another way

  constructor(private readonly network: Network, private readonly read: State) {}

  get vocabulary(): number {
    return this.network.vocabulary;
  }

  start(ids: readonly number[], edits: Edits, reuse?: State): State {
    return this.network.start(ids, edits, reuse);
  }

  step(tokens: readonly (readonly number[])[], state: State): Float32Array {
    if (this.isLeft) return this.network.step(tokens, state);
    const [before, size] = [state.tokens[0]!.length, this.vocabulary];
    state.tokens = state.tokens.map((row, n) => [...row, ...tokens[n]!]);
    const [first, to] = [state.tokens[0]!, state.tokens[0]!.length];
    if (state.tokens.length === 1 && first.every((token, n) => token === this.read.tokens[0]![n])) {
      return this.read.tensors.get("logits")!.data.subarray(before * size, to * size);
    }
    this.isLeft = true;
    const paths = state.tokens;
    state.tokens = paths.map(() => []);
    const all = this.network.step(paths, state);
    const found = new Float32Array(paths.length * (to - before) * size);
    paths.forEach((_, row) => found.set(all.subarray((row * to + before) * size, (row + 1) * to * size), row * (to - before) * size));
    return found;
  }

  keep(rows: readonly number[], state: State): void {
    this.network.keep(rows, state);
  }
}

/** Plans in their order, those together of which one reads a later one. */
function groupPlans(plans: readonly Plan[]): Plan[][] {
  const places = new Map(plans.map(({ op }, place) => [op.name, place]));
  const groups: Plan[][] = [];
  let last = -1; // the place of the last plan that the group needs
  plans.forEach((plan, place) => {
    if (place > last) groups.push([]);
    groups.at(-1)!.push(plan);
    last = Math.max(last, ...tensorsOf(parse(plan.op.equation!)).map((name) => places.get(name) ?? -1));
  });
  return groups;
}

/** An equation of the model for a sentence of these lengths. */
export function bind(op: Op, source: number, target: number): Op {
  const length = (size: number) => (size === SOURCE ? source : size === TARGET ? target : size);
  const sizes = Object.fromEntries(Object.entries(op.sizes).map(([letter, size]) => [letter, length(size)]));
  return { ...op, axes: op.axes.map((axis) => ({ ...axis, size: length(axis.size) })), sizes };
}

/** The axis that counts the positions of the translation as rows, not as what is attended to. */
function ownAxis(op: Op): number {
  return op.axes.findIndex(({ dim, size }) => size === TARGET && dim !== "key");
}

/** Room for rows that nobody reads once the next ones are there. */
function fresh(before: Held | undefined, shape: number[], own: number, from: number, rows: number): Held {
  const size = shape.reduce((product, each) => product * each, 1);
  const data = before?.data.length === rows * size ? before.data : new Float32Array(rows * size);
  const held: Held = { shape, data };
  if (own < 0) return held;
  return { ...held, rows: size, from: shape.map((_, axis) => (axis === own ? from : 0)) };
}

/** Room for more rows behind those that were written; twice as much wherever it was full. */
function reach(held: Held | undefined, shape: number[], own: number, from: number, rows: number): Held {
  const to = from + shape[own]!;
  const room = held && from ? held.rows! / shape.reduce((product, each, axis) => (axis === own ? product : product * each), 1) : 0;
  const size = (length: number) => shape.map((each, axis) => (axis === own ? length : each));
  let data = held?.data;
  let steps = strides(size(room));
  if (to > room) {
    const wide = size(from ? 2 * to : to);
    const wider = strides(wide);
    const all = wide.reduce((product, each) => product * each, 1);
    const grown = new Float32Array(rows * all);
    if (held && from) {
      const [line, outer] = [from * steps[own]!, held.rows! / (room * steps[own]!)];
      for (let n = 0; n < rows * outer; n++) {
        const at = n * room * steps[own]!;
        grown.set(held.data.subarray(at, at + line), n * wide[own]! * wider[own]!);
      }
    }
    [data, steps] = [grown, wider];
  }
  const found = data!.subarray(from * steps[own]!);
  return { shape, data: found, steps, rows: data!.length / rows, from: shape.map((_, axis) => (axis === own ? from : 0)) };
}

/** The rows that were written before, and those that were now. */
function whole(held: Held, own: number, from: number): Held {
  if (!from) return { ...held, from: held.shape.map(() => 0) };
  const data = new Float32Array(held.data.buffer);
  return { ...held, data, from: held.shape.map(() => 0), shape: held.shape.map((each, axis) => (axis === own ? each + from : each)) };
}
