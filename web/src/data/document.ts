/** What a recording says of itself: `trace.json`, the op-graph and the catalogue. */

export type Level = "attention" | "states" | "everything";

export interface Token {
  text: string;
  id: number;
  start: number;
  end: number;
}

export interface Prediction {
  log_prob: number;
  rank: number;
  entropy: number;
  ids: number[];
  texts: string[];
  log_probs: number[];
  draw_prob?: number | null; // with which a sample draws the token that came
  draw_probs?: number[]; // and those of `ids`; empty where nothing was sampled
}

export type Fate =
  | "KEPT" | "FINISHED" | "CUT" | "STOPPED" | "OUTRANKED" | "REPEATS" | "TOO_SHORT";

export interface Considered {
  parent: number;
  row: number | null;
  id: number;
  text: string;
  token_log_prob: number;
  log_prob: number;
  score: number;
  fate: Fate;
  why: string;
}

export interface Found {
  ids: number[];
  text: string;
  log_prob: number;
  score: number;
  finished: boolean;
}

/** How words are chosen; what is left out is as the model's own settings have it. */
export interface Decode {
  search: "beam" | "greedy" | "sample";
  beam: number;
  length_penalty: "gnmt" | "power" | "none";
  alpha: number;
  temperature: number;
  top_k: number;
  top_p: number;
  [other: string]: string | number;
}

export interface Search {
  settings: Decode;
  seed: number;
  prefix: number;
  hypotheses: Found[];
  chosen: number | null;
  steps: Considered[][];
}

/** Which characters of a text a sentence is, and which of its translation. */
export interface Sentence {
  source: [number, number];
  target: [number, number];
}

/** A text of which one sentence was recorded, and its translation as the user gets it. */
export interface Whole {
  text: string;
  translation: string;
  sentences: Sentence[];
  chosen: number;
}

/** Something that looks wrong with a translation. */
export interface Problem {
  kind: string;
  said: string;
}

export interface Positions {
  layout: "interleaved" | "concatenated" | "learned";
  grid: "paper" | "tensor2tensor";
  offset: number;
  amplitude: number;
  max_positions: number;
  combine?: "add" | "multiply" | "concatenate"; // absent in old recordings: add
}

export interface ModelSettings {
  network?: string; // absent in old recordings: a Transformer
  d_model: number;
  d_ff: number;
  heads: number;
  head_width: number | null;
  encoder_layers: number;
  decoder_layers: number;
  decoder?: "attention" | "ssru"; // absent in old recordings: attention
  norm: "post" | "pre";
  norm_epsilon: number;
  activation: "relu" | "silu" | "gelu";
  tie: string;
  output_bias: boolean;
  positions: Positions;
  embedding_norm?: boolean;
  ablate?: string[]; // what the network does without
}

export interface Stored {
  file: string;
  shape: number[];
  dims: string[];
}

export interface TraceDocument {
  schema_version: number;
  glassformer: string;
  text: string;
  translation: string;
  source: Token[];
  target: Token[];
  predicted: Token[];
  settings: ModelSettings;
  habits?: Record<string, (string | null)[]>; // what the heads of each block read most over many sentences
  source_vocabulary: number;
  target_vocabulary: number;
  level: Level;
  confidence?: number | null;
  predictions: Prediction[];
  search: Search | null;
  numerics: {
    decoded_in: string;
    recorded_in: string;
    device: string;
    largest_difference: number | null;
    chosen_differently: number[];
  };
  edits: Record<string, unknown>[];
  whole?: Whole | null;
  tolerance: number | null;
  tensors: Record<string, Stored>;
}

/** One axis of a tensor: its letter, what it counts, and how many there are. */
export interface Axis {
  letter: string;
  dim: string;
  size: number;
}

/** How the cells of one tensor are made of others. */
export interface Op {
  name: string;
  kind: "input" | "parameter" | "window" | "derived";
  axes: Axis[];
  equation: string | null; // the right side, in full names; null for what is given
  sizes: Record<string, number>; // how far each letter runs
  module: string; // the class of the module that makes it, where that has no windows
  derived: boolean;
  entry?: Partial<Entry>; // where this network differs from the paper's
}

/** What the catalogue says of a tensor. */
export interface Entry {
  symbol: string;
  section: string;
  en: string;
  zh: string;
}
