/**
 * Where one number comes from: its equation read as function(scale * sum of terms + added), with a
 * sum of its own below the fraction's bar where there is one. As `see/explain.py` does it.
 */

import type { Op } from "../data/document";
import {
  addendsOf, CALLS, factorsOf, OPERATIONS, parse, softmaxOf, sum, walk, type Expression, type Reduction,
} from "../data/expression";
import type { Trace } from "../data/trace";
import { cellsOf, locate, valuesAt, type Index, type Values } from "./operands";

export interface Cell {
  name: string;
  index: Index;
  value: number;
}

export interface Term {
  value: number;
  operands: Cell[];
}

export interface Parts {
  terms: Term[];
  scale: number;
  added: Term[]; // beside the sum, such as a bias
  divisor: Term[]; // what is added up below the fraction's bar; part of `scale`
  function: string; // around all of it; "" where there is none
}

export interface Explanation extends Parts {
  name: string;
  index: Index;
  op: Op;
  value: number; // as it was recorded
  mask: boolean | null; // whether it may be attended to; null: there is no mask here
  recomputed: number; // by the equation
  reader: Reader | null; // null: nothing makes it
}

const isSum = (part: Expression): part is Reduction => part.is === "reduction" && part.kind === "sum";
const plain = (terms: Term[]): Parts => ({ terms, scale: 1, added: [], divisor: [], function: "" });

/** Rejects, with a sentence, where an operand was not recorded. */
export async function explain(trace: Trace, name: string, index: Index): Promise<Explanation> {
  const op = trace.op(name);
  const recorded = op.derived ? null : (await trace.values(name, [index]))[0]!;
  if (!op.equation) {
    const leaf = plain([{ value: recorded!, operands: [] }]);
    return { name, index, op, ...leaf, value: recorded!, mask: null, recomputed: recorded!, reader: null };
  }
  const equation = parse(op.equation);
  const reader = await Reader.open(trace, op, equation, valuesAt(op, index));
  const recomputed = reader.value(equation);
  const value = recorded ?? recomputed;
  return { name, index, op, ...reader.takeApart(equation), value, mask: reader.mask(equation), recomputed, reader };
}

/** Reads an equation where its letters have these values; all cells that it needs are at hand. */
export class Reader {
  private constructor(
    readonly trace: Trace,
    readonly op: Op,
    readonly at: Values,
    private readonly held: Map<string, number>,
  ) {}

  static async open(trace: Trace, op: Op, equation: Expression, at: Values): Promise<Reader> {
    const wanted = new Map<string, Map<string, number[]>>();
    for (const [name, cell] of cellsOf(trace, op, equation, at)) {
      if (!wanted.has(name)) wanted.set(name, new Map());
      wanted.get(name)!.set(cell.join(), cell);
    }
    const held = new Map<string, number>();
    await Promise.all(
      [...wanted].map(async ([name, cells]) => {
        const values = await trace.values(name, [...cells.values()]);
        [...cells.keys()].forEach((key, n) => held.set(`${name}[${key}]`, values[n]!));
      }),
    );
    return new Reader(trace, op, at, held);
  }

  move(at: Values): Reader {
    return new Reader(this.trace, this.op, { ...this.at, ...at }, this.held);
  }

  along(letter: string): Reader[] {
    return Array.from({ length: this.op.sizes[letter]! }, (_, n) => this.move({ [letter]: n }));
  }

  value(part: Expression): number {
    const soft = softmaxOf(part);
    if (soft) {
      const powers = this.along(soft.sum.letter).map((each) => each.value(soft.below));
      const top = Math.max(...powers);
      return Math.exp(this.value(soft.above) - top) / sum(powers.map((power) => Math.exp(power - top)));
    }
    switch (part.is) {
      case "number":
        return part.value;
      case "letter":
        return this.at[part.name]!;
      case "cells":
        return this.held.get(`${part.name}[${locate(this.trace, part, this.at).join()}]`)!;
      case "operation":
        return OPERATIONS[part.sign]!(this.value(part.left), this.value(part.right));
      case "call":
        return CALLS[part.name]!(...part.given.map((each) => this.value(each)));
      case "reduction": {
        const values = this.along(part.letter).map((each) => each.value(part.body));
        return part.kind === "sum" ? sum(values) : values.indexOf(Math.max(...values));
      }
    }
  }

  cells(part: Expression): Cell[] {
    if (part.is === "call" && part.name === "where") {
      const [condition, yes, no] = part.given as [Expression, Expression, Expression];
      return [...this.cells(this.value(condition) ? yes : no), ...this.cells(condition)];
    }
    const found = new Map<string, Cell>();
    for (const [name, index] of cellsOf(this.trace, this.op, part, this.at)) {
      const key = `${name}[${index.join()}]`;
      found.set(key, { name, index, value: this.held.get(key)! });
    }
    return [...found.values()];
  }

  private term(part: Expression, value = this.value(part)): Term {
    return { value, operands: this.cells(part) };
  }

  takeApart(part: Expression): Parts {
    if (part.is === "call" && part.given.length === 1 && [...walk(part)].some((each) => each.is === "reduction")) {
      return { ...this.takeApart(part.given[0]!), function: part.name };
    }
    if (part.is === "reduction" && part.kind === "argmax") {
      const best = this.value(part);
      return plain([this.move({ [part.letter]: best }).term(part.body, best)]);
    }
    const addends = addendsOf(part);
    const sums = addends.filter(([, each]) => this.sumIn(each));
    if (sums.length !== 1) {
      if (addends.length === 1) return this.takeProduct(part);
      return plain(addends.map(([sign, each]) => this.term(each, sign * this.value(each))));
    }
    const [sign, product] = sums[0]!;
    const found = this.takeProduct(product);
    const rest = addends.filter((each) => each !== sums[0]);
    const added = rest.map(([s, each]) => this.term(each, s * this.value(each)));
    return { ...found, scale: sign * found.scale, added };
  }

  private takeProduct(part: Expression): Parts {
    const inner = this.sumIn(part);
    const divisor = this.divisor(part);
    if (!inner) {
      if (!divisor.length) return this.takeScaled(part);
      const scale = 1 / sum(divisor.map((term) => term.value));
      const term = this.term((part as { left: Expression }).left, this.value(part) / scale);
      return { ...plain([term]), scale, divisor };
    }
    const terms = isSum(inner)
      ? this.termsOf(inner)
      : addendsOf(inner).map(([sign, each]) => this.term(each, sign * this.value(each)));
    const scale = this.multiply(factorsOf(part).filter(([, each]) => each !== inner));
    return { ...plain(terms), scale, divisor };
  }

  /** One term, without the factors that are the same for every cell. */
  private takeScaled(part: Expression): Parts {
    const factors = factorsOf(part);
    const living = factors.filter(([, each]) => [...walk(each)].some((x) => x.is === "cells"));
    if (living.length !== 1 || factors.length === 1 || !living[0]![0]) return plain([this.term(part)]);
    const rest = factors.filter((each) => each !== living[0]);
    return { ...plain([this.term(living[0]![1])]), scale: this.multiply(rest) };
  }

  private multiply(factors: [boolean, Expression][]): number {
    return factors.reduce((all, [isAbove, each]) => (isAbove ? all * this.value(each) : all / this.value(each)), 1);
  }

  private termsOf(part: Reduction): Term[] {
    return this.along(part.letter).map((each) => each.term(part.body));
  }

  private sumIn(part: Expression): Expression | null {
    for (const [isAbove, factor] of factorsOf(part)) {
      if (isAbove && (isSum(factor) || addendsOf(factor).length > 1)) return factor;
    }
    return null;
  }

  private divisor(part: Expression): Term[] {
    for (const [isAbove, factor] of factorsOf(part)) {
      if (isAbove || !isSum(factor)) continue;
      const terms = this.termsOf(factor);
      const total = sum(terms.map((term) => term.value));
      return total > 0 && Number.isFinite(total) ? terms : [];
    }
    return [];
  }

  /** Whether the mask lets this cell be attended to; null where none is at work. */
  mask(equation: Expression): boolean | null {
    for (const part of walk(equation)) {
      if (part.is === "call" && part.name === "where") {
        const [condition] = part.given as [Expression];
        if ([...walk(condition)].some((each) => each.is === "cells")) return this.value(condition) !== 0;
      }
      if (part.is === "cells" && /(^|\.)masked$/.test(part.name)) {
        return this.value(part) > Number.NEGATIVE_INFINITY;
      }
    }
    return null;
  }
}
