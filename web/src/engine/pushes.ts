/** What speaks for a token: the logits of each layer, and what each head and block adds to them. */

import { part } from "../data/tensor";
import { readTensor, type Recorded } from "./recording";

/** The logits of one row at each layer of the decoder, as if it were the last (nostalgebraist 2020). */
export function readLens({ opened: { network }, document, state }: Recorded, row: number): Float32Array[] {
  const { top } = network;
  const layers = Array.from({ length: document.settings.decoder_layers }, (_, layer) => top.replace(/\.\d+\./, `.${layer}.`));
  return layers.map((name) => network.row("logits", row, state, new Map([[top, name]])).data);
}

/** Vectors that are added up, by what writes them. */
type Written = Map<string, Float64Array>;

/**
 * How much each head and block adds directly to one logit; the parts sum to it. Each norm divides by
 * the deviation that it had in the recording. `norms`: what the biases of the norms add.
 */
export function listPushes(recorded: Recorded, row: number, token: number): Record<string, number> {
  const { norm, decoder_layers, decoder, d_model, positions, embedding_norm, ablate = [] } = recorded.document.settings;
  const first = decoder === "ssru" ? "ssru" : "self_attention";
  const read = (name: string) => Float64Array.from(part(readTensor(recorded, name), row).data);
  const parts = (positions.combine ?? "add") === "add" ? ["embedded", "positions"] : ["sum"];
  const pass = (stem: string, module: string) => {
    if (!ablate.includes("norm")) written = passNorm(recorded, written, stem, module, row);
  };
  let written: Written = new Map([
    ...parts.map((each): [string, Float64Array] => [`target_embedding.${each}`, read(`target_embedding.${each}`)]),
    ["norms", new Float64Array(d_model)],
  ]);
  if (embedding_norm) pass("target_embedding", "target_embedding.norm");
  for (let layer = 0; layer < decoder_layers; layer++) {
    for (const block of [first, "cross_attention", "feed_forward"]) {
      const name = `decoder.${layer}.${block}`;
      if (ablate.includes("residual")) written = new Map([["norms", new Float64Array(d_model)]]);
      if (!block.endsWith("attention")) written.set(name, read(`${name}.output`));
      else listHeads(recorded, name, row, written);
      if (norm === "post") pass(`${name}_residual`, `${name}_residual.norm`);
    }
  }
  if (norm === "pre") pass("last", "decoder_norm");
  const table = part(readTensor(recorded, "output_table.weight"), token).data;
  const found = Object.fromEntries([...written].map(([name, vector]) => [name, vector.reduce((sum, each, d) => sum + each * table[d]!, 0)]));
  if (recorded.document.settings.output_bias) found["output_bias"] = readTensor(recorded, "output_bias").data[token]!;
  return found;
}

function listHeads({ opened: { network }, state, document }: Recorded, block: string, row: number, written: Written): void {
  const { data } = network.row(`${block}.contributions`, row, state);
  const width = document.settings.d_model;
  for (let head = 0; head < data.length / width; head++) {
    written.set(`${block}.${head}`, Float64Array.from(data.subarray(head * width, (head + 1) * width)));
  }
  written.set(`${block}.bias`, Float64Array.from(network.weights.get(`${block}.to_output.bias`)!.data));
}

/** RMSNorm has no bias, and takes no mean away. */
function passNorm({ opened: { network }, state }: Recorded, written: Written, stem: string, module: string, row: number): Written {
  const deviation = network.row(`${stem}.deviation`, row, state).data[0]!;
  const [gain, bias] = ["weight", "bias"].map((each) => network.weights.get(`${module}.${each}`)?.data);
  const normed: Written = new Map();
  for (const [name, vector] of written) {
    const mean = !bias ? 0 : vector.reduce((sum, each) => sum + each, 0) / vector.length;
    normed.set(name, vector.map((each, d) => ((each - mean) * gain![d]!) / deviation));
  }
  normed.set("norms", normed.get("norms")!.map((each, d) => each + (bias?.[d] ?? 0)));
  return normed;
}
