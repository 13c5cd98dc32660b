/** Twelve kinds of puzzles, made and judged by the network: no answer stands in a list. */

import { at } from "../data/tensor";
import type { Model } from "../data/server";
import { engine } from "../engine";
import type { Answer } from "../engine/engine";
import { listChanges, listWords, probabilityOf, wordAt } from "../first/cuts";
import { drawSentence, findSwap, sentencesOf } from "../first/examples";
import { cutEach, type Outcome, type Retranslate } from "../first/outcomes";
import type { Fill } from "../messages";
import { addHabit } from "../parts/heads";
import { rank } from "../views/whatif/weighing";
import { pick, shuffle } from "./random";
import { say } from "./say";

export interface Puzzle {
  kind: Kind;
  answer: Answer; // of its sentence, with nothing cut
  fill: Fill; // of its question
  options?: string[]; // one of them is right,
  right?: number; // this one
  solves?: (cut: Answer) => boolean; // or a cut is: of one word, whose translation this is
  solution?: string; // the word whose cut solves it
  steps?: string[]; // or things have their order, in which they stand here
  hint: Hint;
}

/** A picture that helps: the threads of the sentence, or bars without their names. */
export type Hint = { threads: Answer } | { bars: number[] };

/** What puzzles are made with. */
export interface Workshop {
  model: Model;
  random: () => number;
  retranslate: Retranslate;
}

type Maker = (answer: Answer, shop: Workshop) => Promise<Omit<Puzzle, "kind" | "answer"> | null>;

const MOST_OPTIONS = 5;
const TRIES = 8; // sentences, until one has what a kind needs
const isWord = (word: string) => /[\p{L}\p{N}]/u.test(word);

/** The right one among others, in the order in which they are in the sentence, or shuffled. */
function offer(right: string, others: readonly string[], shop: Workshop, order?: readonly string[]) {
  const drawn = shuffle([...new Set(others)].filter((each) => each !== right), shop.random).slice(0, MOST_OPTIONS - 1);
  const options = order ? order.filter((each) => each === right || drawn.includes(each)) : shuffle([right, ...drawn], shop.random);
  return { options: [...new Set(options)], right: [...new Set(options)].indexOf(right) };
}

/** A word of the translation, by its place. */
const pickWord = (answer: Answer, random: () => number): number => {
  const words = listWords(answer, "target");
  return pick(words.map((_, q) => q).filter((q) => isWord(words[q]!)), random);
};

async function listOutcomes(answer: Answer, { retranslate }: Workshop): Promise<Outcome[]> {
  const found: Outcome[] = [];
  for await (const each of cutEach(answer, retranslate)) found.push(each);
  return found;
}

/** The changes of an outcome: what was said, and what is said in its place. */
const changesOf = ({ said, answer }: Outcome) => listChanges(said, listWords(answer, "target"));

const MAKERS = {
  async read(answer, shop) {
    const [q, words] = [pickWord(answer, shop.random), listWords(answer, "source")];
    const shares = words.map((_, m) => at(answer.attention, [q, m]));
    const most = words[shares.indexOf(Math.max(...shares))]!;
    return { fill: { word: wordAt(answer, "target", q) }, ...offer(most, words, shop, words), hint: { bars: shares } };
  },
  async need(answer, shop) {
    const [q, words] = [pickWord(answer, shop.random), listWords(answer, "source")];
    const places = words.map((_, m) => m).filter((m) => isWord(words[m]!));
    const left = await engine.cutEach(answer.id, answer.targetWords[q]!, places.map((m) => answer.sourceWords[m]!));
    const needed = words[places[left.indexOf(Math.min(...left))]!]!;
    return { fill: { word: wordAt(answer, "target", q) }, ...offer(needed, words.filter(isWord), shop, words), hint: { bars: words.map((_, m) => at(answer.attention, [q, m])) } };
  },
  async sure(answer, shop) {
    const words = listWords(answer, "target").filter(isWord);
    const all = listWords(answer, "target");
    const shares = all.map((word, q) => (isWord(word) ? probabilityOf(answer, q) : 1));
    const least = all[shares.indexOf(Math.min(...shares))]!;
    return { fill: {}, ...offer(least, words, shop, words), hint: { bars: shares } };
  },
  async kill(answer, shop) {
    const outcomes = await listOutcomes(answer, shop);
    const good = outcomes.filter(({ changed }) => changed === 1);
    if (!good.length || good.length > outcomes.length / 2) return null;
    return { fill: {}, solution: good[0]!.word, solves: (cut) => good.some((each) => isSameCut(each, cut)), hint: { threads: answer } };
  },
  async still(answer, shop) {
    const outcomes = await listOutcomes(answer, shop);
    const good = outcomes.filter(({ changed }) => !changed);
    if (!good.length || good.length > outcomes.length / 2) return null;
    return { fill: {}, solution: good[0]!.word, solves: (cut) => good.some((each) => isSameCut(each, cut)), hint: { threads: answer } };
  },
  async become(answer, shop) {
    const outcomes = (await listOutcomes(answer, shop)).filter((each) => changesOf(each).some(([was, is]) => was && is));
    if (!outcomes.length) return null;
    const goal = pick(outcomes, shop.random);
    const [was, is] = pick(changesOf(goal).filter(([one, other]) => one && other), shop.random);
    const good = outcomes.filter((each) => changesOf(each).some(([one, other]) => one === was && other === is));
    return { fill: { was, is }, solution: goal.word, solves: (cut) => good.some((each) => isSameCut(each, cut)), hint: { threads: answer } };
  },
  async which(answer, shop) {
    const outcomes = await listOutcomes(answer, shop);
    const texts = outcomes.map((each) => each.answer.translation);
    const clear = outcomes.filter((each) => each.changed && texts.filter((text) => text === each.answer.translation).length === 1);
    if (!clear.length) return null;
    const { word, answer: after } = pick(clear, shop.random);
    const words = listWords(answer, "source");
    return { fill: { translation: after.translation }, ...offer(word, words.filter(isWord), shop, words), hint: { threads: answer } };
  },
  async swap(answer, shop) {
    const words = listWords(answer, "source");
    const swap = findSwap(shop.model, words);
    if (!swap) return null;
    const by = pick(swap.by, shop.random);
    const after = await shop.retranslate({ ...answer, text: replaceAt(answer, swap.place, by) }, []);
    if (!after) return null;
    const said = listWords(after, "target");
    const before = listWords(answer, "target");
    const isFar = (q: number) => before[q] !== said[q] && at(answer.attention, [q, swap.place]) < 0.5;
    const places = before.map((_, q) => q).filter((q) => isWord(before[q]!) && said[q] !== undefined);
    if (said.length !== before.length || !places.length) return null;
    const q = places.find(isFar) ?? pick(places, shop.random);
    const others = await Promise.all(swap.by.map((each) => shop.retranslate({ ...answer, text: replaceAt(answer, swap.place, each) }, [])));
    const rivals = others.map((each) => each && listWords(each, "target")[q]).filter((each) => each !== null && each !== undefined);
    return {
      fill: { was: words[swap.place]!, by, word: before[q]! },
      ...offer(said[q]!, [before[q]!, ...rivals, ...before.filter(isWord).slice(0, 2)], shop), hint: { threads: answer },
    };
  },
  async floor(answer, shop) {
    const q = pickWord(answer, shop.random);
    const row = answer.targetWords[q]![0]!;
    const floors = await engine.lens(answer.id, row, [answer.predicted[row]!.id]);
    const isFirst = floors.map((each) => each[0]!.id === answer.predicted[row]!.id);
    const last = isFirst.lastIndexOf(false); // the last that says something else
    if (last < 0 || last + 1 >= floors.length) return null;
    const options = floors.map((_, n) => String(n));
    return { fill: { word: answer.predicted[row]!.text.trim() }, options, right: last + 1, hint: { bars: floors.map((each) => Math.exp(each.at(-1)!.log_prob)) } };
  },
  async head(answer, shop) {
    const q = pickWord(answer, shop.random);
    const found = await engine.weigh(answer.id, answer.targetWords[q]![0]!, null);
    if (!found) return null;
    const heads = rank(found, 400, () => false);
    const [first, ...rest] = heads;
    const others = shuffle(rest.filter((each) => each.pull < 0.6 * (first?.pull ?? 0)), shop.random).slice(0, 3);
    if (!first || others.length < 3) return null;
    const { habits } = (await engine.open(answer.id)).document;
    const name = ({ block, head }: { block: string; head: number }) => addHabit(habits, block, head, `${block} ${head}`);
    const offered = shuffle([first, ...others], shop.random);
    return {
      fill: { word: found.token.text.trim(), rival: found.rival.text.trim() },
      options: offered.map(name), right: offered.indexOf(first), hint: { threads: answer },
    };
  },
  async order(answer, shop) {
    const trace = await engine.open(answer.id);
    const names = [...trace.ops.keys()];
    const known = Object.keys(STEPS).map((key) => [key, names.findIndex((name) => STEPS[key as Step].test(name))] as const);
    const there = known.filter(([, place]) => place >= 0);
    const chosen = shuffle(there, shop.random).slice(0, 6).sort(([, one], [, other]) => one - other);
    if (chosen.length < 6) return null;
    return { fill: { count: chosen.length }, steps: chosen.map(([key]) => say(`steps.${key as Step}`)), hint: { bars: chosen.map((_, n) => n + 1) } };
  },
  async positions(answer, shop) {
    const after = await shop.retranslate(answer, [{ do: "without", what: "positions" }]);
    if (!after || after.translation === answer.translation) return null;
    const words = listWords(answer, "source");
    const nouns = words.map((_, m) => m).filter((m) => isWord(words[m]!) && words[m]!.length > 2);
    const [one, other] = [nouns[1] ?? 0, nouns.at(-1)!];
    const turned = await shop.retranslate({ ...answer, text: exchange(answer, one, other) }, []);
    return { fill: {}, ...offer(after.translation, [answer.translation, ...(turned ? [turned.translation] : [])], shop), hint: { threads: answer } };
  },
} satisfies Record<string, Maker>;

export type Kind = keyof typeof MAKERS;

/** The order of a set: what the first screen taught comes first. */
export const KINDS: Kind[] = ["read", "kill", "sure", "become", "need", "still", "which", "swap", "order", "floor", "positions", "head"];

/** Steps of the network, each by the first tensor that it makes. */
export const STEPS = {
  embedding: /^source_embedding\.embedded$/,
  positions: /^source_embedding\.sum$/,
  scores: /^encoder\.0\.self_attention\.scores$/,
  softmax: /^encoder\.0\.self_attention\.weights$/,
  context: /^encoder\.0\.self_attention\.context$/,
  memory: /^memory$/,
  mask: /^decoder\.0\.self_attention\.masked/,
  cross: /^decoder\.0\.cross_attention\.weights$/,
  last: /^last$/,
  logits: /^logits$/,
};
type Step = keyof typeof STEPS;

const isSameCut = ({ answer }: Outcome, cut: Answer): boolean => JSON.stringify(answer.edits) === JSON.stringify(cut.edits);

function splitAt(answer: Answer, place: number): [string, string, string] {
  const group = answer.sourceWords[place]!;
  const letters = Array.from(answer.text);
  const word = wordAt(answer, "source", place);
  const end = answer.source[group.at(-1)!]!.end;
  const start = end - Array.from(word).length;
  return [letters.slice(0, start).join(""), word, letters.slice(end).join("")];
}

function replaceAt(answer: Answer, place: number, by: string): string {
  const [before, , behind] = splitAt(answer, place);
  return before + by + behind;
}

/** The text with two words in each other's place. */
function exchange(answer: Answer, one: number, other: number): string {
  const [first, second] = [Math.min(one, other), Math.max(one, other)].map((place) => wordAt(answer, "source", place));
  const [before, , behind] = splitAt(answer, Math.max(one, other));
  const [start, , middle] = splitAt({ ...answer, text: before }, Math.min(one, other));
  return start + second! + middle + first! + behind;
}

/** A puzzle of a kind, about the first sentence of some that has what it needs; null if none has. */
export async function makePuzzle(kind: Kind, shop: Workshop, own: string): Promise<Puzzle | null> {
  const make: Maker = MAKERS[kind];
  for (let n = 0; n < TRIES; n++) {
    const text = drawSentence(shop.model, shop.random) ?? pick([own, ...sentencesOf(shop.model)].filter(Boolean), shop.random);
    const answer = await shop.retranslate({ model: shop.model.id, text } as Answer, []);
    const made = answer?.id && listWords(answer, "target").some(isWord) ? await make(answer, shop) : null;
    if (answer && made && (made.options === undefined || made.options.length > 1)) return { kind, answer, ...made };
  }
  return null;
}
