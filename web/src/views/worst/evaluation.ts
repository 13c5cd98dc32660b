/** What `evaluate --store` keeps in a model directory: scores, and the worst sentences. */

import { getJson } from "../../data/server";

export const METRICS = ["chrF2", "BLEU", "TER", "confidence"] as const;
export type Metric = (typeof METRICS)[number];

export interface System {
  system: string;
  translation: string;
  scores: Record<string, number>;
  confidence: number | null;
  flags: Record<string, string>;
}

export interface Sentence {
  line: number;
  source: string | null;
  references: string[];
  systems: System[]; // the model's own first
}

export interface Evaluation {
  sentences: number; // of the test set
  worst: Sentence[];
}

/** Of several systems that were evaluated together, the scores of each are in a list. */
type Stored = Evaluation & { systems?: { sentences: number }[] };

export async function load(model: string): Promise<Evaluation | null> {
  const { evaluation } = await getJson<{ evaluation: Stored | null }>(
    `models/${encodeURIComponent(model)}/evaluation`,
  );
  if (!evaluation) return null;
  return { sentences: evaluation.systems?.[0]?.sentences ?? evaluation.sentences, worst: evaluation.worst };
}

/** The sentences, the worst first by one metric: TER is the only one that is better if it is low. */
export function list({ worst }: Evaluation, by: Metric): Sentence[] {
  const value = ({ systems: [own] }: Sentence) =>
    by === "confidence" ? (own!.confidence ?? 1) : (own!.scores[by] ?? 0) * (by === "TER" ? -1 : 1);
  return [...worst].sort((a, b) => value(a) - value(b) || a.line - b.line);
}
