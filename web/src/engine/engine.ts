/** A network that can be asked, wherever it runs: on the server, or in a worker of this page. */

import type { Prediction, Problem, Token, Whole } from "../data/document";
import type { Candidate, Models, Progress, Request } from "../data/server";
import type { Tensor } from "../data/tensor";
import type { Trace } from "../data/trace";
import type { Groups } from "../data/words";
import type { Changes, Edit } from "./edits";
import type { Circuit, CircuitRequest, Refusal } from "./circuits";
import type { Weighed } from "./weighing";

export interface Engine {
  readonly where: "server" | "worker";
  models(): Promise<Models>;
  /** The same, where it is known without asking. */
  readonly listed?: Models;
  /** All tokens of a model's target side, by id. */
  vocabulary(model: string): Promise<string[]>;
  /** The ids of a text of the target language. */
  tokens(model: string, text: string): Promise<number[]>;
  /** The words of a text that the model never met in training; [] where it cannot say. */
  unknown(model: string, text: string): Promise<string[]>;
  /** Translations drawn at random, as the settings of the request say, each as often as it came. */
  samples(request: Request, count: number, signal?: AbortSignal): Promise<string[]>;
  /**
   * A translation with what a first look at it needs; `open(answer.id)` has everything. `tell` hears what
   * is known before the search is done: a draft, which has no id and no attention, then its recording.
   */
  translate(request: Request, signal?: AbortSignal, tell?: (early: Answer) => void): Promise<Answer>;
  /** Translate and record everything; `tell` hears how far it is. */
  record(request: Request, tell?: (progress: Progress) => void, signal?: AbortSignal): Promise<Trace>;
  /** A recording that is still kept. */
  open(id: string): Promise<Trace>;
  /** The logits of the token that one row of the decoder predicts; `distribution.ts` reads them. */
  logits(id: string, step: number): Promise<Float32Array>;
  /** The same sentence under edits; null where the list is empty. */
  edit(trace: Trace, edits: readonly Edit[], signal?: AbortSignal): Promise<Outcome | null>;
  /** The log-probability of the tokens of `rows` together, with each group of source tokens cut. */
  cutEach(id: string, rows: readonly number[], groups: Groups, signal?: AbortSignal): Promise<number[]>;
  /** What each token adds to ln p of the tokens of `rows`, by gradients; null where nobody can say. */
  gradients(id: string, rows: readonly number[], signal?: AbortSignal): Promise<Gradients | null>;
  /** What one row would say after each layer of the decoder (logit lens): the likeliest, then `ids`. */
  lens(id: string, step: number, ids: readonly number[]): Promise<Candidate[][]>;
  /** What each head and block adds to the logit of a token; the parts sum to it. */
  pushes(id: string, step: number, token: number): Promise<Record<string, number>>;
  /** What each head of a model reads, and what breaks without it; null where nobody measured it. */
  portraits(model: string): Promise<Portraits | null>;
  /** The few edges that make a token likelier than its rival, against a counterpart; or why there are none. */
  /** `tell`: how many edges are left, where that is known. */
  circuit(id: string, request: CircuitRequest, signal?: AbortSignal, tell?: (left: number) => void): Promise<Circuit | Refusal | null>;
  /** What these edges keep of the lead. */
  keeps(id: string, request: CircuitRequest, edges: readonly number[], signal?: AbortSignal): Promise<number>;
  /** What each head matters to one token against another; null: the likeliest other. */
  weigh(id: string, step: number, rival: number | null, signal?: AbortSignal): Promise<Weighed | null>;
}

/** A translation, word by word, with the alternatives of each token and what each word reads. */
export interface Answer {
  id: string; // "": a draft
  model: string;
  text: string;
  translation: string;
  source: Token[]; // the last is the end mark
  predicted: Token[];
  predictions: Prediction[]; // of each of `predicted`: its probability and the likeliest others
  sourceWords: Groups; // tokens of `source`, the end mark a group of its own
  targetWords: Groups;
  attention: Tensor; // cross-attention between words, the mean of all layers and heads: rows sum to 1
  confidence: number | null; // the geometric mean of the probabilities of the tokens
  problems: Problem[];
  edits: Edit[];
  whole?: Whole | null; // the text and what its user gets, if that is not `text` and `translation`
}

/** What `extensions/lab/contributions.py` measures: a number for each token of the source and of the prefix. */
export interface Gradients {
  gradient: Sides; // times input
  integrated: Sides; // they sum to log_prob - baseline + gap
  log_prob: number;
  baseline: number; // with zeros in the place of all embedded tokens
  gap: number;
  points: number; // of the way, at which gradients were measured
}
type Sides = Record<"source" | "target", number[]>;

/** What `glassformer heads` measured over many sentences; `reads` and `even` are shares by kind. */
export interface Portraits {
  sentences: number;
  tokens: number;
  blocks: Record<string, { even: number[]; heads: Portrait[]; habits: (string | null)[] }>;
}

export interface Portrait {
  reads: number[];
  pairs: [reader: string, read: string, count: number][];
  without: number; // tokens that are no longer the likeliest
  loss: number; // by how much the mean -ln p rises
}

export interface Outcome {
  changes: Changes;
  base: Trace;
  forced: Trace; // the old translation under the edits
  after: Trace; // a new one under the edits
}
