/** Twelve kinds of puzzles, made and judged by the network: no answer stands in a list. */

import { at } from "../data/tensor";
import type { Candidate, Model } from "../data/server";
import type { Trace } from "../data/trace";
import { engine } from "../engine";
import type { Answer } from "../engine/engine";
import { listChanges, listWords, makeCuts, probabilityOf, wordAt } from "../first/cuts";
import { drawSentence, findSwap, sentencesOf } from "../first/examples";
import { cutEach, type Outcome, type Retranslate } from "../first/outcomes";
import { withSign } from "../format";
import type { Fill } from "../messages";
import { nameHabit } from "../parts/heads";
import { rank, type Head } from "../views/whatif/weighing";
import { pick, shuffle } from "./random";
import { explainChange, findTwo, shares, type Reason } from "./reasons";
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
  hint: Hint | null;
  explain: (cut: Answer | null) => Promise<Reason>; // why that is right; `cut`: what was tried and solves it
}

/** What helps: the threads of the sentence, or bars, each with the name of what it is the share of. */
export type Hint = "threads" | { key: Extract<Parameters<typeof say>[0], `hints.${string}`>; fill?: Fill; bars: Bar[] };

export interface Bar {
  name: string;
  share: number;
  isSecret?: boolean; // its name is what is asked
}

/** What puzzles are made with. */
export interface Workshop {
  model: Model;
  random: () => number;
  retranslate: Retranslate;
}

type Maker = (answer: Answer, shop: Workshop) => Promise<Omit<Puzzle, "kind" | "answer"> | null>;

const MOST_OPTIONS = 5;
const MOST_HEADS = 4;
const MOST_OTHERS = 3; // translations beside the right one
const TRIES = 16; // sentences, until one has what a kind needs
const SECRET = 2; // bars without their names, where their order is what is asked
const MARGIN = 0.02; // shares that are nearer to each other than this do not tell two answers apart
const LEAST_PULL = 0.3; // of a head that is asked for, in logits
const MOST_LOOKS = 40; // heads that are looked at, until one reads what the word needs
const MOST_KIN = 2; // other heads of the same kind of attention, if there are more
const READS = 0.5; // of its attention, by a head that reads a word
const NEEDS = 0.2; // probability that a word loses without a word that it needs
const LEAST_SURE = 0.8; // of the mean probability of the plain translation, has one that is asked for
const isWord = (word: string) => /[\p{L}\p{N}]/u.test(word);

/** The right one among a few others. */
function offer(right: string, others: readonly string[], shop: Workshop) {
  const drawn = shuffle([...new Set(others)].filter((each) => each !== right), shop.random).slice(0, MOST_OPTIONS - 1);
  return place(right, shuffle([right, ...drawn], shop.random));
}

/** All of a sentence, in its order. */
function place(right: string, words: readonly string[]) {
  const options = [...new Set(words)];
  return { options, right: options.indexOf(right) };
}

/** Words of the translation, by their places: those that are there once, and, if asked, are a single token. */
function listPlaces(answer: Answer, isSingle = false): number[] {
  const words = listWords(answer, "target");
  const all = words.map((_, q) => q).filter((q) => isWord(words[q]!));
  const once = all.filter((q) => words.indexOf(words[q]!) === words.lastIndexOf(words[q]!));
  const fit = once.filter((q) => !isSingle || answer.targetWords[q]!.length === 1);
  return [fit, once, all].find((each) => each.length)!;
}

const pickWord = (answer: Answer, random: () => number, isSingle = false): number => pick(listPlaces(answer, isSingle), random);

/** Bars in the order of their shares, the first ones without their names. */
const hide = (bars: Bar[], sign: number): Bar[] =>
  bars.sort((one, other) => sign * (other.share - one.share)).map((each, n) => ({ ...each, isSecret: n < SECRET }));

/** What has most (with -1: least) of something, and the next of another name; null where they are not told apart. */
function findClear<T extends Bar>(bars: readonly T[], sign = 1): [T, T] | null {
  const [most] = findTwo(bars, ({ share }) => sign * share);
  const [next] = findTwo(bars.filter(({ name }) => name !== most?.name), ({ share }) => sign * share);
  return next && sign * (most.share - next.share) >= MARGIN ? [most, next] : null;
}

/** What is left when all bars are taken from 1. */
const restOf = (bars: readonly Bar[]): Fill => shares({ rest: 1 - bars.reduce((sum, { share }) => sum + share, 0) });

/** The geometric mean of the probabilities of the tokens. */
const meanOf = ({ predictions }: Answer): number => Math.exp(predictions.reduce((sum, { log_prob }) => sum + log_prob, 0) / predictions.length);

/** Whether a translation can be asked for: no word follows itself, and it is nearly as probable as the plain one. */
function isSound(after: Answer, plain: Answer): boolean {
  const words = listWords(after, "target");
  return words.every((word, n) => word !== words[n - 1]) && meanOf(after) >= LEAST_SURE * meanOf(plain);
}

/** How much one word of the translation reads each of the sentence. */
const readersOf = (answer: Answer, q: number): Bar[] => listWords(answer, "source").map((name, m) => ({ name, share: at(answer.attention, [q, m]) }));

async function listOutcomes(answer: Answer, { retranslate }: Workshop): Promise<Outcome[]> {
  const found: Outcome[] = [];
  for await (const each of cutEach(answer, retranslate)) found.push(each);
  return found.sort((one, other) => Number(isSound(other.answer, answer)) - Number(isSound(one.answer, answer))); // the sound ones first
}

/** The changes of an outcome: what was said, and what is said in its place. */
const changesOf = ({ said, answer }: Outcome) => listChanges(said, listWords(answer, "target"));

/** Whether a word became another, not only its first letter a small one. */
const isAnother = ([was, is]: [string, string]): boolean => Boolean(was && is) && was.toLowerCase() !== is.toLowerCase();

/** A puzzle that the cuts of these outcomes solve. */
const solveBy = (answer: Answer, good: readonly Outcome[]) => ({
  fill: {}, solution: good[0]!.word, solves: (cut: Answer) => good.some((each) => isSameCut(each, cut)), hint: "threads" as const,
  explain: (cut: Answer | null) => {
    const found = (cut && good.find((each) => isSameCut(each, cut))) ?? good[0]!;
    return explainChange(answer, found.answer, `“${found.word}”`);
  },
});

/** Where a head is: `decoder.3.cross_attention` is a block. */
function numberHead({ block, head }: Head): string {
  const [side, layer] = block.split(".");
  return say(`heads.${block.includes("cross") ? "cross" : side === "encoder" ? "encoder" : "decoder"}`, { layer: layer!, head });
}

/** The kind of attention that a head is of. */
const kindOf = ({ head }: Offered): string => head.block.replace(/\.\d+\./, ".");

/** What a head is called: where it is, and what it usually reads. */
function nameHead({ document }: Trace, found: Head): string {
  const [habits, head] = [document.habits?.[found.block], numberHead(found)];
  if (!habits) return head;
  const habit = habits[found.head];
  return say("heads.named", { head, text: habit ? say("heads.reads", { habit: nameHabit(found.block, habit) }) : say("heads.mixed") });
}

interface Offered {
  head: Head;
  name: string;
  word: string; // of the sentence, that it reads most here; "" if it reads the translation
  bar: Bar; // how much
}

/** What a head reads most where a word of the translation is made; in the encoder, where that word looks. */
async function lookAt(trace: Trace, answer: Answer, q: number, found: Head): Promise<Offered> {
  const weights = await trace.tensor(`${found.block}.weights`);
  const isEncoder = found.block.startsWith("encoder");
  const [seen] = findTwo(answer.sourceWords.map((_, m) => m), (m) => at(answer.attention, [q, m]));
  const row = isEncoder ? answer.sourceWords[seen]!.at(-1)! : answer.targetWords[q]![0]!;
  const isOfSource = isEncoder || found.block.includes("cross");
  const keys = isOfSource ? trace.source : trace.target;
  const [most] = findTwo(keys.map((_, k) => k), (k) => at(weights, [found.head, row, k]));
  const place = isOfSource ? answer.sourceWords.findIndex((group) => group.includes(most)) : -1;
  const name = say("heads.look", { head: numberHead(found), word: keys[most]!.text.trim() });
  const bar = { name, share: at(weights, [found.head, row, most]) };
  return { head: found, name: nameHead(trace, found), word: place < 0 ? "" : wordAt(answer, "source", place), bar };
}

/** The word of the sentence without which a word of the translation loses most, if that is much. */
async function findNeeded(answer: Answer, q: number): Promise<string | null> {
  const words = listWords(answer, "source");
  const places = words.map((_, m) => m).filter((m) => isWord(words[m]!));
  const left = await engine.cutEach(answer.id, answer.targetWords[q]!, places.map((m) => answer.sourceWords[m]!));
  const [least] = findTwo(places.map((_, n) => n), (n) => -left[n]!);
  return probabilityOf(answer, q) - Math.exp(left[least]!) >= NEEDS ? words[places[least]!]! : null;
}

/** Whether the likeliest of some candidates is clearly more probable than another. */
const isAhead = ([first]: readonly Candidate[], other: Candidate): boolean => Math.exp(first!.log_prob) - Math.exp(other.log_prob) >= MARGIN;

const MAKERS = {
  async read(answer, shop) {
    const words = listWords(answer, "source");
    const q = shuffle(listPlaces(answer), shop.random).find((each) => findClear(readersOf(answer, each)));
    if (q === undefined) return null;
    const [word, bars] = [wordAt(answer, "target", q), readersOf(answer, q)];
    const [most, next] = findClear(bars)!;
    return {
      fill: { word }, ...place(most.name, words), hint: { key: "hints.read", fill: { word, ...restOf(bars) }, bars: hide([...bars], 1) },
      explain: async () => ({ key: "why.read", fill: { word, right: most.name, second: next.name, ...shares({ share: most.share, next: next.share }) } }),
    };
  },
  async need(answer, shop) {
    const [q, words] = [pickWord(answer, shop.random), listWords(answer, "source")];
    const places = words.map((_, m) => m).filter((m) => isWord(words[m]!));
    const left = await engine.cutEach(answer.id, answer.targetWords[q]!, places.map((m) => answer.sourceWords[m]!));
    const bars = places.map((m, n) => ({ name: words[m]!, share: Math.exp(left[n]!) }));
    const clear = findClear(bars, -1);
    if (!clear) return null;
    const [most, next] = clear;
    const word = wordAt(answer, "target", q);
    const read = readersOf(answer, q).filter(({ name }) => isWord(name));
    return {
      fill: { word }, ...place(most.name, words.filter(isWord)), hint: { key: "hints.need", fill: { word, ...restOf(read) }, bars: read },
      explain: async () => ({ key: "why.need", fill: { word, right: most.name, second: next.name, ...shares({ before: probabilityOf(answer, q), left: most.share, next: next.share }) } }),
    };
  },
  async sure(answer) {
    const bars = listWords(answer, "target").map((name, q) => ({ name, q, share: probabilityOf(answer, q) })).filter(({ name }) => isWord(name));
    const clear = findClear(bars, -1);
    if (!clear) return null;
    const [least, next] = clear;
    const [row] = findTwo(answer.targetWords[least.q]!, (each) => -answer.predictions[each]!.log_prob);
    const { ids, texts, log_probs } = answer.predictions[row]!;
    const other = ids.findIndex((id) => id !== answer.predicted[row]!.id);
    const fill = { right: least.name, second: next.name, rival: texts[other]!.trim(), ...shares({ share: least.share, next: next.share, rivalShare: Math.exp(log_probs[other]!) }) };
    return { fill: {}, ...place(least.name, bars.map(({ name }) => name)), hint: { key: "hints.sure", bars: hide([...bars], -1) }, explain: async () => ({ key: "why.sure", fill }) };
  },
  async kill(answer, shop) {
    const outcomes = await listOutcomes(answer, shop);
    const good = outcomes.filter((each) => each.changed === 1 && changesOf(each).some(isAnother)); // not a capital alone
    if (!good.some((each) => isSound(each.answer, answer)) || good.length > outcomes.length / 2) return null;
    return solveBy(answer, good);
  },
  async still(answer, shop) {
    const outcomes = await listOutcomes(answer, shop);
    const good = outcomes.filter(({ changed }) => !changed);
    if (!good.length || good.length > outcomes.length / 2) return null;
    return solveBy(answer, good);
  },
  async become(answer, shop) {
    const outcomes = (await listOutcomes(answer, shop)).filter((each) => changesOf(each).some(isAnother));
    const sound = outcomes.filter((each) => isSound(each.answer, answer));
    if (!sound.length) return null;
    const goal = pick(sound, shop.random);
    const [was, is] = pick(changesOf(goal).filter(isAnother), shop.random);
    const good = outcomes.filter((each) => changesOf(each).some(([one, other]) => one === was && other === is));
    return { ...solveBy(answer, good), fill: { was, is } };
  },
  async which(answer, shop) {
    const outcomes = await listOutcomes(answer, shop);
    const texts = outcomes.map((each) => each.answer.translation);
    const clear = outcomes.filter((each) => each.changed && isSound(each.answer, answer) && texts.filter((text) => text === each.answer.translation).length === 1);
    if (!clear.length) return null;
    const { word, answer: after } = pick(clear, shop.random);
    const words = listWords(answer, "source").filter(isWord);
    return { fill: { translation: after.translation }, ...place(word, words), hint: "threads", explain: () => explainChange(answer, after, `“${word}”`) };
  },
  async swap(answer, shop) {
    const words = listWords(answer, "source");
    const swap = findSwap(shop.model, words);
    if (!swap) return null;
    const by = pick(swap.by, shop.random);
    const after = await shop.retranslate({ ...answer, text: replaceAt(answer, swap.place, by) }, []);
    if (!after || !isSound(after, answer)) return null;
    const said = listWords(after, "target");
    const before = listWords(answer, "target");
    const isFar = (q: number) => at(answer.attention, [q, swap.place]) < 0.5;
    const places = before.map((_, q) => q).filter((q) => isWord(before[q]!) && before[q] !== said[q]);
    if (said.length !== before.length || !places.length) return null;
    const q = places.find(isFar) ?? pick(places, shop.random);
    const others = await Promise.all(swap.by.map((each) => shop.retranslate({ ...answer, text: replaceAt(answer, swap.place, each) }, [])));
    const rivals = others.map((each) => each && listWords(each, "target")[q]).filter((each) => each !== null && each !== undefined);
    return {
      fill: { was: words[swap.place]!, by, word: before[q]! },
      ...offer(said[q]!, [before[q]!, ...rivals, ...before.filter(isWord).slice(0, 2)], shop), hint: "threads",
      explain: async () => ({
        key: "why.swap",
        fill: { by, right: said[q]!, word: before[q]!, translation: after.translation, ...shares({ share: probabilityOf(after, q), read: at(after.attention, [q, swap.place]), sure: probabilityOf(answer, q) }) },
      }),
    };
  },
  async floor(answer, shop) {
    const row = answer.targetWords[pickWord(answer, shop.random, true)]![0]!;
    const { id, text } = answer.predicted[row]!;
    const floors = await engine.lens(answer.id, row, [id]);
    const last = floors.map((each) => each[0]!.id === id).lastIndexOf(false); // the last that says something else
    const [below, above] = [floors[last], floors[last + 1]];
    if (!below || !above || !isAhead(below, below.at(-1)!) || !isAhead(above, above[1]!)) return null;
    const own = floors.map((each) => Math.exp(each.at(-1)!.log_prob));
    const word = text.trim();
    const fill = { word, below: last, layer: last + 1, other: below[0]!.text.trim(), ...shares({ otherShare: Math.exp(below[0]!.log_prob), was: own[last]!, share: own[last + 1]! }) };
    return {
      fill: { word }, options: floors.map((_, n) => String(n)), right: last + 1, explain: async () => ({ key: "why.floor", fill }),
      hint: { key: "hints.floor", fill: { word }, bars: own.map((share, n) => ({ name: say("layer", { n }), share })) },
    };
  },
  async head(answer, shop) {
    const q = pickWord(answer, shop.random, true);
    const row = answer.targetWords[q]![0]!;
    const needed = await findNeeded(answer, q);
    const found = needed === null ? null : await engine.weigh(answer.id, row, null);
    if (!found || needed === null) return null;
    const trace = await engine.open(answer.id);
    const ranked = rank(found, 400, () => false);
    const look = (heads: readonly Head[]) => Promise.all(heads.slice(0, MOST_LOOKS).map((each) => lookAt(trace, answer, q, each)));
    const strong = await look(ranked.filter(({ pull }) => pull >= LEAST_PULL));
    const fit = strong.filter(({ word, bar }) => word === needed && bar.share >= READS);
    if (!fit.length) return null;
    const kind = pick([...new Set(fit.map(kindOf))].sort(), shop.random);
    const first = fit.find((each) => kindOf(each) === kind)!;
    const weak = await look(shuffle(ranked.filter(({ pull }) => pull < 0.5 * first.head.pull), shop.random));
    const others = weak.filter(({ word, bar }) => word !== needed || bar.share < 0.5 * first.bar.share);
    const [kin, rest] = [true, false].map((isKin) => others.filter((each) => (kindOf(each) === kindOf(first)) === isKin)) as [Offered[], Offered[]];
    const offered = [first, ...kin.slice(0, MOST_KIN), ...rest, ...kin.slice(MOST_KIN)].slice(0, MOST_HEADS);
    if (offered.length < MOST_HEADS || kindOf(offered[1]!) !== kindOf(first)) return null;
    const [next] = findTwo(offered.slice(1), ({ head }) => head.pull);
    const [word, rival] = [found.token, found.rival].map(({ text }) => text.trim()) as [string, string];
    const mixed = shuffle(offered, shop.random);
    const left = ({ pull }: Head) => withSign(found.lead - pull);
    return {
      fill: { word, rival }, options: mixed.map(({ name }) => name), right: mixed.indexOf(first),
      hint: { key: "hints.head", fill: { word }, bars: mixed.map(({ bar }) => bar) },
      explain: async () => ({
        key: "why.head",
        fill: { head: numberHead(first.head), second: numberHead(next.head), needed, word, rival, lead: withSign(found.lead), left: left(first.head), next: left(next.head), ...shares({ share: first.bar.share }) },
      }),
    };
  },
  async order(answer, shop) {
    const trace = await engine.open(answer.id);
    const names = [...trace.ops.keys()];
    const known = Object.keys(STEPS).map((key) => [key, names.findIndex((name) => STEPS[key as Step].test(name))] as const);
    const there = known.filter(([, place]) => place >= 0);
    const chosen = shuffle(there, shop.random).slice(0, 6).sort(([, one], [, other]) => one - other);
    if (chosen.length < 6) return null;
    const fill = { all: names.length, places: chosen.map(([, n]) => n + 1).join(", ") };
    return { fill: { count: chosen.length }, steps: chosen.map(([key]) => say(`steps.${key as Step}`)), hint: null, explain: async () => ({ key: "why.order", fill }) };
  },
  async positions(answer, shop) {
    const after = await shop.retranslate(answer, [{ do: "without", what: "positions" }]);
    if (!after || after.translation === answer.translation) return null;
    const others = await listOthers(answer, shop, [answer.translation, after.translation]);
    if (others.length < 2) return null;
    return {
      fill: {}, ...offer(after.translation, others, shop), hint: "threads",
      explain: () => explainChange(answer, after, say("positions")),
    };
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

/** What the network says when words change places, and when one is cut: a few translations, none of them among those known. */
async function listOthers(answer: Answer, shop: Workshop, known: readonly string[]): Promise<string[]> {
  const words = listWords(answer, "source");
  const places = words.map((_, m) => m).filter((m) => isWord(words[m]!) && words[m]!.length > 2);
  const pairs = shuffle(places.flatMap((one) => places.filter((other) => other > one).map((other) => [one, other] as const)), shop.random);
  const found = new Set<string>();
  const add = (after: Answer | null) => after && !known.includes(after.translation) && found.add(after.translation);
  for (const [one, other] of pairs.slice(0, 2 * MOST_OTHERS)) {
    add(await shop.retranslate({ ...answer, text: exchange(answer, one, other) }, []));
    if (found.size === MOST_OTHERS) return [...found];
  }
  for (const place of shuffle(places, shop.random)) {
    add(await shop.retranslate(answer, makeCuts(answer, place)));
    if (found.size === MOST_OTHERS) break;
  }
  return [...found];
}

/** Sentences for puzzles, one after the other; the first is known before the network is there. */
export function draw({ model, random }: Pick<Workshop, "model" | "random">, own: string): string {
  const known = sentencesOf(model); // else nothing but the reader's own text, and the set is theirs alone
  return drawSentence(model, random) ?? pick(known.length ? known : [own], random);
}

/** A puzzle of a kind, about the first sentence of some that has what it needs; null if none has. */
export async function makePuzzle(kind: Kind, shop: Workshop, own: string): Promise<Puzzle | null> {
  const make: Maker = MAKERS[kind];
  for (let n = 0; n < TRIES; n++) {
    const text = draw(shop, own);
    const answer = await shop.retranslate({ model: shop.model.id, text } as Answer, []);
    const made = answer?.id && listWords(answer, "target").some(isWord) ? await make(answer, shop) : null;
    if (answer && made && (made.options === undefined || made.options.length > 1)) return { kind, answer, ...made };
  }
  return null;
}
