/** What is measured of heads, and what one of them reads in a sentence. */

import type { Answer, Portraits } from "../engine/engine";
import { listWords } from "../first/cuts";
import { at, type Tensor } from "../data/tensor";
import type { Groups } from "../data/words";

const OWN = ["mark", "itself", "previous", "next", "punctuation", "other"];
const CROSS = ["mark", "aligned", "before", "after", "punctuation", "other"];

/** The kinds of keys that the heads of a block tell apart, as `see/habits.py` lists them. */
export const kindsOf = (name: string): string[] => (name.includes("cross") ? CROSS : OWN);

/** Of each part of the network its blocks, the first layer first. */
export function listParts({ blocks }: Portraits): [part: "encoder" | "decoder" | "cross", names: string[]][] {
  const names = Object.keys(blocks);
  return [
    ["encoder", names.filter((name) => name.startsWith("encoder"))],
    ["decoder", names.filter((name) => name.startsWith("decoder") && !name.includes("cross"))],
    ["cross", names.filter((name) => name.includes("cross"))],
  ];
}

export const worst = ({ blocks }: Portraits): [name: string, head: number, without: number] =>
  Object.entries(blocks).flatMap(([name, { heads }]) => heads.map(({ without }, head): [string, number, number] => [name, head, without]))
    .reduce((most, each) => (each[2] > most[2] ? each : most));

/** One head's weights between words: rows are means over their tokens, shares of keys are summed. */
export function readWords(answer: Answer, name: string, head: number, weights: Tensor): { rows: string[]; keys: string[]; shares: number[][] } {
  const { sourceWords, targetWords } = answer;
  const [source, target] = [listWords(answer, "source"), listWords(answer, "target")];
  const end = answer.source.at(-1)!.text;
  const [sides, shifted] = [[...source, end], targetWords.map((group) => group.map((token) => token + 1))];
  const isSelf = name.startsWith("decoder") && !name.includes("cross");
  const rowGroups: Groups = name.startsWith("encoder") ? sourceWords : targetWords;
  const keyGroups: Groups = isSelf ? [[0], ...shifted.slice(0, -1)] : sourceWords;
  const mean = (group: readonly number[], key: readonly number[]) =>
    group.reduce((sum, row) => sum + key.reduce((all, m) => all + at(weights, [head, row, m]), 0), 0) / group.length;
  return {
    rows: name.startsWith("encoder") ? sides : [...target, ...(target.length < targetWords.length ? [answer.predicted.at(-1)!.text] : [])],
    keys: isSelf ? ["<s>", ...target].slice(0, keyGroups.length) : sides,
    shares: rowGroups.map((group) => keyGroups.map((key) => mean(group, key))),
  };
}
