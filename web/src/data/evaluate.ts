/**
 * Equations for whole tensors at once, in loops over typed arrays. A sum of products becomes a
 * product of matrices; everything else goes cell by cell. A network runs on this.
 */

import type { Op } from "./document";
import {
  CALLS, childrenOf, OPERATIONS, parse, softmaxOf, type Expression, type Reduction,
} from "./expression";
import { strides, zeros, type Tensor } from "./tensor";

type Numbers = Float32Array | Float64Array;

/** Numbers along letters, at regular steps; a letter that is not named changes nothing. */
interface Grid {
  letters: string[];
  sizes: number[];
  steps: number[];
  at: number; // of the first
  data: Numbers;
}

/** The values of a letter: `size` of them, from `from` on. */
interface Range {
  from: number;
  size: number;
}

type Where = Record<string, Range>;

/** A tensor, or a part of it: how far neighbours lie apart, and where each axis begins. */
export interface Held extends Tensor {
  steps?: number[];
  from?: number[];
  rows?: number; // how far the tensors of two rows of a search lie apart; none: all have the same
}

export type Fetch = (name: string) => Held;

export const ROW = "row"; // the letter of the rows of a search, which no equation names

/** All cells of a tensor, made of others that `fetch` has at hand. */
export function evaluate(op: Op, fetch: Fetch): Tensor {
  const found = zeros(...op.axes.map(({ size }) => size));
  evaluateInto(found, op, fetch);
  return found;
}

/** Compute the cells of a tensor that `held` is to hold; with so many rows of a search. */
export function evaluateInto(held: Held, op: Op, fetch: Fetch, rows = 1): void {
  const where: Where = { [ROW]: { from: 0, size: rows } };
  op.axes.forEach(({ letter }, axis) => {
    where[letter] = { from: held.from?.[axis] ?? 0, size: held.shape[axis]! };
  });
  exact.used = narrow.used = 0;
  const found = new Evaluator(op.sizes, fetch).go(prepare(op.equation!), where);
  const letters = op.axes.map(({ letter }) => letter);
  const steps = held.steps ?? strides(held.shape);
  const isMany = held.rows !== undefined;
  copyTo(
    { letters: isMany ? [ROW, ...letters] : letters, sizes: isMany ? [rows, ...held.shape] : held.shape,
      steps: isMany ? [held.rows!, ...steps] : steps, at: 0, data: held.data },
    found,
  );
}

const prepared = new Map<string, Expression>();

/** The tree of an equation, with sums over `j` that read `j//8` and `j%8` as sums over both. */
function prepare(text: string): Expression {
  let found = prepared.get(text);
  if (!found) prepared.set(text, (found = unfold(parse(text))));
  return found;
}

function unfold(part: Expression): Expression {
  if (part.is === "reduction" && part.kind === "sum") {
    const by = findDivisor(part.body, part.letter);
    if (by) return split(part, by);
  }
  switch (part.is) {
    case "operation":
      return { ...part, left: unfold(part.left), right: unfold(part.right) };
    case "call":
      return { ...part, given: part.given.map(unfold) };
    case "reduction":
      return { ...part, body: unfold(part.body) };
    default:
      return part;
  }
}

function findDivisor(part: Expression, letter: string): number {
  if (isOf(part, "//", letter)) return part.right.value;
  return Math.max(0, ...childrenOf(part).map((each) => findDivisor(each, letter)));
}

type Division = { is: "operation"; sign: string; left: Expression; right: { is: "number"; value: number } };
const isOf = (part: Expression, sign: string, letter: string): part is Division & Expression =>
  part.is === "operation" && part.sign === sign && part.right.is === "number" &&
  part.left.is === "letter" && part.left.name === letter;

function split({ letter, body }: Reduction, by: number): Expression {
  const [high, low] = [`${letter}//${by}`, `${letter}%${by}`];
  const go = (part: Expression): Expression => {
    if (isOf(part, "//", letter)) return { is: "letter", name: high };
    if (isOf(part, "%", letter)) return { is: "letter", name: low };
    switch (part.is) {
      case "letter": {
        if (part.name !== letter) return part;
        const tens = { is: "operation", sign: "*", left: { is: "letter", name: high }, right: { is: "number", value: by } } as const;
        return { is: "operation", sign: "+", left: tens, right: { is: "letter", name: low } };
      }
      case "operation":
        return { ...part, left: go(part.left), right: go(part.right) };
      case "cells":
        return { ...part, index: part.index.map(go) };
      default:
        return part;
    }
  };
  const inner: Expression = { is: "reduction", kind: "sum", letter: low, body: go(body) };
  return { is: "reduction", kind: "sum", letter: high, body: inner };
}

class Evaluator {
  constructor(
    private readonly sizes: Record<string, number>,
    private readonly fetch: Fetch,
  ) {}

  go(part: Expression, where: Where): Grid {
    switch (part.is) {
      case "number":
        return one(part.value);
      case "letter":
        return count(part.name, where[part.name]!);
      case "cells":
        return this.take(part.name, part.index, where);
      case "operation": {
        const soft = softmaxOf(part);
        if (soft) return this.soften(soft.above, soft.sum, soft.below, where);
        return join(OPERATIONS[part.sign]!, [this.go(part.left, where), this.go(part.right, where)]);
      }
      case "call":
        return join(CALLS[part.name]!, part.given.map((each) => this.go(each, where)));
      case "reduction":
        return part.kind === "argmax" ? this.findBest(part, where) : this.addUp(part, where);
    }
  }

  /** A letter with all its values. */
  private open(letter: string, where: Where): Where {
    const [whole, by] = letter.split(/\/\/|%/);
    let size = this.sizes[whole!]!;
    if (by) size = letter.includes("%") ? Number(by) : size / Number(by);
    return { ...where, [letter]: { from: 0, size } };
  }

  /** Cells at these places: a view, unless a place is itself a cell of another tensor. */
  private take(name: string, index: readonly Expression[], where: Where): Grid {
    const held = this.fetch(name);
    const steps = held.steps ?? strides(held.shape);
    const found: Grid = { letters: [], sizes: [], steps: [], at: 0, data: held.data };
    if (held.rows !== undefined) add(found, ROW, held.rows, where[ROW]!);
    let computed: Grid | null = null;
    index.forEach((part, axis) => {
      const step = steps[axis]!;
      if (held.shape[axis] === 1 && !held.from?.[axis]) return;
      found.at -= (held.from?.[axis] ?? 0) * step;
      const place = readPlace(part);
      if (place) {
        found.at += place.plus * step;
        for (const [letter, times] of place.times) add(found, letter, times * step, where[letter]!);
      } else {
        const own = join((value) => value! * step, [this.go(part, where)]);
        computed = computed ? join((a, b) => a! + b!, [computed, own]) : own;
      }
    });
    return computed ? gather(found, computed) : found;
  }

  private addUp(part: Reduction, where: Where): Grid {
    const over: string[] = [];
    let [inner, body]: [Where, Expression] = [where, part];
    while (body.is === "reduction" && body.kind === "sum") {
      inner = this.open(body.letter, inner);
      over.push(body.letter);
      body = body.body;
    }
    const factors = listFactors(body).map((each) => this.go(each, inner));
    while (factors.length > 2) factors.unshift(join((a, b) => a! * b!, factors.splice(0, 2)));
    const [a, b = one(1)] = factors;
    return contract(a!, b, over, inner);
  }

  private findBest({ letter, body }: Reduction, where: Where): Grid {
    const inner = this.open(letter, where);
    const [rows, width] = [arrange(this.go(body, inner), [letter], inner), inner[letter]!.size];
    return shrink(rows, (row) => {
      let best = 0;
      for (let n = 1; n < width; n++) if (rows.data[row + n]! > rows.data[row + best]!) best = n;
      return best;
    });
  }

  /** exp(a) / sum exp(b), with the largest b taken from both. */
  private soften(above: Expression, { letter }: Reduction, below: Expression, where: Where): Grid {
    const inner = this.open(letter, where);
    const width = inner[letter]!.size;
    const rows = arrange(this.go(below, inner), [letter], inner);
    const top = shrink(rows, (row) => {
      let most = Number.NEGATIVE_INFINITY;
      for (let n = 0; n < width; n++) most = Math.max(most, rows.data[row + n]!);
      return most;
    });
    let next = top.at;
    const whole = shrink(rows, (row) => {
      const most = top.data[next++]!;
      let sum = 0;
      for (let n = 0; n < width; n++) sum += Math.exp(rows.data[row + n]! - most);
      return sum;
    });
    return join((a, t, w) => Math.exp(a! - t!) / w!, [this.go(above, where), top, whole]);
  }
}

function listFactors(part: Expression): Expression[] {
  return part.is === "operation" && part.sign === " " ? [...listFactors(part.left), part.right] : [part];
}

/** A place that is a sum of letters, each so many times, and a number; null for any other. */
interface Place {
  plus: number;
  times: [string, number][];
}

const places = new WeakMap<Expression, Place | null>();

function readPlace(part: Expression): Place | null {
  let found = places.get(part);
  if (found === undefined) places.set(part, (found = computePlace(part)));
  return found;
}

function computePlace(part: Expression): Place | null {
  if (part.is === "number") return { plus: part.value, times: [] };
  if (part.is === "letter") return { plus: 0, times: [[part.name, 1]] };
  if (part.is !== "operation") return null;
  const [left, right] = [readPlace(part.left), readPlace(part.right)];
  if (!left || !right) return null;
  if (part.sign === "+") return { plus: left.plus + right.plus, times: [...left.times, ...right.times] };
  if (part.sign !== "*" && part.sign !== " ") return null;
  const [sum, factor] = right.times.length ? [right, left] : [left, right];
  if (factor.times.length) return null;
  const by = factor.plus;
  return { plus: sum.plus * by, times: sum.times.map(([letter, times]) => [letter, times * by]) };
}

/** Let a letter step through a grid. */
function add(grid: Grid, letter: string, step: number, { from, size }: Range): void {
  grid.at += from * step;
  const known = grid.letters.indexOf(letter);
  if (known >= 0) grid.steps[known]! += step;
  else {
    grid.letters.push(letter);
    grid.sizes.push(size);
    grid.steps.push(step);
  }
}

/** Room for what lives no longer than one equation takes. */
class Scratch<T extends Numbers> {
  used = 0;

  constructor(
    private readonly create: (size: number) => T,
    private data = create(1 << 16),
  ) {}

  make(letters: string[], sizes: number[]): Grid & { data: T } {
    const size = sizeOf(sizes);
    if (this.used + size > this.data.length) {
      this.data = this.create(2 * this.data.length + size); // grids in the old one keep it
      this.used = 0;
    }
    const at = this.used;
    this.used += size;
    return { letters, sizes, steps: strides(sizes), at, data: this.data };
  }
}

const exact = new Scratch((size) => new Float64Array(size));
const narrow = new Scratch((size) => new Float32Array(size)); // of products of matrices

const sizeOf = (sizes: readonly number[]): number => {
  let size = 1;
  for (const each of sizes) size *= each;
  return size;
};

function one(value: number): Grid {
  const found = exact.make([], []);
  found.data[found.at] = value;
  return found;
}

function count(letter: string, { from, size }: Range): Grid {
  const found = exact.make([letter], [size]);
  for (let n = 0; n < size; n++) found.data[found.at + n] = from + n;
  return found;
}

/** How far neighbours along each of these letters lie apart; 0 where a grid has it not. */
const stepsAlong = ({ letters, steps }: Grid, wanted: readonly string[]): number[] =>
  wanted.map((letter) => {
    const place = letters.indexOf(letter);
    return place < 0 ? 0 : steps[place]!;
  });

/** Go through all lines along the last letter, with where they begin in each grid. */
function visit(sizes: readonly number[], grids: Grid[], letters: string[], act: (at: number[], steps: number[], size: number) => void): void {
  const steps = grids.map((grid) => stepsAlong(grid, letters));
  const at = grids.map((grid) => grid.at);
  const last = letters.length - 1;
  const inner = steps.map((each) => (last < 0 ? 0 : each[last]!));
  const index = new Array<number>(letters.length).fill(0);
  const lines = sizeOf(sizes.slice(0, Math.max(0, last)));
  const width = last < 0 ? 1 : sizes[last]!;
  for (let line = 0; line < lines; line++) {
    act(at, inner, width);
    for (let axis = last - 1; axis >= 0; axis--) {
      for (let n = 0; n < at.length; n++) at[n]! += steps[n]![axis]!;
      if (++index[axis]! < sizes[axis]!) break;
      for (let n = 0; n < at.length; n++) at[n]! -= steps[n]![axis]! * sizes[axis]!;
      index[axis] = 0;
    }
  }
}

/** The letters of several grids together, in the order of the one that has most. */
function meet(grids: readonly Grid[]): [string[], number[]] {
  const [letters, sizes]: [string[], number[]] = [[], []];
  for (const grid of [...grids].sort((a, b) => b.letters.length - a.letters.length)) {
    grid.letters.forEach((letter, n) => {
      if (letters.includes(letter)) return;
      letters.push(letter);
      sizes.push(grid.sizes[n]!);
    });
  }
  return [letters, sizes];
}

type Apply = (...given: number[]) => number;

function join(apply: Apply, grids: Grid[]): Grid {
  const found = exact.make(...meet(grids));
  const all = [found, ...grids];
  const [a, b, c] = grids.map(({ data }) => data);
  const { data } = found;
  visit(found.sizes, all, found.letters, (at, steps, size) => {
    let [to, atA, atB, atC] = [at[0]!, at[1]!, at[2]!, at[3]!];
    const [stepA, stepB, stepC] = [steps[1]!, steps[2]!, steps[3]!];
    if (grids.length === 1) {
      for (let n = 0; n < size; n++, atA += stepA) data[to++] = apply(a![atA]!);
    } else if (grids.length === 2) {
      for (let n = 0; n < size; n++, atA += stepA, atB += stepB) data[to++] = apply(a![atA]!, b![atB]!);
    } else {
      for (let n = 0; n < size; n++, atA += stepA, atB += stepB, atC += stepC) {
        data[to++] = apply(a![atA]!, b![atB]!, c![atC]!);
      }
    }
  });
  return found;
}

/** The cells of a grid, each so much further on as `computed` says. */
function gather(grid: Grid, computed: Grid): Grid {
  const found = exact.make(...meet([computed, grid]));
  visit(found.sizes, [found, grid, computed], found.letters, (at, steps, size) => {
    for (let n = 0; n < size; n++) {
      const place = at[1]! + n * steps[1]! + computed.data[at[2]! + n * steps[2]!]!;
      found.data[at[0]! + n] = grid.data[place]!;
    }
  });
  return found;
}

function copyTo(to: Grid, from: Grid): void {
  visit(to.sizes, [to, from], to.letters, (at, steps, size) => {
    let [atTo, atFrom] = [at[0]!, at[1]!];
    for (let n = 0; n < size; n++, atTo += steps[0]!, atFrom += steps[1]!) to.data[atTo] = from.data[atFrom]!;
  });
}

type Dense = Grid & { data: Float32Array };

/** The same cells side by side in fp32, those along `last` innermost; a copy only where it must be. */
function arrange(grid: Grid, last: string[], where: Where, first?: string[]): Dense {
  const front = first ?? grid.letters.filter((letter) => !last.includes(letter));
  const letters = [...front, ...last];
  const sizes = letters.map((letter) => where[letter]!.size);
  const steps = stepsAlong(grid, letters);
  const dense = strides(sizes);
  const isDense = sizes.every((size, n) => size === 1 || steps[n] === dense[n]);
  const { data } = grid;
  if (isDense && data instanceof Float32Array) return { letters, sizes, steps: dense, at: grid.at, data };
  const found = narrow.make(letters, sizes);
  copyTo(found, grid);
  return found;
}

/** One number for each line of a grid that lies dense. */
function shrink(lines: Grid, apply: (at: number) => number): Grid {
  const last = lines.letters.length - 1;
  const found = exact.make(lines.letters.slice(0, last), lines.sizes.slice(0, last));
  const size = sizeOf(found.sizes);
  for (let n = 0; n < size; n++) found.data[found.at + n] = apply(lines.at + n * lines.sizes[last]!);
  return found;
}

/** The sum of a product of two over some letters: a product of matrices for each place they share. */
function contract(a: Grid, b: Grid, over: string[], where: Where): Grid {
  const isFree = (letter: string) => !over.includes(letter);
  const shared = a.letters.filter((letter) => isFree(letter) && b.letters.includes(letter));
  const rows = a.letters.filter((letter) => isFree(letter) && !shared.includes(letter));
  const columns = b.letters.filter((letter) => isFree(letter) && !shared.includes(letter));
  const size = (letters: string[]) => letters.reduce((product, each) => product * where[each]!.size, 1);
  const letters = [...shared, ...rows, ...columns];
  const found = narrow.make(letters, letters.map((letter) => where[letter]!.size));
  const left = arrange(a, over, where, [...shared, ...rows]);
  const right = arrange(b, over, where, [...shared, ...columns]);
  const [m, n, depth] = [size(rows), size(columns), size(over)];
  for (let place = 0; place < size(shared); place++) {
    const [atLeft, atRight, at] = [left.at + place * m * depth, right.at + place * n * depth, found.at + place * m * n];
    multiply(left.data, atLeft, m, right.data, atRight, n, depth, found.data, at);
  }
  return found;
}

/** c[i,j] = sum[k] a[i,k] b[j,k]; four of b at once, which share what is read of a. */
function multiply(
  a: Float32Array, atA: number, m: number, b: Float32Array, atB: number, n: number, depth: number,
  c: Float32Array, at: number,
): void {
  const whole = n - (n % 4);
  for (let j = 0; j < whole; j += 4) {
    const b0 = atB + j * depth;
    const [b1, b2, b3] = [b0 + depth, b0 + 2 * depth, b0 + 3 * depth];
    for (let i = 0; i < m; i++) {
      const a0 = atA + i * depth;
      let [s0, s1, s2, s3] = [0, 0, 0, 0];
      for (let k = 0; k < depth; k++) {
        const x = a[a0 + k]!;
        s0 += x * b[b0 + k]!;
        s1 += x * b[b1 + k]!;
        s2 += x * b[b2 + k]!;
        s3 += x * b[b3 + k]!;
      }
      const to = at + i * n + j;
      c[to] = s0;
      c[to + 1] = s1;
      c[to + 2] = s2;
      c[to + 3] = s3;
    }
  }
  for (let j = whole; j < n; j++) {
    for (let i = 0; i < m; i++) {
      let sum = 0;
      for (let k = 0; k < depth; k++) sum += a[atA + i * depth + k]! * b[atB + j * depth + k]!;
      c[at + i * n + j] = sum;
    }
  }
}
