/** What is computed from attention rather than recorded; each says so where it is shown. */

import { at, part, zeros, type Tensor } from "./tensor";
import type { Trace } from "./trace";

export type Kind = "encoder" | "decoder" | "cross";

export function blockOf(kind: Kind, layer: number): string {
  return kind === "cross" ? `decoder.${layer}.cross_attention` : `${kind}.${layer}.self_attention`;
}

export const layersOf = (trace: Trace, kind: Kind): number => trace.layers(kind === "encoder" ? "encoder" : "decoder");

/** Of a cell of each, all of one shape: their mean, or what else is made of them. */
function fold(tensors: readonly Tensor[], make: (values: number[]) => number): Tensor {
  const found = zeros(...tensors[0]!.shape);
  for (let place = 0; place < found.data.length; place++) {
    found.data[place] = make(tensors.map((tensor) => tensor.data[place]!));
  }
  return found;
}

const average = (values: number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;

export function headsOf(weights: Tensor): Tensor[] {
  return Array.from({ length: weights.shape[0]! }, (_, head) => part(weights, head));
}

/** Q M; rows still sum to 1. */
export const meanOfHeads = (weights: Tensor): Tensor => fold(headsOf(weights), average);

/** Q M; rows no longer sum to 1. */
export const maxOfHeads = (weights: Tensor): Tensor => fold(headsOf(weights), (values) => Math.max(...values));

/** A head's share of what all heads of its layer give to a pair. */
export function shareOfHead(weights: Tensor, head: number): Tensor {
  return fold(headsOf(weights), (values) => {
    const all = values.reduce((sum, each) => sum + each, 0);
    return all > 0 ? values[head]! / all : 0;
  });
}

/** Attention of a head, a layer (head -1) or all layers (layer -1): Q M. */
export async function attentionOf(trace: Trace, kind: Kind, layer: number, head: number): Promise<Tensor> {
  await trace.attention();
  const one = async (each: number) => {
    const weights = await trace.tensor(`${blockOf(kind, each)}.weights`);
    return head < 0 ? meanOfHeads(weights) : part(weights, head);
  };
  if (layer >= 0) return one(layer);
  const layers = Array.from({ length: layersOf(trace, kind) }, (_, each) => one(each));
  return fold(await Promise.all(layers), average);
}

/** -Σ w ln w: 0 where all attention is on one, ln n where n share it alike. */
export function entropy(row: ArrayLike<number>): number {
  let found = 0;
  for (let place = 0; place < row.length; place++) {
    const weight = row[place]!;
    if (weight > 0) found -= weight * Math.log(weight);
  }
  return found;
}

/** Weight times the length of the value that it is given to (Kobayashi et al. 2020); Q M. */
export async function weighValues(trace: Trace, block: string, head: number): Promise<Tensor> {
  const [weights, values] = await Promise.all([trace.tensor(`${block}.weights`, head), trace.tensor(`${block}.value`, head)]);
  const lengths = Array.from({ length: values.shape[0]! }, (_, m) => Math.hypot(...part(values, m).data));
  const found = zeros(...weights.shape);
  for (let place = 0; place < found.data.length; place++) {
    found.data[place] = weights.data[place]! * lengths[place % lengths.length]!;
  }
  return found;
}

function times(a: Tensor, b: Tensor): Tensor {
  const [rows, inner, columns] = [a.shape[0]!, a.shape[1]!, b.shape[1]!];
  const found = zeros(rows, columns);
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < inner; k++) {
      const factor = a.data[row * inner + k]!;
      if (!factor) continue;
      for (let column = 0; column < columns; column++) {
        found.data[row * columns + column]! += factor * b.data[k * columns + column]!;
      }
    }
  }
  return found;
}

function eye(rows: number, columns = rows): Tensor {
  const found = zeros(rows, columns);
  for (let place = 0; place < rows; place++) found.data[place * columns + place] = 1;
  return found;
}

/**
 * Attention followed through all layers (Abnar and Zuidema 2020). In each sub-layer half of a
 * position stays what it was, half is the mean of its heads. The encoder's is S S; that of the
 * decoder T (T + S): its own tokens first, then those of the source. "cross" is its last part.
 */
export async function rollOut(trace: Trace, kind: Kind): Promise<Tensor> {
  await trace.attention();
  const [sources, targets] = [trace.source.length, trace.target.length];
  const mix = async (x: Tensor, block: string, read: Tensor) => {
    const seen = times(meanOfHeads(await trace.tensor(`${block}.weights`)), read);
    return fold([x, seen], average);
  };
  let memory = eye(sources);
  for (let layer = 0; layer < trace.layers("encoder"); layer++) {
    memory = await mix(memory, blockOf("encoder", layer), memory);
  }
  if (kind === "encoder") return memory;
  const wide = zeros(sources, targets + sources);
  for (let row = 0; row < sources; row++) {
    wide.data.set(part(memory, row).data, row * (targets + sources) + targets);
  }
  let x = eye(targets, targets + sources);
  for (let layer = 0; layer < trace.layers("decoder"); layer++) {
    x = await mix(x, blockOf("decoder", layer), x);
    x = await mix(x, blockOf("cross", layer), wide);
  }
  const start = kind === "cross" ? targets : 0;
  const width = kind === "cross" ? sources : targets;
  const found = zeros(targets, width);
  for (let row = 0; row < targets; row++) {
    for (let column = 0; column < width; column++) {
      found.data[row * width + column] = at(x, [row, start + column]);
    }
  }
  return found;
}
