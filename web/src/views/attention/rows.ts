/** Both sides of an attention block, as tokens or as words. */

import type { Token } from "../../data/document";
import type { Trace } from "../../data/trace";
import { groupWords, single, spell, type Groups } from "../../data/words";
import { token } from "../../format";
import { say } from "../../say";

export interface Side {
  groups: Groups;
  labels: string[];
}

export interface Sides {
  queries: Side;
  keys: Side;
  predicts: string[]; // of each row of the decoder; else empty
}

function side(tokens: readonly Token[], text: string, isWords: boolean): Side {
  const groups = isWords ? groupWords(tokens, text) : single(tokens);
  return { groups, labels: groups.map((group) => token(spell(tokens, group))) };
}

export function sidesOf(trace: Trace, block: string, isWords: boolean): Sides {
  const source = () => side(trace.source, trace.document.text, isWords);
  const target = () => side(trace.target, trace.document.translation, isWords);
  if (block.startsWith("encoder")) return { queries: source(), keys: source(), predicts: [] };
  const queries = target();
  const predicts = queries.groups.map((group) => token(trace.predicted[group.at(-1)!]!.text));
  return { queries, keys: block.includes("cross") ? source() : target(), predicts };
}

/** What the rows of a block are: those that read, and in the decoder what they predict. */
export const titleRows = (block: string): string =>
  say("attention.reads") + (block.startsWith("decoder") ? ` → ${say("attention.predicts")}` : "");

/** Those that read; a row of the decoder with what it predicts. */
export function labelRows({ queries, predicts }: Sides): string[] {
  return queries.labels.map((label, q) => (predicts[q] === undefined ? label : `${label} → ${predicts[q]}`));
}
