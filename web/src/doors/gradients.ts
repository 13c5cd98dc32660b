/** Gradients of tokens, summed to words. */

import type { Answer, Gradients } from "../engine/engine";

interface Pair {
  gradient: number;
  integrated: number;
}

export interface Summed {
  gradient: number[]; // of each source word of `places`
  integrated: number[];
  before: Pair; // of the translation so far, the begin mark with it
  end: Pair; // of what stands in no row: the end mark, and words that are cut
}

const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);

export function sumWords(answer: Answer, found: Gradients, places: readonly number[]): Summed {
  const words = (values: readonly number[]) => places.map((m) => sum(answer.sourceWords[m]!.map((token) => values[token]!)));
  const both = (make: (kind: "gradient" | "integrated") => number): Pair => ({ gradient: make("gradient"), integrated: make("integrated") });
  return {
    gradient: words(found.gradient.source),
    integrated: words(found.integrated.source),
    before: both((kind) => sum(found[kind].target)),
    end: both((kind) => sum(found[kind].source) - sum(words(found[kind].source))),
  };
}

/** Decimals with which the largest of some numbers has three digits that count, two at least. */
export const decimalsFor = (largest: number): number => Math.min(8, Math.max(2, 2 - Math.floor(Math.log10(largest))));

/** The rank of one of them, from 1: how many are not smaller. */
export const rankOf = (values: readonly number[], place: number): number =>
  1 + values.filter((value) => value > values[place]!).length;
