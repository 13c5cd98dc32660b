import { describe, expect, it } from "vitest";
import { evaluate } from "../src/data/evaluate";
import { addendsOf, factorsOf, parse, tensorsOf } from "../src/data/expression";
import { axis, op, tensor } from "./toy";

const tensors = {
  x: tensor([2, 3], 1, 2, 3, 4, 5, 6),
  W: tensor([4, 3], 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1),
  ids: tensor([2], 3, 1),
  loud: tensor([2, 2], 1000, 999, -1000, -1000),
};
const fetch = (name: string) => tensors[name as keyof typeof tensors];
const make = (equation: string, letters: Record<string, number>, over: Record<string, number> = {}) => {
  const made = op("made", Object.entries(letters).map(([letter, size]) => axis(letter, size)), equation);
  return [...evaluate({ ...made, sizes: { ...letters, ...over } }, fetch).data];
};

describe("a whole tensor", () => {
  it("is a matrix product, where that is what is summed", () => {
    expect(make("sum[i] x[q,i] W[d,i]", { q: 2, d: 4 }, { i: 3 })).toEqual([1, 2, 3, 6, 4, 5, 6, 15]);
  });

  it("takes rows by ids, and places that are computed", () => {
    expect(make("2 W[ids[q],d]", { q: 2, d: 3 })).toEqual([2, 2, 2, 0, 2, 0]);
    expect(make("x[j//3,j%3]", { j: 6 })).toEqual([1, 2, 3, 4, 5, 6]);
    expect(make("x[h*1+k,0]", { h: 1, k: 2 })).toEqual([1, 4]);
  });

  it("is a softmax that does not overflow", () => {
    const [a, b, c, d] = make("exp(loud[q,m]) / sum[m] exp(loud[q,m])", { q: 2, m: 2 });
    expect([a! + b!, c, d]).toEqual([expect.closeTo(1, 6), 0.5, 0.5]);
    expect(a! / b!).toBeCloseTo(Math.E, 5);
  });

  it("knows precedence, roots, waves and where", () => {
    expect(make("1 + 2 * 3 - 4 / 2", {})).toEqual([5]);
    expect(make("sqrt(16) + max(2, 3) * 2 ** 3", {})).toEqual([28]);
    expect(make("where(m <= q and m != 0, q, -inf)", { q: 2, m: 2 })).toEqual([-Infinity, -Infinity, -Infinity, 1]);
    expect(make("argmax[d] x[q,d]", { q: 2 }, { d: 3 })).toEqual([2, 2]);
  });
});

describe("an equation", () => {
  it.each(["", "h+", "alert(1)", "ids[q", "constructor", "x[q]]", "sum[k]"])("%j is refused", (text) => {
    expect(() => parse(text)).toThrow(/no equation/);
  });

  it("names its tensors, its addends and its factors", () => {
    const found = parse("(x[q,d] - mean[q]) / deviation[q] * gain[d] + bias[d]");
    expect(tensorsOf(found)).toEqual(["x", "mean", "deviation", "gain", "bias"]);
    const [[, product], [sign]] = addendsOf(found) as [[number, typeof found], [number, typeof found]];
    expect(sign).toBe(1);
    expect(factorsOf(product).map(([isAbove]) => isAbove)).toEqual([true, false, true]);
  });
});
