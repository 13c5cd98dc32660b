/** Why an answer is right, in the numbers of the run: each reason is a text of the table and what fills it. */

import { engine } from "../engine";
import type { Answer } from "../engine/engine";
import { percent, withSign } from "../format";
import type { Fill } from "../messages";
import type { say } from "./say";

export interface Reason {
  key: Extract<Parameters<typeof say>[0], `why.${string}`>;
  fill: Fill;
}

/** By how much the logit of one token exceeds that of another, at a row. */
async function findLead({ id }: Answer, row: number, token: number, other: number): Promise<number> {
  const logits = await engine.logits(id, row);
  return logits[token]! - logits[other]!;
}

/** The first token that another run of the sentence says differently: how far it led the other, and leads now. */
export async function explainChange(before: Answer, after: Answer, edit: string): Promise<Reason> {
  const row = before.predicted.findIndex(({ id }, n) => id !== after.predicted[n]?.id);
  const [said, instead] = [before.predicted[row], after.predicted[row]];
  if (!said || !instead) return explainSameness(before, after, edit);
  const leads = await Promise.all([before, after].map((each) => findLead(each, row, said.id, instead.id)));
  const key = leads[0]! > 0 && leads[1]! < 0 ? "why.turned" : "why.changed";
  return { key, fill: { edit, said: said.text.trim(), instead: instead.text.trim(), before: withSign(leads[0]!), after: withSign(leads[1]!) } };
}

/** Nothing changed: the token whose lead over the next is the least, and what the lead was. */
export async function explainSameness(before: Answer, after: Answer, edit: string): Promise<Reason> {
  const rows = after.predictions.map(({ ids, log_probs, log_prob }, row) => {
    const n = ids.findIndex((id) => id !== after.predicted[row]!.id);
    return { row, lead: log_prob - log_probs[n]!, other: ids[n]!, text: after.predictions[row]!.texts[n]! };
  });
  const { row, other, text, lead } = rows.reduce((least, each) => (each.lead < least.lead ? each : least));
  const said = after.predicted[row]!;
  const was = await findLead(before, row, said.id, other);
  return { key: "why.same", fill: { edit, said: said.text.trim(), instead: text.trim(), before: withSign(was), after: withSign(lead) } };
}

/** Two things of a list: the one with most (or least, by the sign) of something, and the next. */
export function findTwo<T>(all: readonly T[], measure: (each: T) => number): [T, T | undefined] {
  const [first, second] = [...all].sort((one, other) => measure(other) - measure(one));
  return [first!, second];
}

export const shares = (given: Record<string, number>): Fill => Object.fromEntries(Object.entries(given).map(([key, each]) => [key, percent(each)]));
