/**
 * The search for a translation, as `decode/` has it: beam, greedy and sampling, step by step. One
 * sentence, W rows of hypotheses. Each candidate has its fate.
 */

import type { Decode, Fate } from "../data/document";
import { shapeLogits } from "./distribution";
import { Foreseen, NO_EDITS, type Edits, type Network, type State } from "./network";
import { gumbel, makeKeys } from "./noise";

export const [BOS, EOS] = [1, 2];

/** All settings of a search; see `config.py`. */
export interface SearchSettings extends Decode {
  stop: "exact" | "first";
  max_ratio: number;
  max_extra: number;
  min_length: number;
  no_repeat_ngram_size: number;
}

/** A continuation of one hypothesis by one token. */
export interface Candidate {
  parent: number;
  token: number;
  tokenLogProb: number;
  logProb: number; // of the whole hypothesis
  score: number; // as if it ended here
  fate: Fate;
}

export interface Hypothesis {
  tokens: number[]; // with the forced prefix
  logProb: number;
  score: number;
  tokenLogProbs: number[]; // the end mark's last
  finished: boolean;
}

export interface Step {
  candidates: Candidate[]; // best first; the k-th KEPT is row k of the next step
  best: number[]; // the tokens of the best hypothesis
  logits: Float32Array; // that its last token was chosen from
  limit: number;
  ended: Hypothesis[];
}

interface Row {
  tokens: number[];
  tokenLogProbs: number[];
  logProb: number;
}

export interface Wanted {
  source: readonly number[]; // the end mark included
  settings: SearchSettings;
  longest: number; // that the network can read
  prefix?: readonly number[];
  nBest?: number;
  seed?: number;
  key?: number; // of sampling: the number of the line
  edits?: Edits;
  reuse?: State; // of the same source without these edits, or with a draft of the translation
}

/** The divisor of the log-probability of n tokens, the end mark counted (Wu et al. 2016, 14). */
export function lengthPenalty(n: number, { length_penalty, alpha }: SearchSettings): number {
  if (length_penalty === "gnmt") return Math.fround(((5 + n) / 6) ** alpha);
  return length_penalty === "power" ? Math.fround(n ** alpha) : 1;
}

export function* search(own: Network, wanted: Wanted): Generator<Step> {
  const { source, settings, longest, prefix = [], nBest = 1, edits = NO_EDITS, reuse } = wanted;
  const network = reuse?.edits === edits ? new Foreseen(own, reuse) : own;
  const width = settings.search === "beam" ? settings.beam : 1;
  const limit = Math.min(Math.ceil(settings.max_ratio * (source.length - 1)) + settings.max_extra, longest);
  for (const tokens of [prefix.length, settings.min_length]) {
    if (tokens >= limit) throw new Error(`${tokens} tokens are asked for: at most ${limit - 1} fit`);
  }
  const keys = settings.search === "sample" ? makeKeys(wanted.seed ?? 0, wanted.key ?? 0, limit) : [];
  const state = network.start(source, edits, reuse);
  const size = network.vocabulary;
  let logits = network.step([[BOS, ...prefix]], state);
  let rows = [readPrefix(prefix, logits, size)];
  logits = logits.subarray(prefix.length * size);
  const scores: number[] = []; // of the best that finished
  let finished = 0;
  for (;;) {
    const length = rows[0]!.tokens.length;
    const isLast = length + 1 >= limit;
    const penalty = lengthPenalty(length + 1, settings);
    const lines = rows.map((_, row) => logits.subarray(row * size, (row + 1) * size));
    const found = lines.map((line, row) => choose(line, rows[row]!, settings, keys[length]!, width));
    const all = found.flatMap(({ best }, parent) => best.map((each) => continued(each, rows[parent]!, parent, penalty)));
    all.sort((a, b) => b.logProb - a.logProb);
    const candidates = all.slice(0, width > 1 ? 2 * width : 1);
    const isPossible = (each: Candidate) => each.logProb > Number.NEGATIVE_INFINITY;
    if (!candidates.some(isPossible)) throw new Error("no hypothesis is left");

    const ends = candidates.map((each, rank) => each.token === EOS && rank < width && isPossible(each));
    const kept = width > 1 ? candidates.filter(({ token }) => token !== EOS).slice(0, width) : [candidates[0]!];
    scores.push(...candidates.filter((_, n) => ends[n]).map(({ score }) => score));
    scores.sort((a, b) => b - a);
    finished += ends.filter(Boolean).length;
    const isDone = isLast || (width > 1 ? isEnough(kept[0], scores[nBest - 1], finished, width, limit, settings) : ends[0]!);

    const ended: Hypothesis[] = [];
    candidates.forEach((each, n) => {
      const lives = kept.includes(each) && !ends[n] && isPossible(each);
      if (kept.includes(each)) each.fate = isDone ? "STOPPED" : "KEPT";
      if (lives && isLast) each.fate = "CUT";
      if (ends[n]) each.fate = "FINISHED";
      if (each.fate !== "CUT" && each.fate !== "FINISHED") return;
      const { tokens, tokenLogProbs } = rows[each.parent]!;
      ended.push({
        tokens: ends[n] ? tokens : [...tokens, each.token],
        logProb: each.logProb,
        score: each.score,
        tokenLogProbs: [...tokenLogProbs, each.tokenLogProb],
        finished: ends[n]!,
      });
    });
    const first = candidates[0]!;
    yield {
      candidates: withForbidden(candidates, found.map(({ forbidden }) => forbidden), rows, penalty),
      best: [...rows[first.parent]!.tokens, first.token],
      logits: lines[first.parent]!.slice(),
      limit,
      ended,
    };
    if (isDone) return;
    rows = kept.map(({ parent, token, tokenLogProb, logProb }) => ({
      tokens: [...rows[parent]!.tokens, token],
      tokenLogProbs: [...rows[parent]!.tokenLogProbs, tokenLogProb],
      logProb,
    }));
    network.keep(kept.map(({ parent }) => parent), state);
    logits = network.step(rows.map(({ tokens }) => [tokens.at(-1)!]), state);
  }
}

/** The best hypotheses by score; those that were cut come after all that ended. */
export const rank = (ended: readonly Hypothesis[]): Hypothesis[] =>
  [...ended].sort((a, b) => Number(b.finished) - Number(a.finished) || b.score - a.score);

function readPrefix(prefix: readonly number[], logits: Float32Array, size: number): Row {
  const tokenLogProbs = prefix.map((token, n) => {
    const line = logits.subarray(n * size, (n + 1) * size);
    return line[token]! - logSumExp(line);
  });
  return { tokens: [...prefix], tokenLogProbs, logProb: tokenLogProbs.reduce((sum, each) => sum + each, 0) };
}

type Likely = [token: number, logProb: number];

/** The tokens that a row may go on with, best first, and those that a rule forbids. */
function choose(
  logits: Float32Array, row: Row, settings: SearchSettings, key: number, width: number,
): { best: Likely[]; forbidden: Likely[] } {
  const whole = logSumExp(logits);
  const out = [
    ...(row.tokens.length < settings.min_length ? [EOS] : []),
    ...repeats(row.tokens, settings.no_repeat_ngram_size),
  ];
  const forbidden = [...new Set(out)].map((token): Likely => [token, logits[token]! - whole]);
  const allowed = logits.slice();
  for (const token of [0, BOS, ...out]) allowed[token] = Number.NEGATIVE_INFINITY;
  const tokens = settings.search === "sample" ? [drawToken(allowed, key, settings)] : findTop(allowed, width > 1 ? 2 * width : 1);
  return { best: tokens.map((token) => [token, allowed[token]! - whole]), forbidden };
}

const continued = ([token, tokenLogProb]: Likely, { logProb }: Row, parent: number, penalty: number): Candidate => ({
  parent, token, tokenLogProb, logProb: logProb + tokenLogProb, score: (logProb + tokenLogProb) / penalty, fate: "OUTRANKED",
});

/** Whether none that is under way can still be among the best, or so many have ended as were asked for. */
function isEnough(
  kept: Candidate | undefined, worst = Number.NEGATIVE_INFINITY, finished: number, width: number, limit: number,
  settings: SearchSettings,
): boolean {
  const hope = kept?.logProb ?? Number.NEGATIVE_INFINITY;
  if (settings.stop === "first") return finished >= width || hope === Number.NEGATIVE_INFINITY;
  return hope / lengthPenalty(limit, settings) <= worst;
}

function withForbidden(candidates: Candidate[], forbidden: Likely[][], rows: Row[], penalty: number): Candidate[] {
  const worst = candidates.at(-1)!.logProb;
  const seen = candidates.filter(({ logProb }) => logProb > Number.NEGATIVE_INFINITY);
  forbidden.forEach((each, parent) => {
    for (const likely of each) {
      const made = continued(likely, rows[parent]!, parent, penalty);
      const fate = made.token === EOS ? "TOO_SHORT" : "REPEATS";
      if (made.logProb >= worst && made.logProb > Number.NEGATIVE_INFINITY) seen.push({ ...made, fate });
    }
  });
  return seen.sort((a, b) => b.logProb - a.logProb);
}

/** The tokens that would complete an n-gram of this size a second time. */
function repeats(tokens: readonly number[], size: number): number[] {
  const given = [BOS, ...tokens];
  if (!size || given.length < size) return [];
  const tail = given.slice(given.length - size + 1).join();
  return given.flatMap((token, end) =>
    end >= size - 1 && given.slice(end - size + 1, end).join() === tail && token > BOS ? [token] : [],
  );
}

/** The indices of the largest, in descending order; of equal ones the first. */
export function findTop(values: ArrayLike<number>, size: number): number[] {
  const found: number[] = [];
  for (let n = 0; n < values.length; n++) {
    const value = values[n]!;
    if (found.length === size && !(value > values[found[size - 1]!]!)) continue;
    let place = found.length;
    while (place > 0 && value > values[found[place - 1]!]!) place--;
    found.splice(place, 0, n);
    if (found.length > size) found.pop();
  }
  return found;
}

export function logSumExp(values: ArrayLike<number>): number {
  let [most, sum] = [Number.NEGATIVE_INFINITY, 0];
  for (let n = 0; n < values.length; n++) most = Math.max(most, values[n]!);
  for (let n = 0; n < values.length; n++) sum += Math.exp(values[n]! - most);
  return most + Math.log(sum);
}

/** The largest of logits plus noise, which draws from softmax(logits / temperature). */
function drawToken(logits: Float32Array, key: number, settings: SearchSettings): number {
  const { temperature, top_k, top_p } = settings;
  const left = top_k || top_p < 1 ? shapeLogits(logits, settings) : null;
  let [best, most] = [EOS, Number.NEGATIVE_INFINITY];
  for (let token = 0; token < logits.length; token++) {
    if (left && !left[token]) continue;
    const noisy = logits[token]! + temperature * gumbel(key, token);
    if (noisy > most) [best, most] = [token, noisy];
  }
  return best;
}
