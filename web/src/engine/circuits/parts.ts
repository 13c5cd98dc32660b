/**
 * What a network is made of, forwards and backwards: each part takes the vectors that it reads at
 * some positions, and gives what it writes where that is wanted. A position that is missing is as it
 * was in the sentence that was read first, the base.
 */

import type { Tensor } from "../../data/tensor";

export type Vector = Float64Array;
export type Rows = (Vector | undefined)[]; // by position

/** What a part remembers of a pass, for the way back and as the base of others. */
export interface Passed {
  out: Rows;
  /** What its readers owe, by their sites. `isHeld`: patterns, scales of norms and gates stay as they are. */
  back: (grads: Rows, isHeld: boolean) => Rows[];
  cache: Rows[]; // what other passes take over where nothing changed
}

export interface Part {
  run(reads: Rows[], wanted: readonly number[], base: Passed | null): Passed;
}

export type Weights = ReadonlyMap<string, Tensor>;

class Linear {
  private readonly weight: Float32Array;
  private readonly bias: Float32Array | undefined;
  readonly width: number;
  private readonly depth: number;

  constructor(weights: Weights, name: string) {
    const { shape: [width, depth], data } = weights.get(`${name}.weight`)!;
    [this.weight, this.width, this.depth] = [data, width!, depth!];
    this.bias = weights.get(`${name}.bias`)?.data;
  }

  /** The same for some of the outputs alone. */
  takeOutputs(from: number, count: number): Linear {
    const bias = this.bias?.subarray(from, from + count);
    return this.copy(this.weight.subarray(from * this.depth, (from + count) * this.depth), count, this.depth, bias);
  }

  /** The same of some of the inputs alone, with or without the bias. */
  takeInputs(from: number, count: number, hasBias: boolean): Linear {
    const weight = new Float32Array(this.width * count);
    for (let d = 0; d < this.width; d++) weight.set(this.weight.subarray(d * this.depth + from, d * this.depth + from + count), d * count);
    return this.copy(weight, this.width, count, hasBias ? this.bias : undefined);
  }

  private copy(weight: Float32Array, width: number, depth: number, bias: Float32Array | undefined): Linear {
    return Object.assign(Object.create(Linear.prototype) as Linear, { weight, width, depth, bias });
  }

  run(x: Vector): Vector {
    const { weight, bias, width, depth } = this;
    const y = new Float64Array(width);
    for (let d = 0, at = 0; d < width; d++) {
      let sum = 0;
      for (let i = 0; i < depth; i++) sum += x[i]! * weight[at++]!;
      y[d] = sum + (bias ? bias[d]! : 0);
    }
    return y;
  }

  back(grad: Vector, into: Vector = new Float64Array(this.depth)): Vector {
    const { weight, width, depth } = this;
    for (let d = 0; d < width; d++) {
      const own = grad[d]!;
      if (own) for (let i = 0, at = d * depth; i < depth; i++) into[i]! += own * weight[at++]!;
    }
    return into;
  }
}

type Backwards = (grad: Vector, isHeld: boolean) => Vector;

/** LayerNorm, RMSNorm, or nothing. */
export class Norm {
  private readonly weight: Float32Array | undefined;
  private readonly bias: Float32Array | undefined;

  constructor(weights: Weights, name: string, private readonly epsilon: number) {
    [this.weight, this.bias] = ["weight", "bias"].map((each) => weights.get(`${name}.${each}`)?.data);
  }

  run(x: Vector): [Vector, Backwards] {
    const { weight, bias, epsilon } = this;
    if (!weight) return [x, (grad) => grad];
    const size = x.length;
    const mean = bias ? x.reduce((sum, each) => sum + each, 0) / size : 0;
    const scale = 1 / Math.sqrt(x.reduce((sum, each) => sum + (each - mean) ** 2, 0) / size + epsilon);
    const normed = x.map((each) => (each - mean) * scale);
    const y = normed.map((each, d) => each * weight[d]! + (bias ? bias[d]! : 0));
    return [y, (grad, isHeld) => {
      const scaled = grad.map((each, d) => each * weight[d]!);
      const along = isHeld ? 0 : scaled.reduce((sum, each, d) => sum + each * normed[d]!, 0) / size;
      const level = bias ? scaled.reduce((sum, each) => sum + each, 0) / size : 0;
      return scaled.map((each, d) => (each - level - along * normed[d]!) * scale);
    }];
  }
}

type Passing = (grads: Rows, isHeld: boolean) => Rows;

/** The vectors that a reader sees, normed; what is missing stays missing. */
function normAll(norm: Norm, rows: Rows): [Rows, Passing] {
  const backs: (Backwards | undefined)[] = [];
  const found = rows.map((x, place) => {
    if (!x) return undefined;
    const [y, back] = norm.run(x);
    backs[place] = back;
    return y;
  });
  return [found, (grads, isHeld) => grads.map((grad, place) => grad && backs[place]?.(grad, isHeld))];
}

/** All heads of a block, or one of them, whose query, key and value then read apart. */
export class Attention implements Part {
  private readonly linears: Linear[]; // query, key, value
  private readonly output: Linear;
  private readonly from: readonly number[]; // which of the sites each of these reads

  /** `memoryNorm`: of what keys and values see. */
  constructor(
    weights: Weights, name: string, private readonly heads: number, private readonly norm: Norm,
    private readonly kind: "encoder" | "causal" | "cross", private readonly memoryNorm = norm, head?: number,
  ) {
    this.linears = ["query", "key", "value"].map((each) => new Linear(weights, `${name}.to_${each}`));
    this.output = new Linear(weights, `${name}.to_output`);
    this.from = kind === "cross" ? [0, 1, 1] : [0, 0, 0];
    if (head === undefined) return;
    const [all, width] = [this.linears[0]!.width, this.linears[0]!.width / heads];
    this.linears = this.linears.map((each) => each.takeOutputs(Math.floor((head * each.width) / all) * width, width));
    this.output = this.output.takeInputs(head * width, width, head === 0);
    [this.heads, this.from] = [1, [0, 1, 2]];
  }

  run(reads: Rows[], wanted: readonly number[], base: Passed | null): Passed {
    const normed = reads.map((rows, site) => normAll(site ? this.memoryNorm : this.norm, rows));
    const seen = this.from.map((site) => normed[site]![0]);
    const cache = seen.map((rows, n) => {
      const whole = base ? [...base.cache[n]!] : [];
      rows.forEach((x, place) => x && (whole[place] = this.linears[n]!.run(x)));
      return whole;
    });
    const [queries, keys, values] = cache as [Rows, Rows, Rows];
    const out: Rows = [];
    const backs = new Map<number, (grad: Vector, owed: Rows[]) => void>();
    for (const place of wanted) {
      const [z, back] = this.mix(queries[place]!, keys, values, this.kind === "causal" ? place + 1 : keys.length);
      out[place] = this.output.run(z);
      backs.set(place, (grad, owed) => back(this.output.back(grad), owed, place));
    }
    return { out, cache, back: (grads, isHeld) => this.back(grads, isHeld, backs, seen, normed.map(([, back]) => back)) };
  }

  private back(
    grads: Rows, isHeld: boolean, backs: Map<number, (grad: Vector, owed: Rows[]) => void>, seen: Rows[], norms: Passing[],
  ): Rows[] {
    // Where patterns are held, nothing is owed to queries and keys.
    const owed = seen.map((rows, n) => (isHeld && n < 2 ? [] : rows.map((x) => x && new Float64Array(this.linears[n]!.width))));
    grads.forEach((grad, place) => grad && backs.get(place)?.(grad, owed));
    const sums: Rows[] = norms.map(() => []);
    owed.forEach((rows, n) => {
      const sum = sums[this.from[n]!]!;
      rows.forEach((grad, place) => grad && (sum[place] = this.linears[n]!.back(grad, sum[place])));
    });
    return sums.map((rows, site) => norms[site]!(rows, isHeld));
  }

  /** What all heads read with one query, side by side. */
  private mix(query: Vector, keys: Rows, values: Rows, seen: number): [Vector, (grad: Vector, owed: Rows[], place: number) => void] {
    const { heads } = this;
    const width = query.length / heads;
    const shared = query.length / keys[0]!.length; // heads that have the same keys and values
    const weights = new Float64Array(heads * seen);
    const z = new Float64Array(query.length);
    const root = Math.sqrt(width);
    for (let head = 0; head < heads; head++) {
      const [at, from] = [head * width, Math.floor(head / shared) * width];
      let most = Number.NEGATIVE_INFINITY;
      for (let m = 0; m < seen; m++) {
        const key = keys[m]!;
        let score = 0;
        for (let k = 0; k < width; k++) score += query[at + k]! * key[from + k]!;
        weights[head * seen + m] = score / root;
        most = Math.max(most, score / root);
      }
      let sum = 0;
      for (let m = head * seen; m < (head + 1) * seen; m++) sum += weights[m] = Math.exp(weights[m]! - most);
      for (let m = 0; m < seen; m++) {
        const [weight, value] = [(weights[head * seen + m]! /= sum), values[m]!];
        for (let k = 0; k < width; k++) z[at + k]! += weight * value[from + k]!;
      }
    }
    return [z, (grad, [toQuery, toKey, toValue], place) => {
      for (let head = 0; head < heads; head++) {
        const [at, from] = [head * width, Math.floor(head / shared) * width];
        const given = new Float64Array(seen);
        let mean = 0;
        for (let m = 0; m < seen; m++) {
          const [value, weight, owed] = [values[m]!, weights[head * seen + m]!, toValue![m]];
          let sum = 0;
          for (let k = 0; k < width; k++) {
            sum += grad[at + k]! * value[from + k]!;
            if (owed) owed[from + k]! += weight * grad[at + k]!;
          }
          given[m] = sum;
          mean += weight * sum;
        }
        const own = toQuery![place];
        for (let m = 0; m < seen; m++) {
          const slope = (weights[head * seen + m]! * (given[m]! - mean)) / root;
          const [key, owed] = [keys[m]!, toKey![m]];
          for (let k = 0; k < width; k++) {
            if (own) own[at + k]! += slope * key[from + k]!;
            if (owed) owed[from + k]! += slope * query[at + k]!;
          }
        }
      }
    }];
  }
}

/** A part that computes each position by itself. */
abstract class Pointwise implements Part {
  constructor(private readonly norm: Norm) {}

  protected abstract transform(x: Vector): [Vector, Backwards];

  run([reads]: Rows[], wanted: readonly number[], base: Passed | null): Passed {
    const out: Rows = [];
    const backs: (Backwards | undefined)[] = [];
    for (const place of wanted) {
      const x = reads![place];
      if (!x) {
        out[place] = base!.out[place];
        continue;
      }
      const [normed, backNorm] = this.norm.run(x);
      const [y, back] = this.transform(normed);
      out[place] = y;
      backs[place] = (grad, isHeld) => backNorm(back(grad, isHeld), isHeld);
    }
    return { out, cache: [], back: (grads, isHeld) => [grads.map((grad, place) => grad && backs[place]?.(grad, isHeld))] };
  }
}

/** The norm behind a residual connection: it reads and writes. */
export class Renorm extends Pointwise {
  protected transform(x: Vector): [Vector, Backwards] {
    return [x, (grad) => grad];
  }
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const ACTIVATIONS: Record<string, [value: (x: number) => number, slope: (x: number) => number]> = {
  relu: [(x) => Math.max(0, x), (x) => Number(x > 0)],
  silu: [(x) => x * sigmoid(x), (x) => sigmoid(x) * (1 + x * (1 - sigmoid(x)))],
};
export const KNOWN_ACTIVATIONS = Object.keys(ACTIVATIONS);

export class FeedForward extends Pointwise {
  private readonly inner: Linear;
  private readonly outer: Linear;
  private readonly gate: Linear | undefined;
  private readonly activation;

  constructor(weights: Weights, name: string, norm: Norm, activation: string) {
    super(norm);
    [this.inner, this.outer] = [new Linear(weights, `${name}.inner`), new Linear(weights, `${name}.outer`)];
    if (weights.has(`${name}.gate.weight`)) this.gate = new Linear(weights, `${name}.gate`);
    this.activation = ACTIVATIONS[activation]!;
  }

  protected transform(x: Vector): [Vector, Backwards] {
    const { inner, outer, gate, activation: [value, slope] } = this;
    const hidden = inner.run(x);
    const active = hidden.map(value);
    const gated = gate?.run(x);
    const y = outer.run(gated ? active.map((each, n) => each * gated[n]!) : active);
    return [y, (grad, isHeld) => {
      const owed = outer.back(grad);
      if (gate && isHeld) return gate.back(owed.map((each, n) => each * active[n]!));
      const lets = isHeld ? (x: number, n: number) => active[n]! / (x || 1) : slope;
      const found = inner.back(owed.map((each, n) => each * (gated ? gated[n]! : 1) * lets(hidden[n]!, n)));
      return gate ? gate.back(owed.map((each, n) => each * active[n]!), found) : found;
    }];
  }
}

/** f = σ(W_f x + b_f); c = f c' + (1 - f) W x; y = max(0, c). */
export class Recurrence implements Part {
  private readonly forget: Linear;
  private readonly candidate: Linear;

  constructor(weights: Weights, name: string, private readonly norm: Norm) {
    [this.forget, this.candidate] = [new Linear(weights, `${name}.to_forget`), new Linear(weights, `${name}.to_candidate`)];
  }

  run([reads]: Rows[], wanted: readonly number[], base: Passed | null): Passed {
    const [x, backNorm] = normAll(this.norm, reads!);
    const length = Math.max(-1, ...wanted) + 1;
    const [forgets, candidates, cells] = [0, 1, 2].map((n) => [...(base?.cache[n] ?? [])]) as [Rows, Rows, Rows];
    const first = x.findIndex(Boolean);
    for (let place = first < 0 ? length : first; place < length; place++) {
      const own = x[place];
      if (own) [forgets[place], candidates[place]] = [this.forget.run(own).map(sigmoid), this.candidate.run(own)];
      const before = cells[place - 1];
      cells[place] = forgets[place]!.map((f, d) => f * (before?.[d] ?? 0) + (1 - f) * candidates[place]![d]!);
    }
    const out: Rows = [];
    for (const place of wanted) out[place] = cells[place]!.map((each) => Math.max(0, each));
    const back = (grads: Rows, isHeld: boolean): Rows[] => {
      const owed: Rows = [];
      let carried: Vector = new Float64Array(this.forget.width);
      for (let place = length - 1; place >= 0; place--) {
        const [cell, before, f, grad] = [cells[place]!, cells[place - 1], forgets[place]!, grads[place]];
        const own = carried.map((each, d) => each + (grad && cell[d]! > 0 ? grad[d]! : 0));
        if (x[place]) {
          const toGate = own.map((each, d) => (isHeld ? 0 : each * ((before?.[d] ?? 0) - candidates[place]![d]!) * f[d]! * (1 - f[d]!)));
          owed[place] = this.candidate.back(own.map((each, d) => each * (1 - f[d]!)), this.forget.back(toGate));
        }
        carried = own.map((each, d) => each * f[d]!);
      }
      return [backNorm(owed, isHeld)];
    };
    return { out, cache: [forgets, candidates, cells], back };
  }
}

/** The lead of a token over its rival, as a vector of one number. */
export class Answer extends Pointwise {
  private readonly along: Vector;
  private readonly bias: number;

  constructor(weights: Weights, norm: Norm, [token, rival]: readonly [number, number]) {
    super(norm);
    const { shape: [, width], data } = weights.get("output_table.weight")!;
    this.along = Float64Array.from({ length: width! }, (_, d) => data[token * width! + d]! - data[rival * width! + d]!);
    const bias = weights.get("output_bias")?.data;
    this.bias = bias ? bias[token]! - bias[rival]! : 0;
  }

  protected transform(x: Vector): [Vector, Backwards] {
    const lead = x.reduce((sum, each, d) => sum + each * this.along[d]!, this.bias);
    return [Float64Array.of(lead), ([grad]) => this.along.map((each) => each * grad!)];
  }
}
