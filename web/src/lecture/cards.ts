/** The ten cards, from text to translation: what each asks of the sentence on screen, and the answer. */

import { blockOf, headsOf, layersOf } from "../data/derive";
import { callHead } from "../parts/heads";
import { at, type Tensor } from "../data/tensor";
import type { Trace } from "../data/trace";
import type { Answer } from "../engine/engine";
import { listWords, probabilityOf } from "../first/cuts";
import { percent } from "../format";
import { say } from "./say";

/** In their order, each with the card of the story that says more. */
export const CARDS = {
  text: "V01", tokens: "V10", vectors: "V14", positions: "V19", attention: "V32",
  heads: "V42", mask: "V58", cross: "V77", choice: "V80", loop: "V74",
} as const;
export type Card = keyof typeof CARDS;
export const ORDER = Object.keys(CARDS) as Card[];

/** The sentence that all cards speak of. */
export interface Shown {
  trace: Trace;
  answer: Answer;
  focus: number; // the word of the translation that is looked at
  parameters: number;
}

export interface Asked {
  options: readonly string[];
  right: number;
  fill: Record<string, string | number>; // what the texts of the card are filled with
  look?: Look;
}

/** One row of one head: who reads, and how much of whom. */
export interface Look {
  block: string;
  layer: number;
  head: number;
  row: number;
  shares: number[];
}

/** `#/lecture/3`: the card of an address, from 0. */
export function readPlace(view: string): number {
  const number = Number.parseInt(view.split("/")[1] ?? "1", 10);
  return Math.min(ORDER.length, Math.max(1, Number.isFinite(number) ? number : 1)) - 1;
}

export const writePlace = (place: number): string => `lecture/${place + 1}`;

export async function ask(card: Card, shown: Shown): Promise<Asked> {
  const { trace, answer, focus, parameters } = shown;
  const { source, predicted } = trace;
  const yesOrNo = [say("yes"), say("no")];
  const fill = { d: trace.document.settings.d_model, S: source.length, T: predicted.length };
  switch (card) {
    case "text": {
      const format = new Intl.NumberFormat("en");
      const options = [1000, parameters, 10 ** 9, 10 ** 12].map((each) => format.format(each));
      return { options, right: 1, fill };
    }
    case "tokens":
      return count(source.length, [1, Array.from(answer.text).length], fill);
    case "vectors":
      return { options: yesOrNo, right: 0, fill };
    case "positions":
      return { options: yesOrNo, right: 1, fill };
    case "attention": {
      const look = await findLook(trace);
      const most = look.shares.indexOf(Math.max(...look.shares));
      const offered = [...new Set([most, look.row, 0, source.length - 2])].sort((one, other) => one - other);
      const options = offered.map((place) => say("token", { word: source[place]!.text.trim(), n: place })); // from 0, as layers and heads
      const told = { ...fill, word: source[look.row]!.text.trim(), layer: look.layer, head: look.head, named: callHead(trace.document, look.block, look.head) };
      return { options, right: offered.indexOf(most), fill: told, look };
    }
    case "heads": {
      const shared = await measureAgreement(trace);
      const options = (["little", "half", "nearly"] as const).map((each) => say(`cards.heads.${each}`));
      return { options, right: [0.3, 0.7].filter((bound) => shared >= bound).length, fill: { ...fill, share: percent(shared) } };
    }
    case "mask": {
      const options = (["all", "before", "last"] as const).map((each) => say(`cards.mask.${each}`));
      return { options, right: 1, fill: { ...fill, word: listWords(answer, "target")[focus]! } };
    }
    case "cross": {
      const options = listWords(answer, "source");
      const shares = options.map((_, place) => at(answer.attention, [focus, place]));
      return { options, right: shares.indexOf(Math.max(...shares)), fill: { ...fill, word: listWords(answer, "target")[focus]! } };
    }
    case "choice": {
      const options = (["half", "most", "all"] as const).map((each) => say(`cards.choice.${each}`));
      const sure = probabilityOf(answer, focus);
      const right = [0.5, 0.95].filter((bound) => sure >= bound).length;
      return { options, right, fill: { ...fill, word: listWords(answer, "target")[focus]!, sure: percent(sure) } };
    }
    case "loop":
      return count(predicted.length, [1, 2 * predicted.length], fill);
  }
}

/** Numbers to choose from, in their order. */
function count(right: number, others: number[], fill: Asked["fill"]): Asked {
  const options = [...new Set([right, ...others])].sort((one, other) => one - other);
  return { options: options.map(String), right: options.indexOf(right), fill };
}

/** The encoder's row that reads another token most, of those that stand for letters, if there are any. */
async function findLook(trace: Trace): Promise<Look> {
  let found: Look | null = null;
  let most = -1;
  const last = trace.source.length - 1;
  const lettered = trace.source.map(({ text }, place) => place < last && /\p{L}/u.test(text) && !/^<.*>$/.test(text));
  const isRead = (place: number) => (lettered.includes(true) ? lettered[place]! : place < last);
  for (let layer = 0; layer < layersOf(trace, "encoder"); layer++) {
    const block = blockOf("encoder", layer);
    const weights = await trace.tensor(`${block}.weights`);
    headsOf(weights).forEach((one, head) => {
      trace.source.forEach((_, row) => {
        if (!isRead(row)) return;
        const shares = trace.source.map((_, key) => at(one, [row, key]));
        const best = Math.max(...shares.map((share, key) => (key === row || !isRead(key) ? 0 : share)));
        if (best > most) [most, found] = [best, { block, layer, head, row, shares }];
      });
    });
  }
  return found!;
}

/** Of what two heads of a layer read, how much they share: the mean over all pairs, rows and layers. */
async function measureAgreement(trace: Trace): Promise<number> {
  const shared: number[] = [];
  for (let layer = 0; layer < layersOf(trace, "encoder"); layer++) {
    const heads = headsOf(await trace.tensor(`${blockOf("encoder", layer)}.weights`));
    heads.forEach((one, n) => heads.slice(n + 1).forEach((other) => shared.push(overlap(one, other))));
  }
  return shared.length ? shared.reduce((sum, each) => sum + each, 0) / shared.length : 1;
}

/** Rows sum to 1, and so do the smaller of two equal ones. */
function overlap(one: Tensor, other: Tensor): number {
  return one.data.reduce((sum, share, n) => sum + Math.min(share, other.data[n]!), 0) / one.shape[0]!;
}
