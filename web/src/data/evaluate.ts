/** Equations for whole tensors at once: sums of products as einsum does them, in plain loops. */

import type { Op } from "./document";
import {
  CALLS, OPERATIONS, parse, softmaxOf, type Expression, type Reduction,
} from "./expression";
import { strides, zeros, type Tensor } from "./tensor";

type Numbers = Float64Array;

/** Numbers with one dimension for each axis in `axes`, which ascend. */
interface Grid {
  axes: number[];
  shape: number[];
  data: Numbers;
}

/** The axis on which a letter's values 0, 1, ... lie, and how many there are. */
interface Along {
  axis: number;
  size: number;
}

type Where = Record<string, Along>;
export type Fetch = (name: string) => Tensor;

/** All cells of a tensor, made of others that `fetch` has at hand. */
export function evaluate(op: Op, fetch: Fetch): Tensor {
  const where: Where = {};
  op.axes.forEach(({ letter, size }, axis) => (where[letter] = { axis, size }));
  const found = new Evaluator(op.sizes, fetch).go(parse(op.equation!), where);
  const shape = op.axes.map((axis) => axis.size);
  const made = zeros(...shape);
  const steps = stepsOf(found, shape.map((_, axis) => axis));
  visit(shape, [steps], (place, [from]) => (made.data[place] = found.data[from!]!));
  return made;
}

class Evaluator {
  constructor(
    private readonly sizes: Record<string, number>,
    private readonly fetch: Fetch,
  ) {}

  go(part: Expression, where: Where): Grid {
    const soft = softmaxOf(part);
    if (soft) return this.soften(soft.above, soft.sum, soft.below, where);
    switch (part.is) {
      case "number":
        return one(part.value);
      case "letter":
        return count(where[part.name]!);
      case "cells":
        return this.take(part.name, part.index, where);
      case "operation":
        return join(OPERATIONS[part.sign]!, [this.go(part.left, where), this.go(part.right, where)]);
      case "call":
        return join(CALLS[part.name]!, part.given.map((each) => this.go(each, where)));
      case "reduction": {
        const inner = this.open(part.letter, where);
        const along = inner[part.letter]!;
        if (part.kind === "argmax") return findBest(this.go(part.body, inner), along);
        return addUp(listFactors(part.body).map((each) => this.go(each, inner)), along);
      }
    }
  }

  /** A letter with all its values, on an axis behind all others. */
  private open(letter: string, where: Where): Where {
    const last = Math.max(-1, ...Object.values(where).map(({ axis }) => axis));
    return { ...where, [letter]: { axis: last + 1, size: this.sizes[letter]! } };
  }

  /** Cells at these places; where each place is a letter of its own, nothing is computed. */
  private take(name: string, index: Expression[], where: Where): Grid {
    const { shape, data } = this.fetch(name);
    const steps = strides(shape);
    const places = index.map((each) => this.go(each, where));
    const axes = [...new Set(places.flatMap((place) => place.axes))].sort((a, b) => a - b);
    const sizes = axes.map((axis) => places.find((place) => place.axes.includes(axis))!.shape);
    const lengths = axes.map((axis, n) => {
      const place = places.find((each) => each.axes.includes(axis))!;
      return sizes[n]![place.axes.indexOf(axis)]!;
    });
    const found = make(axes, lengths);
    visit(lengths, places.map((place) => stepsOf(place, axes)), (to, from) => {
      let at = 0;
      for (let axis = 0; axis < places.length; axis++) {
        at += steps[axis]! * Math.min(places[axis]!.data[from[axis]!]!, shape[axis]! - 1);
      }
      found.data[to] = data[at]!;
    });
    return found;
  }

  private soften(above: Expression, { letter }: Reduction, below: Expression, where: Where): Grid {
    const inner = this.open(letter, where);
    const along = inner[letter]!;
    const powers = this.go(below, inner);
    const [top, whole] = [shrink(powers, along), shrink(powers, along)];
    for (let row = 0; row < top.data.length; row++) {
      const values = powers.data.subarray(row * along.size, (row + 1) * along.size);
      top.data[row] = values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
      whole.data[row] = values.reduce((total, value) => total + Math.exp(value - top.data[row]!), 0);
    }
    return join((a, t, w) => Math.exp(a! - t!) / w!, [this.go(above, where), top, whole]);
  }
}

function listFactors(part: Expression): Expression[] {
  return part.is === "operation" && part.sign === " " ? [...listFactors(part.left), part.right] : [part];
}

const make = (axes: number[], shape: number[]): Grid => ({
  axes, shape, data: new Float64Array(shape.reduce((product, each) => product * each, 1)),
});

const one = (value: number): Grid => ({ axes: [], shape: [], data: Float64Array.of(value) });

const count = ({ axis, size }: Along): Grid => ({
  axes: [axis], shape: [size], data: Float64Array.from({ length: size }, (_, n) => n),
});

/** How far apart neighbours along each of `axes` lie; 0 along those that a grid has not. */
function stepsOf(grid: Grid, axes: readonly number[]): number[] {
  const steps = strides(grid.shape);
  return axes.map((axis) => {
    const place = grid.axes.indexOf(axis);
    return place < 0 || grid.shape[place] === 1 ? 0 : steps[place]!;
  });
}

/** Go through a shape, with the place in it and in each grid that is stepped through beside it. */
function visit(shape: readonly number[], steps: number[][], act: (to: number, from: number[]) => void): void {
  const size = shape.reduce((product, each) => product * each, 1);
  const index = shape.map(() => 0);
  const from = steps.map(() => 0);
  for (let to = 0; to < size; to++) {
    act(to, from);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      for (let n = 0; n < from.length; n++) from[n]! += steps[n]![axis]!;
      if (++index[axis]! < shape[axis]!) break;
      for (let n = 0; n < from.length; n++) from[n]! -= steps[n]![axis]! * shape[axis]!;
      index[axis] = 0;
    }
  }
}

/** The axes of several grids together, and how long each is. */
function meet(grids: readonly Grid[]): Along[] {
  const found = new Map<number, number>();
  for (const { axes, shape } of grids) {
    axes.forEach((axis, n) => found.set(axis, Math.max(found.get(axis) ?? 1, shape[n]!)));
  }
  return [...found].sort(([a], [b]) => a - b).map(([axis, size]) => ({ axis, size }));
}

function join(apply: (...given: number[]) => number, grids: Grid[]): Grid {
  const all = meet(grids);
  const axes = all.map(({ axis }) => axis);
  const found = make(axes, all.map(({ size }) => size));
  const given = new Array<number>(grids.length);
  visit(found.shape, grids.map((grid) => stepsOf(grid, axes)), (to, from) => {
    for (let n = 0; n < grids.length; n++) given[n] = grids[n]!.data[from[n]!]!;
    found.data[to] = apply(...given);
  });
  return found;
}

const shrink = (grid: Grid, { axis }: Along): Grid =>
  make(grid.axes.filter((each) => each !== axis), grid.shape.filter((_, n) => grid.axes[n] !== axis));

/** The sum of a product over one axis. */
function addUp(factors: Grid[], along: Along): Grid {
  const all = meet(factors).filter(({ axis }) => axis !== along.axis);
  const axes = all.map(({ axis }) => axis);
  const found = make(axes, all.map(({ size }) => size));
  const inner = factors.map((grid) => stepsOf(grid, [along.axis])[0]!);
  const [a, b] = factors;
  const [stepA, stepB] = inner;
  visit(found.shape, factors.map((grid) => stepsOf(grid, axes)), (to, from) => {
    let total = 0;
    if (factors.length === 2) {
      let [atA, atB] = [from[0]!, from[1]!];
      for (let n = 0; n < along.size; n++, atA += stepA!, atB += stepB!) {
        total += a!.data[atA]! * b!.data[atB]!;
      }
    } else {
      for (let n = 0; n < along.size; n++) {
        let product = 1;
        for (let f = 0; f < factors.length; f++) product *= factors[f]!.data[from[f]! + n * inner[f]!]!;
        total += product;
      }
    }
    found.data[to] = total;
  });
  return found;
}

function findBest(grid: Grid, along: Along): Grid {
  const found = shrink(grid, along);
  for (let row = 0; row < found.data.length; row++) {
    const values = grid.data.subarray(row * along.size, (row + 1) * along.size);
    found.data[row] = values.indexOf(values.reduce((most, value) => Math.max(most, value)));
  }
  return found;
}
