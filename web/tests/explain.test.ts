import { describe, expect, it } from "vitest";
import { explain } from "../src/cell/explain";
import { followDown } from "../src/cell/chain";
import { operandsOf } from "../src/cell/operands";
import { erf, sum } from "../src/data/expression";
import { axis, op, tensor, toy } from "./toy";

const [h, q, m, d] = [axis("h", 1), axis("q", 2), axis("m", 3), axis("d", 2, "d_model")];
const root = Math.SQRT1_2;

const derived = { kind: "derived", derived: true } as const;

const trace = toy(
  [
    op("source.ids", [axis("q", 3)], null),
    op("source_embedding.embedded", [axis("q", 3, "source"), d], "sqrt(2) table[source.ids[q],d]"),
    op("source_embedding.angle", [axis("q", 3, "source"), d], "(q + 1) / 10000 ** (d // 2 / 1)", derived),
    op(
      "source_embedding.positions", [axis("q", 3, "source"), d],
      "2 * where(d % 2 == 0, sin(source_embedding.angle[q,d]), cos(source_embedding.angle[q,d]))",
    ),
    op("scores", [h, q, m], "sum[k] query[h,q,k] key[h,m,k] / sqrt(2)"),
    op("masked", [h, q, m], "where(mask[0,q,m], scores[h,q,m], -inf)", derived),
    op("weights", [h, q, m], "exp(masked[h,q,m]) / sum[m] exp(masked[h,q,m])"),
    op("mixed", [q, d], "sum[i] query[0,q,i] W[d,i] + b[d]"),
    op("road.mean", [q], "sum[i] mixed[q,i] / 2", derived),
    op("road.deviation", [q], "sqrt(sum[i] (mixed[q,i] - road.mean[q])**2 / 2 + 1e-5)", derived),
    op("road.normed", [q, d], "(mixed[q,d] - road.mean[q]) / road.deviation[q] * gain[d] + b[d]"),
    op("before", [q, d], "where(q == 0, 0, mixed[max(q - 1, 0),d])"),
    op("choice", [q], "argmax[d] mixed[q,d]", derived),
    op("hidden", [q, d], "mixed[q,d] (1 + erf(mixed[q,d] / sqrt(2))) / 2"),
  ],
  {
    table: tensor([4, 2], 0, 0, 1, 2, 3, 4, 5, 6),
    "source_embedding.embedded": tensor([3, 2], 7.0710678, 8.4852814, 1.4142135, 2.828427, 4.2426405, 5.656854),
    "source_embedding.positions": tensor([3, 2], 0, 0, 0, 0, 0, 0),
    query: tensor([1, 2, 2], 1, 2, 3, 4),
    key: tensor([1, 3, 2], 1, 0, 0, 1, 1, 1),
    scores: tensor([1, 2, 3], root, 2 * root, 3 * root, 3 * root, 4 * root, 7 * root),
    mask: tensor([1, 2, 3], 1, 0, 1, 1, 1, 1),
    weights: tensor([1, 2, 3], 0.19557, 0, 0.80443, 0.05, 0.1, 0.85),
    W: tensor([2, 2], 1, -1, 2, 0.5),
    b: tensor([2], 10, 20),
    gain: tensor([2], 1.5, 0.5),
    mixed: tensor([2, 2], 9, 23, 9, 28),
    "road.normed": tensor([2, 2], 8.5, 20.5, 8.5, 20.5),
    hidden: tensor([2, 2], 9, 23, 9, 28),
  },
);

const valueOf = async (name: string, ...index: number[]) => (await explain(trace, name, index)).recomputed;

describe("a number is made as its op says", () => {
  it("gather: the row of the token's id, scaled", async () => {
    const found = await explain(trace, "source_embedding.embedded", [0, 1]);
    expect(found.terms[0]!.operands[0]).toEqual({ name: "table", index: [3, 1], value: 6 });
    expect(found.recomputed).toBeCloseTo(6 * Math.SQRT2, 12);
  });

  it("position: a wave", async () => {
    expect(await valueOf("source_embedding.positions", 2, 0)).toBeCloseTo(2 * Math.sin(3), 12);
    expect(await valueOf("source_embedding.positions", 2, 1)).toBeCloseTo(2 * Math.cos(3), 12);
  });

  it("dot: terms in order, times the scale", async () => {
    const found = await explain(trace, "scores", [0, 1, 2]);
    expect(found.terms.map((term) => term.value)).toEqual([3, 4]);
    expect(found.recomputed).toBeCloseTo(7 * root, 12);
    expect(found.value).toBeCloseTo(found.recomputed, 6);
  });

  it("softmax: only over what may be looked at", async () => {
    const whole = Math.exp(root) + Math.exp(3 * root);
    expect(await valueOf("weights", 0, 0, 2)).toBeCloseTo(Math.exp(3 * root) / whole, 6);
    const hidden = await explain(trace, "weights", [0, 0, 1]);
    expect([hidden.recomputed, hidden.mask]).toEqual([0, false]);
    expect(await valueOf("masked", 0, 0, 1)).toBe(Number.NEGATIVE_INFINITY);
    expect(await valueOf("masked", 0, 0, 0)).toBeCloseTo(root, 6);
  });

  it("matmul: with its bias, a cell that can be asked in its turn", async () => {
    const found = await explain(trace, "mixed", [1, 1]);
    expect(found.added).toEqual([{ value: 20, operands: [{ name: "b", index: [1], value: 20 }] }]);
    expect(found.recomputed).toBe(3 * 2 + 4 * 0.5 + 20);
  });

  it("layernorm: mean, deviation, gain and bias", async () => {
    const deviation = Math.sqrt(49 + 1e-5);
    expect(await valueOf("road.mean", 0)).toBe(16);
    expect(await valueOf("road.deviation", 0)).toBeCloseTo(deviation, 12);
    expect(await valueOf("road.normed", 0, 0)).toBeCloseTo(((9 - 16) / deviation) * 1.5 + 10, 6);
  });

  it("argmax and activations", async () => {
    expect(await valueOf("choice", 0)).toBe(1);
    expect(await valueOf("hidden", 0, 0)).toBeCloseTo((9 * (1 + erf(9 / Math.SQRT2))) / 2, 12);
  });

  it("a derived tensor is computed whole where it was not recorded", async () => {
    const found = await trace.tensor("masked");
    expect([...found.data].map((value) => value === Number.NEGATIVE_INFINITY)).toEqual(
      [false, true, false, false, false, false],
    );
  });

  it("says what was not recorded", async () => {
    await expect(trace.tensor("query", 7).then(() => trace.tensor("nothing"))).rejects.toThrow("nothing");
  });
});

describe("what lights up", () => {
  it("are the row and the column of a dot product", () => {
    expect(operandsOf(trace, "scores", [0, 1, 2])).toEqual([
      { name: "query", role: "operand", cells: [[0, 1, 0], [0, 1, 1]] },
      { name: "key", role: "operand", cells: [[0, 2, 0], [0, 2, 1]] },
    ]);
  });

  it("are all scores of a row for a softmax", () => {
    const [masked] = operandsOf(trace, "weights", [0, 1, 0]);
    expect(masked!.cells).toEqual([[0, 1, 0], [0, 1, 1], [0, 1, 2]]);
  });

  it("are a score and its mask, where it is masked", () => {
    expect(operandsOf(trace, "masked", [0, 1, 2])).toEqual([
      { name: "mask", role: "mask", cells: [[0, 1, 2]] },
      { name: "scores", role: "operand", cells: [[0, 1, 2]] },
    ]);
  });

  it("are those of the position before, for a state", () => {
    expect(operandsOf(trace, "before", [1, 1])).toEqual([{ name: "mixed", role: "operand", cells: [[0, 1]] }]);
  });
});

it("a softmax lists what is divided by, and divides by its sum", async () => {
  const found = await explain(trace, "weights", [0, 1, 2]);
  expect(found.divisor.map((term) => term.value)).toEqual([3, 4, 7].map((n) => expect.closeTo(Math.exp(n * root), 4)));
  expect(found.terms[0]!.value * found.scale).toBeCloseTo(found.recomputed, 12);
});

it("the way down prefers what the sentence decides, and ends at a leaf", async () => {
  const steps = await followDown(trace, await explain(trace, "road.normed", [0, 0]));
  expect(steps.map((step) => step.name)).toEqual(["road.normed", "road.mean", "mixed", "query"]);
});

it("erf is that of the tables", () => {
  // Abramowitz and Stegun, table 7.1
  for (const [x, value] of [[0.5, 0.5204998778], [1, 0.8427007929], [2, 0.995322265], [3.5, 0.9999992569]]) {
    expect(erf(x!)).toBeCloseTo(value!, 9);
    expect(erf(-x!)).toBe(-erf(x!));
  }
});

it("a sum keeps what single additions lose", () => {
  expect(sum([1e16, 1, -1e16])).toBe(1);
});
