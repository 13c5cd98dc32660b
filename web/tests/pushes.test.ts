import { expect, it } from "vitest";
import { listPushes } from "../src/engine/pushes";
import type { Recorded } from "../src/engine/recording";
import { tensor } from "./toy";

/** A decoder of no layers, or of one whose blocks write the same: a norm, and a table of two tokens. */
function recorded(more: Record<string, number[]>, own: object = {}): Recorded {
  const embedded = tensor([1, 2], 1, 2);
  const weights = new Map(
    Object.entries({ "decoder_norm.weight": [2, 3], ...more }).map(([name, data]) => [name, tensor([2], ...data)]),
  );
  weights.set("output_table.weight", tensor([2, 2], 1, 0, 0, 1));
  const network = { weights, row: (name: string) => (name.endsWith("contributions") ? tensor([1, 2], 0, 3) : tensor([1], 2)) };
  const settings = { norm: "pre", decoder: "transformer", decoder_layers: 0, d_model: 2, output_bias: false, positions: {}, ...own };
  const names = ["target_embedding.embedded", "target_embedding.positions", "target_embedding.sum", "decoder.0.feed_forward.output"];
  const tensors = new Map(names.map((name) => [name, embedded]));
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

it("a norm after the embedding divides too", () => {
  const found = listPushes(recorded({ "target_embedding.norm.weight": [2, 4] }, { embedding_norm: true }), 0, 1);
  expect(found).toEqual({ "target_embedding.embedded": 6, "target_embedding.positions": 6, norms: 0 });
});

it.each(["multiply", "concatenate"])("vectors that are not added are one part: %s", (combine) => {
  const found = listPushes(recorded({}, { positions: { combine } }), 0, 1);
  expect(found).toEqual({ "target_embedding.sum": 3, norms: 0 });
});

it("without norms nothing is divided", () => {
  const found = listPushes(recorded({}, { ablate: ["norm"] }), 0, 1);
  expect(found).toEqual({ "target_embedding.embedded": 2, "target_embedding.positions": 2, norms: 0 });
});

it("without residuals only the last block counts", () => {
  const bias = { "decoder.0.self_attention.to_output.bias": [0, 0], "decoder.0.cross_attention.to_output.bias": [0, 0] };
  const found = listPushes(recorded(bias, { decoder_layers: 1, ablate: ["residual"] }), 0, 1);
  expect(found).toEqual({ norms: 0, "decoder.0.feed_forward": 3 });
});
