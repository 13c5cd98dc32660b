/** A translation and everything that the network computed for it, as `see/recording.py` records it. */

import type {
  Decode, Found, Level, Op, Prediction, Problem, Search, Sentence, Token, TraceDocument, Whole,
} from "../data/document";
import type { Candidate as Told, Progress, Request } from "../data/server";
import { strides, type Tensor } from "../data/tensor";
import type { Edit } from "./edits";
import type { Plain } from "./answer";
import type { Portraits } from "./engine";
import { wordPattern } from "../data/words";
import type { Adapted } from "./adapting";
import type { Attention } from "./placement";
import { Changes, resolve } from "./changes";
import { shapeLogits } from "./distribution";
import type { Judged } from "./judging";
import { LIMITS } from "./limits";
import { nameStandIns, type Opened } from "./model";
import { bind, NO_EDITS, type Edits, type State } from "./network";
import type { Span } from "./symbols";
import { count, hasAlnum, skipSpace, skipSpaceBack, strip } from "./tables";
import {
  BOS, EOS, findTop, logSumExp, rank, search, type Hypothesis, type SearchSettings, type Step,
} from "./search";

const TOP = 10; // tokens kept of each prediction
const HEARD = 5; // likeliest tokens that are told at each step
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

/** What the heads of a model read most, as far as that was measured. */
const habitsOf = (portraits: Portraits | null) =>
  Object.fromEntries(Object.entries(portraits?.blocks ?? {}).map(([name, { habits }]) => [name, habits]));

/** The sentence and its translation, for one pass through the network. */
interface Passage {
  written: number[];
  finished: boolean;
  logProbs: number[] | null;
  search: Search | null;
}

/** What is known of a recording before it is made. */
export interface Known {
  target?: readonly number[]; // record these tokens, not a search's
  whole?: Whole | null | undefined; // the text with this translation
  like?: Recorded | undefined; // the same sentence without these edits: what they do not touch is taken of it
}

/** Translate a text and record one sentence of it, telling each step. */
export function* record(
  own: Opened, request: Request, id: string, more: Known = {},
): Generator<Progress, Recorded> {
  const edits = (request.edits ?? []) as Edit[];
  const sentences = more.target || request.target !== undefined ? [] : split(own, request.text);
  const chosen = request.sentence ?? 0;
  if (chosen && chosen >= sentences.length) throw new RangeError(`sentence ${chosen} is out of range: there are ${sentences.length}`);
  const isPart = sentences.length > 1 || (sentences.length === 1 && sentences[0]!.read !== strip(request.text));
  const text = replaceWords(isPart ? sentences[chosen]!.read : request.text, edits);
  const opened = nameStandIns(own, own.adapter?.adapt(strip(text)));
  const { about, network, source: tokenizer } = opened;
  const source = readSource(opened, text);
  const longest = about.settings.model.positions.max_positions;
  if (source.length === 1) throw new Error("there is no text to look into");
  if (source.length > longest) {
    throw new Error(`the sentence has ${source.length} tokens, but this model has ${longest} positions: look into a part of it`);
  }
  if (!more.target && request.target === undefined) checkLetters(text);
  const ids = source.map((token) => token.id);
  const changes = edits.length ? readChangesOf(opened, edits, source, text) : NO_EDITS;
  const like = more.like && more.like.document.source.map((token) => token.id).join() === ids.join() ? more.like : undefined;
  const passage = more.target
    ? force(more.target)
    : request.target !== undefined
      ? force([...opened.target.encode(request.target), EOS])
      : yield* find(opened, { ...request, prefix: readPrefix(own, request, text) }, ids, changes, sentences[chosen]?.key ?? 0, like?.state);
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
  const dropped = listDropped(own, text, state, passage.written);
  const isPlaced = own.adapter && own.adapter.adapt(strip(text)).asides.length > 0;
  const said = isPlaced ? restore(own, text, passage.written, true) : translation; // with what was taken out
  const problems = confidence === null ? [] : findProblems(own, text, said, passage.finished, confidence, dropped);
  const kept: string[] = [];
  const bare = isPart ? null : translation;
  const whole = sentences.length
    ? yield* translateAll(own, request, sentences, chosen, passage.written, bare, kept)
    : (more.whole ?? null);
  const document: TraceDocument = {
    schema_version: 3, glassformer: "", text, translation, source, target, predicted,
    settings: about.settings.model,
    habits: habitsOf(about.portraits),
    source_vocabulary: tokenizer.vocabulary.length,
    target_vocabulary: network.vocabulary,
    level: "everything", confidence: confidence && own.judge.cap(confidence, problems), predictions,
    search: passage.search,
    numerics: {
      decoded_in: "fp32", recorded_in: "fp32", device: "browser",
      largest_difference: apart ? Math.max(...apart) : null, chosen_differently: [],
    },
    edits: edits as unknown as Record<string, unknown>[],
    whole,
    tolerance: null,
    tensors: describe(ops),
  };
  const all = [...problems, ...own.judge.listUntranslatable(kept)];
  return { id, base: null, opened, request, document, problems: all, ops, state };
}

/** What the engine in C says of a text of one sentence, if it can; the target with its end mark. */
export function draft(own: Opened, request: Request): { plain: Omit<Plain, "attention">; target: number[] } | null {
  const { text, edits, prefix, target, hypothesis } = request;
  const opened = nameStandIns(own, own.adapter?.adapt(strip(text)));
  const { about, network, target: { vocabulary } } = opened;
  if (!opened.draft || edits?.length || prefix?.length || target !== undefined || hypothesis) return null;
  const source = readSource(opened, text);
  const isShort = source.length > 1 && source.length <= about.settings.model.positions.max_positions;
  const sentences = split(own, text);
  if (!isShort || sentences.length !== 1 || sentences[0]!.read !== strip(text)) return null;
  const settings = override(about.settings.decode as SearchSettings, request.decode ?? {});
  const found = opened.draft(source.map(({ id }) => id), settings, request.seed ?? 0);
  if (!found || found.tokens.some((id) => id >= network.vocabulary)) return null;
  const translation = spell(opened, found.tokens);
  const [, predicted] = readTarget(opened, found.tokens, translation, found.finished);
  const predictions = predicted.map(({ id }, row): Prediction => {
    const log_prob = found.logProbs[row]!;
    return { log_prob, rank: 0, entropy: 0, ids: [id], texts: [vocabulary[id]!], log_probs: [log_prob] };
  });
  const whole = translateAll(own, request, sentences, 0, found.tokens, translation, [], true).next().value as Whole | null;
  const plain = { id: "", model: about.id, text, translation, source, predicted, predictions, confidence: null, problems: [], edits: [], whole };
  return { plain, target: predicted.map(({ id }) => id) };
}

/** The translation of a text as one sentence, and its search, without a recording. */
export function* write(own: Opened, request: Request): Generator<Progress, { translation: string; search: Search }> {
  const edits = (request.edits ?? []) as Edit[];
  const text = replaceWords(request.text, edits);
  checkLetters(text);
  const opened = nameStandIns(own, own.adapter?.adapt(strip(text)));
  const source = readSource(opened, text);
  const changes = edits.length ? readChangesOf(opened, edits, source, text) : NO_EDITS;
  const found = yield* find(opened, { ...request, prefix: readPrefix(own, request, text) }, source.map(({ id }) => id), changes, 0);
  return { translation: restore(own, text, found.written), search: found.search! };
}

/**
 * What people are shown of what the network wrote: with the names, the case and the marks of its text.
 * `inHaste`: what was set aside is placed without reading the attention.
 */
export function restore(opened: Opened, text: string, written: readonly number[], inHaste = false): string {
  const { adapter } = opened;
  const spelled = spell(opened, written);
  const attend = (own: string, message: string) => (inHaste ? null : readAttention(opened, own, message));
  return adapter ? adapter.restore(adapter.adapt(strip(text)), strip(text), spelled, attend) : spelled;
}

/** The cross-attention of a translation in the head that aligns its words; null if nothing tells which. */
function readAttention(opened: Opened, text: string, message: string): Attention | null {
  const { about, network, target } = opened;
  const [keys, queries] = [readTokens(opened, text), target.read(message)];
  const longest = about.settings.model.positions.max_positions;
  if (!about.alignment || Math.max(keys.length, queries.length) >= longest) return null;
  const { layer, head, row } = about.alignment;
  const state = network.pass([...keys.map(({ id }) => id), EOS], [BOS, ...queries.map(({ id }) => id)]);
  const weight = readHead(state, layer, head);
  if (!weight) return null;
  const first = Number(row === "reads");
  const inHalves = (whole: string, pieces: readonly { start: number; end: number }[]) => pieces.map(({ start, end }) => utf16(whole, [start, end]));
  return {
    source: inHalves(text, keys), target: inHalves(message, queries),
    weights: (query, key) => weight(first + query, key),
  };
}

/** The cross-attention of one head of a layer, or of the mean of all, by row and column. */
function readHead(state: State, layer: number, head: number | null): ((query: number, key: number) => number) | null {
  const found = state.tensors.get(`decoder.${layer}.cross_attention.weights`);
  if (!found || found.shape.length !== 3) return null;
  const heads = found.shape[0]!;
  const [perHead, perQuery, perKey] = (found as { steps?: number[] }).steps ?? strides(found.shape);
  const at = (one: number, query: number, key: number) => found.data[one * perHead! + query * perQuery! + key * perKey!]!;
  const mean = (query: number, key: number) => Array.from({ length: heads }, (_, one) => at(one, query, key)).reduce((a, b) => a + b, 0) / heads;
  return head === null ? mean : (query, key) => at(head, query, key);
}

/** The tokens that the translation of a text begins with. */
export function readPrefix({ adapter, target }: Opened, { edits = [], prefix = [] }: Request, text: string): number[] {
  const forced = (edits as Edit[]).reduce((before, edit) => (edit.do === "prefix" ? edit.text : before), prefix);
  if (typeof forced !== "string") return forced;
  return target.encode(adapter ? adapter.readPrefix(adapter.adapt(strip(text)), forced) : forced);
}

function* find(
  opened: Opened, request: Request, source: readonly number[], edits: Edits, key: number, reuse?: State,
): Generator<Progress, Passage> {
  const { network, target, about } = opened;
  const settings = override(about.settings.decode as SearchSettings, request.decode ?? {});
  const prefix = (request.prefix ?? []) as number[];
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

type Rule = [rule: string, isAllowed: (value: number) => boolean];
const oneOf = (...known: string[]): Rule => [known.join(" or "), (value) => known.includes(String(value))];

/** What settings may be that are asked for: see `Decode` in `config.py`; a beam, what a page has time for. */
const RULES: Record<string, Rule> = {
  search: oneOf("beam", "greedy", "sample"),
  beam: [`a whole number from 1 to ${LIMITS.beam}`, (value) => Number.isInteger(value) && value >= 1 && value <= LIMITS.beam],
  length_penalty: oneOf("gnmt", "power", "none"),
  alpha: ["a number from 0 to 100", (value) => value >= 0 && value <= 100],
  temperature: ["a number above 0", (value) => value > 0 && value < Infinity],
  top_k: ["a whole number from 0", (value) => Number.isInteger(value) && value >= 0],
  top_p: ["a number above 0, at most 1", (value) => value > 0 && value <= 1],
};

function override(own: SearchSettings, changes: Partial<Decode>): SearchSettings {
  const meant = new Set(Object.keys(changes).flatMap((name) => SEARCH_OF[name] ?? []));
  if (!changes.search && meant.size > 1) throw new Error("these settings ask for two searches: say which");
  const [implied = own.search] = meant;
  for (const [name, [rule, isAllowed]] of Object.entries(RULES)) {
    const value = changes[name as keyof Decode];
    if (value !== undefined && !isAllowed(value as number)) throw new RangeError(`decode.${name}=${value}: it has to be ${rule}`);
  }
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

/** Throw for a text of which there is nothing to translate. */
function checkLetters(text: string): void {
  if (!hasAlnum(text)) throw new Error("there is nothing to translate in a text without a letter or digit");
}

/** The tokens that the network reads of a text, without the end mark; a tag spans nothing. */
const readTokens = ({ source, about: { tags, unspaced } }: Opened, text: string) =>
  [...tags.map((id) => ({ id, start: 0, end: 0 })), ...source.read(text, unspaced)];

export function readSource(opened: Opened, text: string): Token[] {
  const { source, about, adapter } = opened;
  const [left, right] = [skipSpace(text, 0), count(text.slice(0, skipSpaceBack(text, text.length)))];
  const bare = strip(text);
  const adapted = adapter?.adapt(bare);
  const trace = adapted ? traceBack(bare, adapted) : (span: Span) => span;
  const tokens = readTokens(opened, adapted?.text ?? bare).map((token, place) => {
    const [start, end] = place < about.tags.length ? [0, 0] : trace([token.start, token.end]);
    return { text: source.vocabulary[token.id]!, id: token.id, start: left + start, end: left + end };
  });
  return [...tokens, { text: source.vocabulary[EOS]!, id: EOS, start: right, end: right }];
}

/** What finds the characters of a sentence that characters of its adapted text come from. */
function traceBack(sentence: string, { text, origins }: Adapted): (span: Span) => Span {
  const before = [0]; // characters in front of each half of one
  for (const letter of sentence) before.push(...Array<number>(letter.length).fill(before.at(-1)! + 1));
  const halves = [0]; // in front of each character
  for (const letter of text) halves.push(halves.at(-1)! + letter.length);
  return ([start, end]) => {
    const [from, to] = [halves[start]!, halves[end]!];
    if (from < to) return [before[origins[from]![0]]!, before[origins[to - 1]![1]]!];
    const place = before[origins[from]?.[0] ?? origins.at(-1)?.[1] ?? 0]!;
    return [place, place];
  };
}

/** The rows of the decoder, and the token that each predicts: the same, shifted by one. */
function readTarget({ target }: Opened, ids: readonly number[], text: string, finished: boolean): [Token[], Token[]] {
  const size = Array.from(text).length;
  const clip = (place: number) => Math.min(Math.max(place, 0), size);
  const ends = [0, ...ids.map((_, n) => Array.from(target.decode(ids.slice(0, n + 1))).length)];
  const spelled = target.decode(ids);
  const left = skipSpace(spelled, 0);
  const written = ids.map((id, n): Token => {
    const start = ends[n] === ends[n + 1] ? ends[n]! - 1 : ends[n]!;
    return { text: target.vocabulary[id]!, id, start: clip(start - left), end: clip(ends[n + 1]! - left) };
  });
  const mark = (id: number, place: number): Token => ({ text: target.vocabulary[id]!, id, start: place, end: place });
  const predicted = finished ? [...written, mark(EOS, size)] : written;
  return [[mark(BOS, 0), ...predicted.slice(0, -1)], predicted];
}

export const spell = ({ target }: Opened, ids: readonly number[]): string =>
  strip(target.decode(ids).replace(/[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g, " "));

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

/** What is judged of a source. */
export function readJudged({ adapter, source }: Opened, text: string): Pick<Judged, "text" | "read" | "isCopied" | "unknown" | "repeated"> {
  const bare = strip(text);
  const adapted = adapter?.adapt(bare);
  const read = adapted?.text ?? bare;
  const isCopied = adapted?.isOnlyStandIns ?? false;
  const unread = source.findUnknown(isCopied ? bare : read);
  const letters = bare.match(/\p{L}/gu) ?? [];
  const isUnread = letters.length > 0 && letters.every((each) => unread.includes(each));
  const repeated = [...(adapted?.standIns ?? []).map(({ original }) => original), ...(adapted?.repeated ?? [])];
  return { text, read, isCopied, unknown: isCopied && !isUnread ? [] : unread, repeated };
}

/** What looks wrong with a translation that was searched for. */
function findProblems(
  own: Opened, text: string, translation: string, isFinished: boolean, confidence: number, dropped: readonly string[] = [],
): Problem[] {
  return own.judge.list({ ...readJudged(own, text), translation, isFinished, confidence, usual: own.about.usual, dropped });
}

/** The words of a sentence that get next to no attention from its translation: it drops them. */
function listDropped(opened: Opened, text: string, state: State, written: readonly number[]): string[] {
  const { judge: { rule }, adapter } = opened;
  const bare = strip(text);
  const read = adapter?.adapt(bare).text ?? bare;
  const tokens = readTokens(opened, read);
  if (!rule || written.length > rule.ratio * (tokens.length + 1)) return [];
  const weight = readHead(state, rule.layer, rule.head);
  if (!weight) return [];
  const covered = tokens.map((_, key) => written.reduce<number>((sum, _id, row) => sum + weight(rule.shift + row, key), 0));
  const words = [...read.matchAll(new RegExp(rule.word, "gu"))].filter(([word], n, all) => {
    const start = count(read.slice(0, all[n]!.index));
    const own = covered.filter((_, key) => tokens[key]!.start < start + count(word) && tokens[key]!.end > start);
    return own.length && Math.max(...own) < rule.least && !rule.unsaid.includes(word.toLowerCase());
  });
  return words.map(([word]) => word);
}

/** A sentence of a longer text; `key` is what sampling draws it with. */
interface Part {
  span: Span; // in characters
  place: Span; // in halves of them
  moved: Span; // the place of the marks that belong to it, though symbols stand between
  key: number;
  text: string; // with those marks
  read: string; // without symbols that the model does not know
}

/** The sentences of each line of a text, as `translate/reading.py` finds them; what has no letter is none. */
export function split(opened: Opened, text: string): Part[] {
  const { adapter, splitter } = opened;
  const parts: Part[] = [];
  let [begin, counted, characters] = [0, 0, 0];
  const countTo = (at: number): number => {
    characters += count(text.slice(counted, at));
    counted = at;
    return characters;
  };
  splitter.splitLines(text).forEach((line, number) => {
    const spans = findSentences(opened, line);
    const moved = adapter?.symbols.findMoved(line, spans) ?? spans.map(([, end]): Span => [end, end]);
    const mark = splitter.findLanguageMark(line);
    spans.forEach(([start, end], part) => {
      const place: Span = [begin + start, begin + end];
      const own = (part ? mark : "") + line.slice(start, end) + line.slice(...moved[part]!);
      parts.push({
        span: [countTo(place[0]), countTo(place[1])], place, moved: [begin + moved[part]![0], begin + moved[part]![1]],
        key: number + PART * part, text: own, read: adapter?.setAside(own)?.text ?? own,
      });
    });
    begin += line.length;
  });
  return parts;
}

/** The spans of the sentences of a line, without symbols around them. */
function findSentences({ adapter, splitter }: Opened, line: string): Span[] {
  const found: Span[] = [];
  for (const [start, end] of splitter.split(line)) {
    const whole = line.slice(start, end);
    for (const [left, right] of adapter?.symbols.splitBehindFaces(whole) ?? [[0, whole.length]]) {
      const own = whole.slice(left, right);
      const [first, last] = (!splitter.findLanguageMark(own) && adapter?.symbols.strip(own)) || [0, own.length];
      const bare = own.slice(first, last);
      if (!hasAlnum(bare)) continue;
      const origin = start + left + first;
      for (const [from, to] of adapter?.splitAtColons(bare) ?? [[0, bare.length]]) {
        const part = bare.slice(from, to);
        for (const [one, two] of adapter?.symbols.splitAtSeparators(part) ?? [[0, part.length]]) found.push([origin + from + one, origin + from + two]);
      }
    }
  }
  return found;
}

/** Where characters lie in a string of JavaScript's, which counts halves of some. */
function utf16(text: string, [start, end]: [number, number]): [number, number] {
  const letters = Array.from(text);
  const at = letters.slice(0, start).join("").length;
  return [at, at + letters.slice(start, end).join("").length];
}

/**
 * The text as its user gets it; null if that is `bare`, which the network wrote for the one sentence that it is.
 * Sentences that are too long for the network stay, and come into `kept`.
 */
function* translateAll(
  opened: Opened, request: Request, parts: Part[], chosen: number, own: number[], bare: string | null, kept: string[], inHaste = false,
): Generator<Progress, Whole | null> {
  let [translation, at] = ["", 0];
  const sentences: Sentence[] = [];
  for (const [number, { span, place: [start, end], moved: [first, last], key, text }] of parts.entries()) {
    translation += request.text.slice(at, start);
    at = end;
    const { prefix: _, hypothesis: __, ...plain } = request;
    const ids = readSource(opened, text).map(({ id }) => id);
    const isKept = number !== chosen && ids.length > opened.about.settings.model.positions.max_positions;
    if (isKept) kept.push(text);
    const steps = find(opened, plain, ids, NO_EDITS, key);
    const said = isKept ? text : restore(opened, text, number === chosen ? own : (yield* whole(steps)).written, inHaste);
    if (said === bare) return null;
    const from = count(translation);
    translation += said;
    sentences.push({ source: span, target: [from, from + count(said)] });
    if (last > first) [translation, at] = [translation + request.text.slice(at, first), last];
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
