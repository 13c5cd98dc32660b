/** The edits of see/edit.py as a list that is changed, undone, kept in the address and replayed. */

import type { Edit, What } from "../../engine/edits";

const KINDS = ["silence", "mean", "pin", "row", "swap", "word", "prefix", "without", "cut"];

/** A list of edits, or an object with one, as the command line reads it. Throws a sentence. */
export function readEdits(text: string): Edit[] {
  if (!text.trim()) return [];
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error("no JSON");
  }
  if (found && typeof found === "object" && "edits" in found) found = found.edits;
  if (!Array.isArray(found)) throw new Error('a list of edits is needed, as [{"do": "silence", ...}]');
  found.forEach((each: { do?: string } | null, n) => {
    if (!KINDS.includes(each?.do ?? "")) throw new Error(`edit ${n + 1}: "do" is one of ${KINDS.join(", ")}`);
  });
  return found as Edit[];
}

export const writeEdits = (edits: readonly Edit[]): string => (edits.length ? JSON.stringify(edits) : "");

export function isHead(edit: Edit, block: string, head: number): boolean {
  return (edit.do === "silence" || edit.do === "mean") && edit.name === block && edit.head === head;
}

/** Silence a head, or give it the mean; once more, and it speaks again. */
export function toggleHead(edits: readonly Edit[], how: "silence" | "mean", block: string, head: number): Edit[] {
  const others = edits.filter((edit) => !isHead(edit, block, head));
  const before = edits.find((edit) => isHead(edit, block, head));
  return before?.do === how ? others : [...others, { do: how, name: block, head }];
}

/** All heads of a block at once; once more, and all speak again. */
export function toggleLayer(edits: readonly Edit[], how: "silence" | "mean", block: string, heads: number): Edit[] {
  const all = Array.from({ length: heads }, (_, head): Edit => ({ do: how, name: block, head }));
  const others = edits.filter((edit) => !all.some((_, head) => isHead(edit, block, head)));
  const isOn = all.every((_, head) => edits.some((edit) => isHead(edit, block, head) && edit.do === how));
  return isOn ? others : [...others, ...all];
}

export function toggleWithout(edits: readonly Edit[], what: What): Edit[] {
  const others = edits.filter((edit) => !(edit.do === "without" && edit.what === what && !edit.name));
  return others.length < edits.length ? others : [...others, { do: "without", what }];
}

/** In one line, as a person would say it to a machine. */
export function describe(edit: Edit): string {
  const head = "head" in edit && edit.head !== undefined ? ` head ${edit.head}` : "";
  switch (edit.do) {
    case "silence":
    case "mean":
      return `${edit.do} ${edit.name}${head}`;
    case "pin":
      return `pin ${edit.name}${head}${edit.query === undefined ? "" : ` query ${edit.query}`} → key ${edit.key}`;
    case "row":
      return `${edit.name}${head}[${edit.position}] ${edit.factor === undefined ? "= …" : `× ${edit.factor}`}`;
    case "swap":
      return `${edit.name}[${edit.position}] ← “${edit.sentence}”[${edit.other}]`;
    case "word":
      return `“${edit.word}” → “${edit.by}”`;
    case "prefix":
      return `“${edit.text}…”`;
    case "without":
      return `without ${edit.what}${edit.name ? ` in ${edit.name}` : ""}`;
    case "cut":
      return `✂ “${edit.word}”`;
  }
}

/** Shares that sum to 1 after one of them was drawn to `value`; the others keep their proportions. */
export function drawShare(shares: readonly number[], place: number, value: number): number[] {
  const own = Math.max(0, Math.min(1, value));
  const rest = shares.reduce((sum, share, n) => (n === place ? sum : sum + share), 0);
  const others = Math.max(1, shares.length - 1);
  return shares.map((share, n) => {
    if (n === place) return shares.length === 1 ? 1 : own;
    return rest > 0 ? (share / rest) * (1 - own) : (1 - own) / others;
  });
}
