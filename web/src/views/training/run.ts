/** A training that was watched: a run of the server, or the toy that comes with the pictures. */

import toy from "../../../../src/glassformer/extensions/pictures/toy.json";
import { getJson, getTensor } from "../../data/server";
import { strides, type Tensor } from "../../data/tensor";

export type Line = { step: number } & Record<string, number | null>;

export interface Watched {
  source: string;
  reference: string;
  source_tokens: string[];
  reference_tokens: string[];
  reference_ids: (number | null)[];
}

export interface Snapshot {
  step: number;
  translations: string[];
}

export interface Told {
  metrics: Line[];
  gradients: Line[];
  sentences: Watched[];
  snapshots: Snapshot[];
}

export interface Summary {
  id: string;
  name: string;
  step: number;
  total?: number | null;
  updated: number;
  has_watch: boolean;
  example: boolean; // it comes with the package
}

/** Probabilities of some tokens at each position of a reference; NaN where none was kept. */
export interface Rows {
  columns: string[];
  wanted: number[]; // the column of the right token of each row
  data: Float32Array;
  sums: (number | null)[]; // of each row over the whole vocabulary
  losses: number[]; // -ln of what the right token of each row got; NaN where its id is not known
}

export const TOY = "toy";
const WIDEST = 12;

export const isToy = (id: string): boolean => id === TOY;

/** The newest first; none where they cannot be had. */
export async function listRuns(): Promise<Summary[]> {
  return getJson<{ runs: Summary[] }>("runs").then(
    ({ runs }) => runs,
    () => [],
  );
}

export async function open(id: string): Promise<Told> {
  if (!isToy(id)) return getJson<Told>(`runs/${id}`);
  const sentences = toy.sentences.map((each) => ({
    ...each,
    reference_ids: each.reference_tokens.map((token) => toy.vocabulary.indexOf(token)),
  }));
  const metrics = toy.snapshots.map(({ step, loss }) => ({ step, loss }));
  const snapshots = toy.snapshots.map((each) => ({
    step: each.step,
    translations: each.log_probabilities.map((table) =>
      table
        .map((row) => toy.vocabulary[row.indexOf(Math.max(...row))])
        .filter((text) => text !== "</s>")
        .join(" "),
    ),
  }));
  return { metrics, gradients: toy.gradients as Line[], sentences, snapshots };
}

/**
 * A list with one more line or snapshot, or the list itself if it has that already. A training that goes
 * back to a checkpoint removes what it wrote of later steps: what is of `end` or later is dropped.
 */
export function append<T extends { step: number }>(list: T[], each: T, end = each.step + 1): T[] {
  const text = JSON.stringify(each);
  if (list.some((other) => other.step === each.step && JSON.stringify(other) === text)) return list;
  return [...list.filter(({ step }) => step < end), each];
}

/** What a snapshot holds, by name. */
export async function list(id: string, step: number): Promise<Record<string, number[]>> {
  if (isToy(id)) return {};
  return (await getJson<{ tensors: Record<string, number[]> }>(`runs/${id}/snapshots/${step}`)).tensors;
}

const kept = new Map<string, Promise<Tensor>>();

export function read(id: string, step: number, name: string): Promise<Tensor> {
  const path = `runs/${id}/snapshots/${step}/tensors/${name}`;
  let found = kept.get(path);
  if (!found) {
    if (kept.size > 400) kept.clear();
    kept.set(path, (found = getTensor(path)));
    found.catch(() => kept.delete(path));
  }
  return found;
}

/** A training that goes back writes snapshots anew. */
export const forgetTensors = (): void => kept.clear();

/** The distributions of one sentence at one step. */
export async function readRows(id: string, told: Told, step: number, sentence: number): Promise<Rows> {
  const watched = told.sentences[sentence]!;
  if (isToy(id)) {
    const table = toy.snapshots.find((each) => each.step === step)!.log_probabilities[sentence]!;
    const whole = { shape: [table.length, toy.vocabulary.length], data: Float32Array.from(table.flat()) };
    return spread(
      watched,
      toy.vocabulary.map((_, id) => id),
      toy.vocabulary,
      { whole },
    );
  }
  const has = await list(id, step);
  const take = (name: string) => read(id, step, `${sentence}.${name}`);
  const ids = [...new Set(watched.reference_ids.filter((each) => each !== null))].slice(0, 2 * WIDEST);
  const names = ids.map((each) => watched.reference_tokens[watched.reference_ids.indexOf(each)]!);
  if (has[`${sentence}.log_probabilities`]) return spread(watched, ids, names, { whole: await take("log_probabilities") });
  const [top, logs, own] = await Promise.all(
    ["top_ids", "top_log_probabilities", "reference_log_probabilities"].map(take) as [
      Promise<Tensor>,
      Promise<Tensor>,
      Promise<Tensor>,
    ],
  );
  return spread(watched, ids, names, { top, logs, own });
}

type Kept = { whole: Tensor } | { top: Tensor; logs: Tensor; own: Tensor };

/** Cut the columns of some ids out of what was kept. */
export function spread(watched: Watched, ids: number[], columns: string[], kept: Kept): Rows {
  const rows = watched.reference_tokens.length;
  const data = new Float32Array(rows * ids.length).fill(Number.NaN);
  const wanted = watched.reference_ids.map((id) => (id === null ? -1 : ids.indexOf(id)));
  const sums: (number | null)[] = [];
  const losses: number[] = [];
  for (let t = 0; t < rows; t++) {
    if ("whole" in kept) {
      const width = kept.whole.shape[1]!;
      const logs = kept.whole.data.subarray(t * width, (t + 1) * width);
      const row = logs.map(Math.exp);
      ids.forEach((id, j) => (data[t * ids.length + j] = row[id]!));
      losses.push(-(logs[watched.reference_ids[t] ?? -1] ?? Number.NaN));
      sums.push(row.reduce((sum, each) => sum + each, 0));
      continue;
    }
    const width = strides(kept.top.shape)[0]!;
    for (let n = 0; n < width; n++) {
      const column = ids.indexOf(kept.top.data[t * width + n]!);
      if (column >= 0) data[t * ids.length + column] = Math.exp(kept.logs.data[t * width + n]!);
    }
    if (wanted[t]! >= 0) data[t * ids.length + wanted[t]!] = Math.exp(kept.own.data[t]!);
    losses.push(-kept.own.data[t]!);
    sums.push(null);
  }
  return { columns, wanted, data, sums, losses };
}

/** What training asks for: all on the right token, but `smoothing` spread over all tokens. */
export function aim(rows: Rows, smoothing: number, vocabulary: number): Float32Array {
  const width = rows.columns.length;
  const data = new Float32Array(rows.data.length).fill(smoothing / vocabulary);
  rows.wanted.forEach((column, t) => {
    if (column >= 0) data[t * width + column]! += 1 - smoothing;
  });
  return data;
}

/** Mean entropy of the rows of each head, in nats. */
export function entropies(weights: Tensor): number[] {
  const [heads = 0, queries = 0, keys = 0] = weights.shape;
  return Array.from({ length: heads }, (_, h) => {
    let sum = 0;
    const start = h * queries * keys;
    for (let n = start; n < start + queries * keys; n++) {
      const weight = weights.data[n]!;
      if (weight > 0) sum -= weight * Math.log(weight);
    }
    return sum / (queries || 1);
  });
}

/** The lines with a number under a key, in their order; what is written twice counts once. */
export function curveOf(lines: readonly Line[], key: string): [number, number][] {
  const found = new Map<number, number>();
  for (const line of lines) {
    const value = line[key];
    if (typeof value === "number" && Number.isFinite(value)) found.set(line.step, value);
  }
  return [...found].sort((a, b) => a[0] - b[0]);
}

export function keysOf(lines: readonly Line[]): string[] {
  const numeric = lines.flatMap((line) => Object.entries(line).filter(([, value]) => typeof value === "number"));
  return [...new Set(numeric.map(([key]) => key))].filter((key) => key !== "step");
}
