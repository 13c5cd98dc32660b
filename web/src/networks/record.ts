/** The three networks, what each records of a sentence, and what it does at each step of a clock. */

import type { Prediction, Token } from "../data/document";
import { getJson, sendJson } from "../data/server";

export const NETWORKS = [
  { key: "rnn", model: "demo-rnn" },
  { key: "attention", model: "demo-rnn-attention" },
  { key: "transformer", model: "demo" },
] as const;
export type NetworkKey = (typeof NETWORKS)[number]["key"];

export interface Recorded {
  key: NetworkKey;
  text: string;
  translation: string;
  source: Token[];
  predicted: Token[];
  predictions: Prediction[];
  attention: number[][]; // of each of `predicted` to each of `source`; [] without attention
  d_model: number;
}

type Answered = Omit<Recorded, "key">;

/** Recordings that the page carries instead of a server, by their sentences: see site/build.py. */
const carried = typeof document === "undefined" ? null : document.getElementById("networks")?.textContent;
export const CARRIED = carried ? (JSON.parse(carried) as Record<string, Answered[]>) : null;

/** Record a sentence with each network, one after the other, by greedy search. */
export async function recordAll(text: string, tell: (one: Recorded) => void, signal: AbortSignal): Promise<void> {
  if (CARRIED) {
    NETWORKS.forEach(({ key }, n) => CARRIED[text] && tell({ ...CARRIED[text][n]!, key }));
    return;
  }
  for (const { key, model } of NETWORKS) {
    const decode = { search: "greedy" };
    const { id } = await sendJson<{ id: string }>("trace", { model, text, decode, base: false });
    if (signal.aborted) return;
    const found = await getJson<Answered>(`traces/${id}/answer`);
    if (signal.aborted) return;
    tell({ ...found, key });
  }
}

/** Steps that wait for one another: a recurrent network reads each token in its turn. */
export function countSteps(one: Recorded): number {
  return countReading(one) + one.predicted.length;
}

const countReading = (one: Recorded): number => (one.key === "transformer" ? 1 : one.source.length);

export interface Moment {
  read: number; // tokens that have been read
  written: number; // tokens that have been written
  row: number; // of the step that writes; -1 while it reads, or when it is done
  isDone: boolean;
}

/** What a network has done after so many steps. */
export function momentOf(one: Recorded, step: number): Moment {
  const reading = countReading(one);
  const read = step < reading ? (one.key === "transformer" ? 0 : step) : one.source.length;
  const written = Math.max(0, Math.min(one.predicted.length, step - reading));
  return { read, written, row: written - 1, isDone: step >= countSteps(one) };
}
