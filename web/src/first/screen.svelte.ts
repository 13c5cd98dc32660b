/** What the first screen shows: a sentence, its translation, and the same with some words cut. */

import { engine } from "../engine";
import type { Answer } from "../engine/engine";
import { ServerError, type Model, type Models, type Request } from "../data/server";
import { shapeLogits, type Shaping } from "../engine/distribution";
import { messageOf } from "../format";
import { here } from "../state.svelte";
import type { Cut, Edit } from "../engine/edits";
import { Lost } from "../engine/line";
import { isCut, listWords, makeCuts, mendWord, probabilityOf } from "./cuts";
import { sentencesOf } from "./examples";
import { countSentences, findExcerpt } from "./excerpt";
import { say } from "./say";

const KEPT = 60; // answers in memory: what was asked before is there at once
const PAUSE = engine.where === "worker" ? 0 : 350; // milliseconds of no typing
export const PLAIN: Shaping = { temperature: 1, top_k: 0, top_p: 1 };

/** An answer, and the word of it that is looked at: what is not urgent shows this a little later. */
export interface Held {
  answer: Answer | null;
  focus: number;
}

/** One word was replaced: the sentence that came of it, and what was said of the one before. */
interface Swap {
  text: string;
  from: Answer;
  was: string;
  by: string;
}

class Screen {
  models: Models | null = $state.raw(engine.listed ?? null);
  before: Answer | null = $state.raw(null); // nothing cut
  now: Answer | null = $state.raw(null); // with the cuts
  unknown: string[] = $state.raw([]);
  swapped: Swap | null = $state.raw(null);
  chosen = $state(-1); // a word of the translation; -1: the one that changed last, or is least sure
  last = $state(-1); // the source word that was cut last
  isPainted = $state(false); // the sentence is there: what stands below it or beside it may come
  hasCut = $state(false); // since the page was opened
  isTyping = $state(false); // the sentence is a text to type in
  busy = $state(false);
  error: string | null = $state(null);
  locked = $state(false);
  isFinal = $state(false); // the error stays, however often one tries
  shaping: Shaping = $state({ ...PLAIN });
  logits: (Float32Array | undefined)[] = $state.raw([]); // of each row of `now`
  private readonly shapes = $derived(this.logits.map((each) => each && shapeLogits(each, this.shaping)));
  private readonly answers = new Map<string, Answer>();
  private readonly coming = new Set<number>(); // rows whose logits were asked for
  private running: AbortController | null = null;
  private typing: ReturnType<typeof setTimeout> | undefined;

  get model(): Model | undefined {
    const wanted = here.model || this.models?.default;
    return this.models?.models.find((model) => model.id === wanted) ?? this.models?.models[0];
  }

  get edits(): Edit[] {
    try {
      const found: unknown = here.edits ? JSON.parse(here.edits) : [];
      return Array.isArray(found) ? found.filter((each) => typeof each?.do === "string") : [];
    } catch {
      return [];
    }
  }

  get cuts(): Cut[] {
    return this.edits.filter((edit): edit is Cut => edit.do === "cut");
  }

  /** Ask what models there are; whether that is known. */
  async load(): Promise<boolean> {
    this.error = null;
    try {
      this.models ??= await engine.models();
    } catch (error) {
      this.fail(error);
    }
    return this.models !== null;
  }

  /** Translate what the address asks for. */
  async start(): Promise<void> {
    if (!(await this.load())) return;
    here.text ||= sentencesOf(this.model)[0] ?? "";
    await this.ask();
  }

  /** Translate again a little after the last key. */
  type(text: string): void {
    const [start, before] = [this.before ? findExcerpt(this.before, "source").origins[0]! : 0, Array.from(here.text)];
    const isSame = text.startsWith(before.slice(0, start + 1).join(""));
    Object.assign(here, { text, edits: "", sentence: isSame ? here.sentence : 0 });
    clearTimeout(this.typing);
    this.typing = setTimeout(() => void this.ask(), PAUSE);
  }

  async choose(model: string): Promise<void> {
    const isExample = sentencesOf(this.model).includes(here.text.trim());
    here.model = model;
    if (isExample) here.text = sentencesOf(this.model)[0] ?? "";
    await this.show(here.text);
  }

  /** Another sentence, with nothing cut. */
  async show(text: string, sentence = 0): Promise<void> {
    Object.assign(here, { text, edits: "", trace: "", sentence, prefix: "", hypothesis: "", step: -1 });
    this.chosen = this.last = -1;
    await this.ask();
  }

  /** The next sentence of the text, or the one before; behind the last comes the first. */
  async turn(by: 1 | -1): Promise<void> {
    const many = countSentences(this.before);
    await this.show(here.text, (here.sentence + by + many) % many);
  }

  /** What the words on screen are compared with: without the cuts, or before a word was replaced. */
  get base(): Answer | null {
    return this.swap?.from ?? this.before;
  }

  /** The word that was replaced last, while nothing else has changed. */
  get swap(): Swap | null {
    return !this.edits.length && this.swapped?.text === textOf(this.now) ? this.swapped : null;
  }

  /** Cut a word for the whole translation, or for one word of it; once more, and it is mended. */
  async toggle(place: number, only = -1): Promise<void> {
    const base = this.before;
    if (!base) return;
    const isMended = isCut(base, place, this.edits);
    const rows = only >= 0 ? (this.now?.targetWords[only] ?? []) : [];
    const next = isMended
      ? mendWord(base, place, this.edits)
      : [...this.edits, ...makeCuts(base, place, rows)];
    here.edits = next.length ? JSON.stringify(next) : "";
    this.last = isMended ? -1 : place;
    this.hasCut = true;
    this.chosen = -1;
    await this.ask();
  }

  async mendAll(): Promise<void> {
    here.edits = "";
    this.last = this.chosen = -1;
    await this.ask();
  }

  /** The translation of a sentence under these edits, which are not shown; null where it can't be had. */
  async peek({ model, text, whole }: Pick<Answer, "model" | "text" | "whole">, edits: Edit[] = []): Promise<Answer | null> {
    const request: Request = { text: whole?.text ?? text, model, ...(whole?.chosen && { sentence: whole.chosen }) };
    if (edits.length) request.edits = edits;
    return this.find(request, new AbortController().signal).catch(() => null);
  }

  /** Translate the sentence without and with the cuts; a later question takes the place of this. */
  async ask(): Promise<void> {
    this.running?.abort();
    const own = (this.running = new AbortController());
    const [text, { sentence }] = [here.text.trim(), here];
    if (!this.model) return;
    this.error = null;
    this.isFinal = false;
    if (!/[\p{L}\p{N}]/u.test(text)) {
      [this.before, this.now, this.busy] = [null, null, false];
      if (text) [this.isFinal, this.error] = [true, say("nothing")];
      return;
    }
    const request: Request = { text, model: this.model.id, ...(sentence && { sentence }) };
    this.busy = true;
    const show = (base: Answer) => {
      if (own.signal.aborted) return;
      const isOther = !isAlike(this.before, base);
      this.before = base;
      if (isOther || !this.edits.length || !this.now?.id) this.take(base);
      if (isOther) void this.listUnknown(base, own.signal);
    };
    try {
      show(await this.find(request, own.signal, show));
      if (own.signal.aborted) return;
      if (this.edits.length) {
        const edited = await this.find({ ...request, edits: this.edits }, own.signal);
        if (!own.signal.aborted) this.take(edited);
      }
    } catch (error) {
      if (own.signal.aborted) return;
      if (!sentence || !isWrong(error)) return this.fail(error);
      here.sentence = 0; // the text no longer has so many
      await this.ask();
    } finally {
      if (this.running === own) this.busy = false;
    }
  }

  private take(answer: Answer): void {
    if (this.now?.id !== answer.id) this.logits = [];
    this.coming.clear();
    this.now = answer;
  }

  private async find(request: Request, signal: AbortSignal, tell?: (early: Answer) => void): Promise<Answer> {
    const key = JSON.stringify([request.model, request.text, request.sentence ?? 0, request.edits ?? []]);
    const known = this.answers.get(key);
    if (known) return known;
    const answer = await engine.translate(request, signal, tell);
    this.answers.set(key, answer);
    if (this.answers.size > KEPT) this.answers.delete(this.answers.keys().next().value!);
    return answer;
  }

  private async listUnknown(answer: Answer, signal: AbortSignal): Promise<void> {
    this.unknown = [];
    const found = await engine.unknown(answer.model, answer.text).catch(() => []);
    if (!signal.aborted) this.unknown = found;
  }

  private fail(error: unknown): void {
    this.locked = error instanceof ServerError && error.status === 401;
    this.isFinal = isWrong(error);
    this.error = messageOf(error);
  }

  /** The word of the translation that the right side shows. */
  get focus(): number {
    const { now, base } = this;
    if (!now) return -1;
    const words = listWords(now, "target");
    if (this.chosen >= 0 && this.chosen < words.length) return this.chosen;
    const old = base ? listWords(base, "target") : [];
    const fresh = words.findIndex((word, place) => word !== old[place] && /[\p{L}\p{N}]/u.test(word));
    if (now !== base && fresh >= 0) return fresh;
    let [least, found] = [2, 0];
    words.forEach((word, place) => {
      const sure = probabilityOf(now, place);
      if (sure < least && /[\p{L}\p{N}]/u.test(word)) [least, found] = [sure, place];
    });
    return found;
  }

  /** Fetch the logits of one word, or of all; those that are there already are kept. */
  async loadLogits(place = -1): Promise<void> {
    const answer = this.now;
    if (!answer?.id) return;
    const rows = place >= 0 ? (answer.targetWords[place] ?? []) : answer.predicted.map((_, row) => row);
    const missing = rows.filter((row) => !this.logits[row] && !this.coming.has(row));
    if (!missing.length) return;
    missing.forEach((row) => this.coming.add(row));
    try {
      const found = await Promise.all(missing.map((row) => engine.logits(answer.id, row)));
      if (this.now?.id !== answer.id) return;
      const next = [...this.logits];
      missing.forEach((row, n) => (next[row] = found[n]));
      this.logits = next;
    } catch {
      this.coming.clear(); // the recording is gone: the ten likeliest stay on screen
    }
  }

  /** The probability with which one row draws the token that it said, under the three sliders. */
  drawn(row: number): number {
    const answer = this.now!;
    const logits = this.logits[row];
    if (!logits) return Math.exp(answer.predictions[row]!.log_prob);
    return this.shaped(row)[answer.predicted[row]!.id] ?? 0;
  }

  /** The distribution that one row draws from, under the three sliders; its logits must be there. */
  shaped(row: number): Float64Array {
    return this.shapes[row]!;
  }

  get isPlain(): boolean {
    const { temperature, top_k, top_p } = this.shaping;
    return temperature === 1 && !top_k && top_p >= 1;
  }
}

/** The whole text of an answer. */
const textOf = (answer: Answer | null): string | undefined => answer?.whole?.text ?? answer?.text;

/** Whether two answers are of one sentence of one text. */
const isAlike = (one: Answer | null, other: Answer): boolean =>
  one?.model === other.model && one.text === other.text && textOf(one) === textOf(other) && one.whole?.chosen === other.whole?.chosen;

/** Whether the request itself is the mistake. */
const isWrong = (error: unknown): boolean =>
  error instanceof ServerError ? error.status === 400 : engine.where === "worker" && !(error instanceof Lost);

export const screen = new Screen();
