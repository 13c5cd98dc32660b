import { expect, it } from "vitest";
import { entropy, maxOfHeads, meanOfHeads, rollOut, shareOfHead } from "../src/data/derive";
import { part, type Tensor } from "../src/data/tensor";
import { strongest } from "../src/views/attention/mass";
import { axis, op, tensor, toy } from "./toy";

const two = tensor([2, 1, 2], 0.9, 0.1, 0.2, 0.8);

it("heads are folded cell by cell", () => {
  const near = (found: Tensor, ...wanted: number[]) =>
    wanted.forEach((value, n) => expect(found.data[n]).toBeCloseTo(value));
  near(meanOfHeads(two), 0.55, 0.45);
  near(maxOfHeads(two), 0.9, 0.8);
  near(shareOfHead(two, 0), 0.9 / 1.1, 0.1 / 0.9);
});

it("entropy is 0 for one and ln n for all alike", () => {
  expect(entropy([0, 1, 0])).toBe(0);
  expect(entropy([0.25, 0.25, 0.25, 0.25])).toBeCloseTo(Math.log(4));
});

it("the strongest weights make up the share that was asked for", () => {
  expect(strongest([0.1, 0.6, 0.3], 0.85)).toEqual([1, 2]);
  expect(strongest([0.1, 0.6, 0.3], 1)).toEqual([1, 2, 0]);
  expect(strongest([0, 1, 0], 1)).toEqual([1]);
});

it("rollout halves and mixes, and its rows sum to 1", async () => {
  const block = (name: string, rows: number, columns: number, ...data: number[]) =>
    [name, tensor([1, rows, columns], ...data)] as const;
  const blocks = [
    block("encoder.0.self_attention.weights", 3, 3, 1, 0, 0, 0.5, 0.5, 0, 0.2, 0.3, 0.5),
    block("decoder.0.self_attention.weights", 2, 2, 1, 0, 0.5, 0.5),
    block("decoder.0.cross_attention.weights", 2, 3, 1, 0, 0, 0, 0, 1),
  ];
  const ops = blocks.map(([name, { shape }]) =>
    op(name, shape.map((size, n) => axis("hqm"[n]!, size)), null),
  );
  const trace = toy(ops, Object.fromEntries(blocks));
  const encoder = await rollOut(trace, "encoder");
  expect([...part(encoder, 1).data]).toEqual([0.25, 0.75, 0]);
  const own = await rollOut(trace, "decoder");
  const cross = await rollOut(trace, "cross");
  for (const row of [0, 1]) {
    const all = [...part(own, row).data, ...part(cross, row).data];
    expect(all.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1);
  }
  // Half of row 0 reads source 0, which is itself there.
  expect([...part(cross, 0).data]).toEqual([0.5, 0, 0]);
});
