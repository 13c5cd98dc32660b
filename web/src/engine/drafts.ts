/**
 * Drafts, by the engine in C as WebAssembly: many times as fast as the equations of the op-graph, with
 * activations in int8. A draft is on screen at once; what stays is what the equations find.
 */

import { WasmEngine } from "../engine-wasm/engine.js";
import type { Described } from "./model";
import type { SearchSettings } from "./search";

export interface Draft {
  tokens: number[]; // without the end mark
  logProbs: number[]; // with that of the end mark
  finished: boolean;
}

/** Translate a source, the end mark included; null where it fails. */
export type Drafter = (source: readonly number[], settings: SearchSettings, seed: number) => Draft | null;

/** Pack the weights of a model, of the file that a page carries. */
export async function openDrafter(wasm: BufferSource, file: ArrayBuffer, { settings }: Described): Promise<Drafter> {
  const { positions, ...sizes } = settings.model;
  const engine = await WasmEngine.open(wasm, new Uint8Array(file), {
    maxPositions: positions.max_positions, settings: { ...sizes, ...positions },
  });
  return (source, wanted, seed) => {
    const { search, temperature, top_k: topK, top_p: topP } = wanted;
    try {
      return engine.translate([[...source]], {
        beam: search === "beam" ? wanted.beam : 1,
        alpha: wanted.alpha, penalty: wanted.length_penalty, stop: wanted.stop,
        minLength: wanted.min_length, maxRatio: wanted.max_ratio, maxExtra: wanted.max_extra,
        noRepeat: wanted.no_repeat_ngram_size,
        ...(search === "sample" && { temperature, topK, topP, seed }),
      })[0]!;
    } catch {
      return null; // the equations say in words what is wrong, or do it
    }
  };
}
