import { expect, it } from "vitest";
import { listPushes } from "../src/engine/pushes";
import type { Recorded } from "../src/engine/recording";
import { tensor } from "./toy";

/** A decoder of no layers: a norm, and a table of two tokens. */
function recorded(more: Record<string, number[]>): Recorded {
  const embedded = tensor([1, 2], 1, 2);
  const weights = new Map(
    Object.entries({ "decoder_norm.weight": [2, 3], ...more }).map(([name, data]) => [name, tensor([2], ...data)]),
  );
  weights.set("output_table.weight", tensor([2, 2], 1, 0, 0, 1));
  const network = { weights, row: () => tensor([1], 2) };
  const settings = { norm: "pre", decoder: "transformer", decoder_layers: 0, d_model: 2, output_bias: false };
  const tensors = new Map([["target_embedding.embedded", embedded], ["target_embedding.positions", embedded]]);
  return { opened: { network }, document: { settings }, state: { tensors } } as unknown as Recorded;
}

it("a norm with a bias takes the mean away", () => {
  const found = listPushes(recorded({ "decoder_norm.bias": [5, 7] }), 0, 1);
  expect(found).toEqual({ "target_embedding.embedded": 0.75, "target_embedding.positions": 0.75, norms: 7 });
});

it("RMSNorm has none, and takes nothing away", () => {
  const found = listPushes(recorded({}), 0, 1);
  expect(found).toEqual({ "target_embedding.embedded": 3, "target_embedding.positions": 3, norms: 0 });
});
