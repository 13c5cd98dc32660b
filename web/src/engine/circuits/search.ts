/** The smallest circuit that is found for a word, as `circuits/circuit.py` searches it. */

import { randomOf } from "../../puzzles/random";
import type { Edge, Graph, State } from "./graph";

const KEEP = 0.9;
const SIZES = 1.5; // by how much each size that is tried exceeds the one before
const FRACTIONS = [0.5, 0.35, 0.2, 0.1, 0.05, 0.02, 0.01]; // of a circuit, to be taken away at once
const AT_ONCE = [64, 32, 16, 8, 4, 2, 1];
const RANDOM = 20;
// The points of Gauss and Legendre, of the way from no edge to all, and their weights.
const HALF = [
  [0.1834346424956498, 0.362683783378362], [0.525532409916329, 0.3137066458778873],
  [0.7966664774136267, 0.2223810344533745], [0.9602898564975363, 0.1012285362903763],
] as const;
const POINTS = HALF.flatMap(([at, weight]) => [[(1 - at) / 2, weight / 2], [(1 + at) / 2, weight / 2]] as const);

/** Shares are of the lead that can be lost; `numbers` are those of the edges among all. */
export interface Found {
  lead: number;
  nothing: number; // the lead with all edges replaced
  of: number; // how many edges there are
  numbers: number[];
  kept: number;
  without: number; // what all edges but these keep
  dearest: number; // what is left without the cheapest of its edges
  losses: number[]; // what is lost without each of its edges alone
  random: number[];
  connected: number[];
}

/** It pauses where others may have a turn, and says how many edges are left. */
export type Steps<T> = Generator<number, T>;

/** What is kept when all edges but a few carry what the nodes write in the counterpart. */
export class Faithfulness {
  readonly whole: number;

  constructor(readonly graph: Graph) {
    this.whole = graph.run([], new Float64Array(), 1).lead;
  }

  get span(): number {
    return this.whole - this.graph.nothing;
  }

  share({ lead }: State): number {
    return (lead - this.graph.nothing) / this.span;
  }

  edges(numbers: readonly number[]): Edge[] {
    return numbers.map((n) => this.graph.edges[n]!);
  }

  measure(numbers: readonly number[]): number {
    return this.share(this.pass(numbers));
  }

  pass(numbers: readonly number[]): State {
    return this.graph.run(this.edges(numbers), new Float64Array(numbers.length).fill(1));
  }

  /** What is left of a circuit without its first edges. */
  drop(numbers: readonly number[], count: number, like: State): number {
    return this.share(this.graph.run(like.edges, Float64Array.from(numbers, (_, n) => Number(n >= count)), 0, like));
  }

  /** What is left without each of its edges alone. */
  *measureEach(numbers: readonly number[]): Steps<number[]> {
    const like = this.pass(numbers);
    const found: number[] = [];
    for (let n = 0; n < numbers.length; n++) {
      const amounts = new Float64Array(numbers.length).fill(1);
      amounts[n] = 0;
      found.push(this.share(this.graph.run(like.edges, amounts, 0, like)));
      yield numbers.length;
    }
    return found;
  }

  /** By how much the share rises with each edge of a circuit. */
  differentiate(numbers: readonly number[]): Float64Array {
    const state = this.pass(numbers);
    return this.graph.slopesOf(state.edges, state).map((each) => each / this.span);
  }

  /** The attribution of each edge: the mean of its gradients on the way from none to all (EAP-IG). */
  *integrate(): Steps<Float64Array> {
    const { edges } = this.graph;
    const sum = new Float64Array(edges.length);
    for (const [at, weight] of POINTS) {
      const slopes = this.graph.slopesOf(edges, this.graph.run([], new Float64Array(), at));
      slopes.forEach((each, n) => (sum[n]! += (each * weight) / this.span));
      yield edges.length;
    }
    return sum;
  }
}

/** The numbers of the edges of a small circuit; null if none keeps enough. */
export function* findCircuit(own: Faithfulness): Steps<number[] | null> {
  let found = yield* grow(own);
  found &&= yield* thin(own, found);
  return found && (yield* finish(own, found));
}

function* grow(own: Faithfulness): Steps<number[] | null> {
  const gains = yield* own.integrate();
  const order = sortBy([...gains.keys()], (n) => -gains[n]!);
  for (let size = 8; size < order.length * SIZES; size *= SIZES) {
    const numbers = order.slice(0, Math.floor(size));
    if (own.measure(numbers) >= KEEP) return numbers;
    yield order.length;
  }
  return null;
}

/** Take away many edges at a time, those with the smallest gradients. */
function* thin(own: Faithfulness, numbers: number[]): Steps<number[]> {
  while (numbers.length > 1) {
    const slopes = own.differentiate(numbers);
    const order = sortBy([...slopes.keys()], (n) => slopes[n]!).map((n) => numbers[n]!);
    const counts = FRACTIONS.map((part) => Math.max(1, Math.floor(order.length * part)));
    const fewer = yield* dropMost(own, order, counts);
    if (!fewer) return order;
    numbers = fewer;
  }
  return numbers;
}

/** Take away those edges without which most is left, until none can go. */
function* finish(own: Faithfulness, numbers: number[]): Steps<number[]> {
  while (numbers.length > 1) {
    const kept = yield* own.measureEach(numbers);
    const able = kept.filter((each) => each >= KEEP).length;
    if (!able) break;
    const order = sortBy([...kept.keys()], (n) => -kept[n]!).map((n) => numbers[n]!);
    const fewer = yield* dropMost(own, order, AT_ONCE.filter((count) => count <= able));
    if (!fewer) break;
    numbers = fewer;
  }
  return numbers;
}

/** The circuit without its first edges, as many of `counts`, the largest first, as can go. */
function* dropMost(own: Faithfulness, numbers: readonly number[], counts: readonly number[]): Steps<number[] | null> {
  const like = own.pass(numbers);
  for (const count of counts) {
    if (own.drop(numbers, count, like) >= KEEP) return numbers.slice(count);
    yield numbers.length;
  }
  return null;
}

/** A circuit with its faithfulness, completeness and minimality, beside random ones. */
export function* judge(own: Faithfulness, circuit: readonly number[]): Steps<Found> {
  const slopes = own.differentiate(circuit);
  const numbers = sortBy([...slopes.keys()], (n) => -slopes[n]!).map((n) => circuit[n]!);
  const single = yield* own.measureEach(numbers);
  const kept = own.measure(numbers);
  const { graph } = own;
  return {
    lead: own.whole, nothing: graph.nothing, of: graph.edges.length, numbers, kept,
    without: own.share(graph.run(own.edges(numbers), new Float64Array(numbers.length), 1)),
    dearest: Math.max(...single),
    losses: single.map((each) => kept - each),
    random: yield* measureRandom(own, numbers.length),
    connected: yield* measureConnected(own, numbers.length),
  };
}

/** What circuits keep whose edges are drawn from all. */
function* measureRandom(own: Faithfulness, size: number): Steps<number[]> {
  const random = randomOf(`random ${size}`);
  const found: number[] = [];
  while (found.length < RANDOM) {
    const drawn = new Set<number>();
    while (drawn.size < size) drawn.add(Math.floor(random() * own.graph.edges.length));
    found.push(own.measure([...drawn]));
    yield size;
  }
  return found;
}

/** What random circuits keep in which each edge has a way to the answer. */
function* measureConnected(own: Faithfulness, size: number): Steps<number[]> {
  const random = randomOf(`connected ${size}`);
  const { graph } = own;
  const ends = new Map<string, number[]>(); // for each node, or the answer, the edges that end there
  graph.edges.forEach(({ site }, n) => {
    const owner = graph.sites[site]!.name.replace(/\.(memory|query|key|value)$/, "");
    if (ends.has(owner)) ends.get(owner)!.push(n);
    else ends.set(owner, [n]);
  });
  const found: number[] = [];
  while (found.length < RANDOM) {
    const [waiting, reached, chosen] = [[...ends.get("answer")!], new Set(["answer"]), [] as number[]];
    while (waiting.length && chosen.length < size) {
      const at = Math.floor(random() * waiting.length);
      const number = waiting[at]!;
      waiting[at] = waiting.at(-1)!;
      waiting.pop();
      chosen.push(number);
      const start = graph.nodes[graph.edges[number]!.node]!;
      if (reached.has(start)) continue;
      reached.add(start);
      waiting.push(...(ends.get(start) ?? []));
    }
    found.push(own.measure(chosen));
    yield size;
  }
  return found;
}

const sortBy = (numbers: number[], key: (n: number) => number): number[] => numbers.sort((one, other) => key(one) - key(other));
