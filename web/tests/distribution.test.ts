import { expect, it } from "vitest";
import { draw, orderOf, shapeLogits } from "../src/engine/distribution";

const LOGITS = [Math.log(0.5), Math.log(0.3), Math.log(0.15), Math.log(0.05)];
const near = (found: ArrayLike<number>, wanted: number[]) =>
  wanted.forEach((each, id) => expect(found[id]).toBeCloseTo(each, 12));

it("temperature 1 leaves the probabilities, 2 takes their roots", () => {
  near(shapeLogits(LOGITS, { temperature: 1, top_k: 0, top_p: 1 }), [0.5, 0.3, 0.15, 0.05]);
  const roots = [0.5, 0.3, 0.15, 0.05].map(Math.sqrt);
  const whole = roots.reduce((sum, each) => sum + each);
  near(shapeLogits(LOGITS, { temperature: 2, top_k: 0, top_p: 1 }), roots.map((each) => each / whole));
});

it("top k and top p leave out the unlikely, and the others share what is left", () => {
  near(shapeLogits(LOGITS, { temperature: 1, top_k: 2, top_p: 1 }), [0.625, 0.375, 0, 0]);
  near(shapeLogits(LOGITS, { temperature: 1, top_k: 0, top_p: 0.6 }), [0.625, 0.375, 0, 0]);
  near(shapeLogits(LOGITS, { temperature: 1, top_k: 2, top_p: 0.6 }), [1, 0, 0, 0]);
});

it("draws each in its share, and never what has none", () => {
  expect([0, 0.49, 0.51, 0.79, 0.81, 0.999].map((each) => draw([0.5, 0, 0.3, 0.2], each))).toEqual([0, 0, 2, 2, 3, 3]);
  expect(orderOf([1, 3, 3, 2])).toEqual([1, 2, 3, 0]);
});
