/** A translation and everything that the network computed for it, as `see/recording.py` records it. */

import type {
  Decode, Found, Level, Op, Prediction, Problem, Search, Sentence, Token, TraceDocument, Whole,
} from "../data/document";
import type { Candidate as Told, Progress, Request } from "../data/server";
import { strides, type Tensor } from "../data/tensor";
import type { Edit } from "./edits";
import type { Plain } from "./answer";
import { wordPattern } from "../data/words";
import { Changes, resolve } from "./changes";
import { shapeLogits } from "./distribution";
import type { Opened } from "./model";
import { bind, NO_EDITS, type Edits, type State } from "./network";
import {
  BOS, EOS, findTop, logSumExp, rank, search, type Hypothesis, type SearchSettings, type Step,
} from "./search";

const TOP = 10; // tokens kept of each prediction
const HEARD = 5; // likeliest tokens that are told at each step
const SHARE = 0.6; // of its usual confidence: below this, a model is unsure
const PART = 2 ** 40; // between the keys of two sentences of a line: see `translator.py`

export interface Recorded {
  id: string;
  base: string | null;
  opened: Opened;
  request: Request;
  document: TraceDocument;
  problems: Problem[];
  ops: Op[];
  state: State;
}

export const WHY: Record<string, string> = {
  KEPT: "lives on",
  FINISHED: "ended with EOS",
  CUT: "is as long as allowed",
  STOPPED: "would have lived on, but its sentence is done",
  OUTRANKED: "others were better",
  REPEATS: "would repeat an n-gram",
  TOO_SHORT: "would end too early",
};

/** The sentence and its translation, for one pass through the network. */
interface Passage {
  written: number[];
  finished: boolean;
  logProbs: number[] | null;
  search: Search | null;
}

/**
 * Translate a text and record one sentence of it, telling each step. `target`: record these tokens,
 * not a search's. `like`: a recording of the same sentence without these edits, of which all that
 * they do not touch is taken.
 */
export function* record(
  opened: Opened, request: Request, id: string, more: { target?: readonly number[]; like?: Recorded } = {},
): Generator<Progress, Recorded> {
  const { about, network, source: tokenizer } = opened;
  const edits = (request.edits ?? []) as Edit[];
  const sentences = more.target || request.target !== undefined ? [] : split(request.text, about.source);
  const chosen = request.sentence ?? 0;
  if (chosen && chosen >= sentences.length) throw new RangeError(`sentence ${chosen} is out of range: there are ${sentences.length}`);
  const excerpt = sentences.length > 1 ? request.text.slice(...utf16(request.text, sentences[chosen]!.span)) : request.text;
  const text = replaceWords(excerpt, edits);
  const source = readSource(opened, text);
  const longest = about.settings.model.positions.max_positions;
  if (source.length === 1) throw new Error("there is no text to look into");
  if (source.length > longest) {
    throw new Error(`the sentence has ${source.length} tokens, but this model has ${longest} positions: look into a part of it`);
  }
  const ids = source.map((token) => token.id);
  const changes = edits.length ? readChangesOf(opened, edits, source, text) : NO_EDITS;
  const like = more.like && more.like.document.source.map((token) => token.id).join() === ids.join() ? more.like : undefined;
  const passage = more.target
    ? force(more.target)
    : request.target !== undefined
      ? force([...opened.target.encode(request.target), EOS])
      : yield* find(opened, { ...request, edits }, ids, changes, sentences[chosen]?.key ?? 0, like?.state);
  const wanted = passage.finished ? [...passage.written, EOS] : passage.written;
  if (wanted.length > longest) throw new Error(`the target is ${wanted.length} tokens long, but this model has ${longest} positions`);
  const given = [BOS, ...wanted.slice(0, -1)];
  const isAlike = like && like.document.target.map((token) => token.id).join() === given.join();
  yield { stage: "recording", step: 0, most: null, text: "" };
  const state = network.pass(ids, given, changes, isAlike ? like.state : undefined);
  const { data } = state.tensors.get("logits")!;
  if (!data.every(Number.isFinite)) throw new Error("what the network computes is not finite");

  const predictions = wanted.map((token, row) => predict(opened, data.subarray(row * network.vocabulary, (row + 1) * network.vocabulary), token, passage.search));
  const translation = spell(opened, passage.written);
  const [target, predicted] = readTarget(opened, passage.written, translation, passage.finished);
  const ops = about.ops.map((op) => bind(op, source.length, target.length));
  const apart = passage.logProbs?.map((each, row) => Math.abs(each - predictions[row]!.log_prob));
  const confidence = passage.logProbs && Math.exp(passage.logProbs.reduce((sum, each) => sum + each, 0) / passage.logProbs.length);
  const document: TraceDocument = {
    schema_version: 3, glassformer: "", text, translation, source, target, predicted,
    settings: about.settings.model,
    source_vocabulary: tokenizer.vocabulary.length,
    target_vocabulary: network.vocabulary,
    level: "everything", confidence, predictions,
    search: passage.search,
    numerics: {
      decoded_in: "fp32", recorded_in: "fp32", device: "browser",
      largest_difference: apart ? Math.max(...apart) : null, chosen_differently: [],
    },
    edits: edits as unknown as Record<string, unknown>[],
    whole: sentences.length > 1 ? yield* translateAll(opened, request, sentences, chosen, translation) : null,
    tolerance: null,
    tensors: describe(ops),
  };
  const problems = judge(opened, text, passage, confidence);
  return { id, base: null, opened, request, document, problems, ops, state };
}

/** What the engine in C says of a text of one sentence, if it can; the target with its end mark. */
export function draft(opened: Opened, request: Request): { plain: Omit<Plain, "attention">; target: number[] } | null {
  const { about, network, target: { vocabulary } } = opened;
  const { text, edits, prefix, target, hypothesis } = request;
  if (!opened.draft || edits?.length || prefix?.length || target !== undefined || hypothesis) return null;
  const source = readSource(opened, text);
  const isShort = source.length > 1 && source.length <= about.settings.model.positions.max_positions;
  if (!isShort || split(text, about.source).length > 1) return null;
  const settings = override(about.settings.decode as SearchSettings, request.decode ?? {});
  const found = opened.draft(source.map(({ id }) => id), settings, request.seed ?? 0);
  if (!found || found.tokens.some((id) => id >= network.vocabulary)) return null;
  const translation = spell(opened, found.tokens);
  const [, predicted] = readTarget(opened, found.tokens, translation, found.finished);
  const predictions = predicted.map(({ id }, row): Prediction => {
    const log_prob = found.logProbs[row]!;
    return { log_prob, rank: 0, entropy: 0, ids: [id], texts: [vocabulary[id]!], log_probs: [log_prob] };
  });
  const plain = { id: "", model: about.id, text, translation, source, predicted, predictions, confidence: null, problems: [], edits: [] };
  return { plain, target: predicted.map(({ id }) => id) };
}

/** The translation of a text as one sentence, and its search, without a recording. */
export function* write(opened: Opened, request: Request): Generator<Progress, { translation: string; search: Search }> {
  const edits = (request.edits ?? []) as Edit[];
  const text = replaceWords(request.text, edits);
  const source = readSource(opened, text);
  const changes = edits.length ? readChangesOf(opened, edits, source, text) : NO_EDITS;
  const found = yield* find(opened, { ...request, edits }, source.map(({ id }) => id), changes, 0);
  return { translation: spell(opened, found.written), search: found.search! };
}

function* find(
  opened: Opened, request: Request, source: readonly number[], edits: Edits, key: number, reuse?: State,
): Generator<Progress, Passage> {
  const { network, target, about } = opened;
  const settings = override(about.settings.decode as SearchSettings, request.decode ?? {});
  const forced = (request.edits as Edit[]).reduce<string | number[]>(
    (prefix, edit) => (edit.do === "prefix" ? edit.text : prefix), request.prefix ?? "",
  );
  const prefix = typeof forced === "string" ? target.encode(forced) : forced;
  const [seed, hypothesis] = [request.seed ?? 0, request.hypothesis ?? 0];
  const most = settings.search === "beam" ? settings.beam : 1;
  let [steps, found]: [Step[], Hypothesis[]] = [[], []];
  for (const nBest of [1, hypothesis + 1]) {
    steps = [];
    const longest = about.settings.model.positions.max_positions;
    for (const step of search(network, { source, settings, longest, prefix, nBest, seed, key, edits, ...(reuse && { reuse }) })) {
      steps.push(step);
      yield tell(opened, step, steps.length, settings);
    }
    found = rank(steps.flatMap((step) => step.ended));
    if (found.length > hypothesis || hypothesis >= most) break;
  }
  const own = found[hypothesis];
  if (!own) throw new Error(`hypothesis=${hypothesis}: ${found.length} ended`);
  return {
    written: own.tokens, finished: own.finished, logProbs: own.tokenLogProbs,
    search: {
      settings, seed, prefix: prefix.length, chosen: hypothesis,
      hypotheses: found.map((each): Found => ({
        ids: each.tokens, text: spell(opened, each.tokens), log_prob: each.logProb, score: each.score, finished: each.finished,
      })),
      steps: steps.map(({ candidates }) => {
        let row = 0;
        return candidates.map((each) => ({
          parent: each.parent, row: each.fate === "KEPT" ? row++ : null, id: each.token,
          text: target.vocabulary[each.token]!, token_log_prob: each.tokenLogProb,
          log_prob: each.logProb, score: each.score, fate: each.fate, why: WHY[each.fate]!,
        }));
      }),
    },
  };
}

const force = (ids: readonly number[]): Passage => {
  const finished = ids.at(-1) === EOS;
  return { written: finished ? ids.slice(0, -1) : [...ids], finished, logProbs: null, search: null };
};

function tell({ target }: Opened, { best, logits, limit }: Step, step: number, settings: SearchSettings): Progress {
  const shaped = settings.search === "sample" ? shapeLogits(logits, settings) : null;
  const whole = logSumExp(logits);
  const candidates = findTop(shaped ?? logits, HEARD).map((id): Told => ({
    id, text: target.vocabulary[id]!, log_prob: shaped ? Math.log(shaped[id]!) : logits[id]! - whole,
  }));
  const tokens = best.map((id) => target.vocabulary[id]!);
  return { stage: "searching", step, most: limit, text: target.decode(best), tokens, candidates };
}

/** A setting that only one search has chooses that search: see `Decode.override`. */
const SEARCH_OF: Record<string, Decode["search"]> = { beam: "beam", stop: "beam", temperature: "sample", top_k: "sample", top_p: "sample" };

function override(own: SearchSettings, changes: Partial<Decode>): SearchSettings {
  const meant = new Set(Object.keys(changes).flatMap((name) => SEARCH_OF[name] ?? []));
  if (!changes.search && meant.size > 1) throw new Error("these settings ask for two searches: say which");
  const [implied = own.search] = meant;
  return { ...own, search: implied, ...changes } as SearchSettings;
}

function predict({ target }: Opened, logits: Float32Array, token: number, found: Search | null): Prediction {
  const whole = logSumExp(logits);
  let [entropy, better] = [0, 0];
  for (let id = 0; id < logits.length; id++) {
    const logProb = logits[id]! - whole;
    entropy -= Math.exp(logProb) * logProb;
    better += Number(logits[id]! > logits[token]!);
  }
  const ids = findTop(logits, TOP);
  const draws = found?.settings.search === "sample" ? shapeLogits(logits, found.settings) : null;
  return {
    log_prob: logits[token]! - whole, rank: better, entropy, ids,
    texts: ids.map((id) => target.vocabulary[id]!),
    log_probs: ids.map((id) => logits[id]! - whole),
    ...(draws && { draw_prob: draws[token]!, draw_probs: ids.map((id) => draws[id]!) }),
  };
}

export function readSource({ source, about }: Opened, text: string): Token[] {
  const [left, right] = [Array.from(text).length - Array.from(text.trimStart()).length, Array.from(text.trimEnd()).length];
  const tokens = source.read(text.trim(), about.unspaced).map(({ id, start, end }) => ({
    text: source.vocabulary[id]!, id, start: left + start, end: left + end,
  }));
  return [...tokens, { text: source.vocabulary[EOS]!, id: EOS, start: right, end: right }];
}

/** The rows of the decoder, and the token that each predicts: the same, shifted by one. */
function readTarget({ target }: Opened, ids: readonly number[], text: string, finished: boolean): [Token[], Token[]] {
  const size = Array.from(text).length;
  const clip = (place: number) => Math.min(Math.max(place, 0), size);
  const ends = [0, ...ids.map((_, n) => Array.from(target.decode(ids.slice(0, n + 1))).length)];
  const spelled = target.decode(ids);
  const left = Array.from(spelled).length - Array.from(spelled.trimStart()).length;
  const written = ids.map((id, n): Token => {
    const start = ends[n] === ends[n + 1] ? ends[n]! - 1 : ends[n]!;
    return { text: target.vocabulary[id]!, id, start: clip(start - left), end: clip(ends[n + 1]! - left) };
  });
  const mark = (id: number, place: number): Token => ({ text: target.vocabulary[id]!, id, start: place, end: place });
  const predicted = finished ? [...written, mark(EOS, size)] : written;
  return [[mark(BOS, 0), ...predicted.slice(0, -1)], predicted];
}

export const spell = ({ target }: Opened, ids: readonly number[]): string =>
  target.decode(ids).replace(/[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g, " ").trim();

export function replaceWords(text: string, edits: readonly Edit[]): string {
  return edits.reduce((now, edit, n) => {
    if (edit.do !== "word") return now;
    if (now.search(wordPattern(edit.word)) < 0) throw new Error(`edit ${n + 1}: there is no word '${edit.word}' in '${now}'`);
    return now.replace(wordPattern(edit.word), () => edit.by);
  }, text);
}

export function readChangesOf(opened: Opened, edits: readonly Edit[], source: readonly Token[], text: string): Changes {
  const { ops, settings } = opened.about;
  const borrow = (sentence: string, name: string, position: number): Float32Array => {
    const steps = record(opened, { text: sentence }, "");
    let next = steps.next();
    while (!next.done) next = steps.next();
    const { shape, data } = readTensor(next.value, resolve(name, settings.model));
    const axis = shape.length - 2;
    const place = position < 0 ? position + shape[axis]! : position;
    if (!(place >= 0 && place < shape[axis]!)) throw new Error(`other ${position} is out of range: 0 to ${shape[axis]! - 1}`);
    const [heads, size] = [axis ? shape[0]! : 1, shape[axis + 1]!];
    const found = new Float32Array(heads * size);
    for (let head = 0; head < heads; head++) {
      found.set(data.subarray((head * shape[axis]! + place) * size, (head * shape[axis]! + place + 1) * size), head * size);
    }
    return found;
  };
  return new Changes({ ops, settings: settings.model, source, text, borrow }, edits);
}

const LEVELS: Record<Exclude<Level, "everything">, string[]> = {
  attention: ["weights", "mask"],
  states: ["query", "key", "value", "context", "sum", "normed", "memory", "last"],
};

export function levelOf(name: string): Level {
  const window = name.split(".").at(-1)!;
  return LEVELS.attention.includes(window) ? "attention" : LEVELS.states.includes(window) ? "states" : "everything";
}

function describe(ops: readonly Op[]): TraceDocument["tensors"] {
  const windows = ops.filter(({ kind }) => kind === "window");
  return Object.fromEntries(
    windows.map(({ name, axes }) => [
      name, { file: `${levelOf(name)}.safetensors`, shape: axes.map((axis) => axis.size), dims: axes.map((axis) => axis.dim) },
    ]),
  );
}

/** A tensor of a recording, or a weight. Throws where there is none. */
export function readTensor({ state, opened }: Recorded, name: string): Tensor {
  const found = state.tensors.get(name) ?? opened.network.weights.get(name);
  if (!found) throw new Error(`${name} is not in this recording`);
  const dense = strides(found.shape);
  const { steps = dense } = found as { steps?: number[] };
  if (steps.some((step, axis) => step !== dense[axis])) throw new Error(`${name} lies in parts`);
  const size = found.shape.reduce((product, each) => product * each, 1);
  return { shape: found.shape, data: found.data.subarray(0, size) };
}

function judge({ source, about }: Opened, text: string, passage: Passage, confidence: number | null): Problem[] {
  if (confidence === null) return [];
  const unknown = source.findUnknown(text);
  const share = (part: number) => `${Math.round(100 * part)}%`;
  const isUnsure = about.usual !== null && confidence < SHARE * about.usual;
  const said = `the model is unsure of its tokens: ${share(confidence)} where ${share(about.usual ?? 1)} is usual`;
  return [
    ...(passage.finished ? [] : [{ kind: "cut", said: "cut at the greatest length" }]),
    ...(unknown.length ? [{ kind: "unknown", said: `characters that the model has not seen: ${unknown.join(" ")}` }] : []),
    ...(isUnsure ? [{ kind: "unsure", said }] : []),
  ];
}

/** A sentence of a longer text, in characters; `key` is what sampling draws it with. */
interface Part {
  span: [number, number];
  key: number;
}

/** Sentences, as the browser knows them; a line break ends one, and what has no letter is none. */
function split(text: string, language: string | null): Part[] {
  const segmenter = new Intl.Segmenter(language ?? undefined, { granularity: "sentence" });
  const found: Part[] = [];
  let begin = 0;
  text.split(/(?<=\n)/).forEach((line, number) => {
    let part = 0;
    for (const { segment, index } of segmenter.segment(line)) {
      if (!/[\p{L}\p{N}]/u.test(segment)) continue;
      const start = begin + Array.from(line.slice(0, index)).length;
      const left = Array.from(segment).length - Array.from(segment.trimStart()).length;
      found.push({ span: [start + left, start + left + Array.from(segment.trim()).length], key: number + PART * part++ });
    }
    begin += Array.from(line).length;
  });
  return found;
}

/** Where characters lie in a string of JavaScript's, which counts halves of some. */
function utf16(text: string, [start, end]: [number, number]): [number, number] {
  const letters = Array.from(text);
  const at = letters.slice(0, start).join("").length;
  return [at, at + letters.slice(start, end).join("").length];
}

function* translateAll(opened: Opened, request: Request, parts: Part[], chosen: number, own: string): Generator<Progress, Whole> {
  let [translation, at] = ["", 0];
  const sentences: Sentence[] = [];
  for (const [number, { span, key }] of parts.entries()) {
    const [start, end] = utf16(request.text, span);
    translation += request.text.slice(at, start);
    at = end;
    const { prefix: _, hypothesis: __, ...plain } = request;
    const text = request.text.slice(start, end);
    const steps = find(opened, { ...plain, edits: [] }, readSource(opened, text).map(({ id }) => id), NO_EDITS, key);
    let said = own;
    if (number !== chosen) said = spell(opened, (yield* whole(steps)).written);
    const from = Array.from(translation).length;
    translation += said;
    sentences.push({ source: span, target: [from, from + Array.from(said).length] });
  }
  return { text: request.text, translation: translation + request.text.slice(at), sentences, chosen };
}

function* whole<T>(steps: Generator<Progress, T>): Generator<Progress, T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value as T;
    yield { stage: "whole", step: (value as Progress).step ?? 0 };
  }
}
