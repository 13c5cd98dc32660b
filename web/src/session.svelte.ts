/** The recording that is on screen, and how it came there. */

import { readEmbedded } from "./data/embedded";
import type { Decode } from "./data/document";
import { ServerError, uploadTrace, type Candidate as Told, type Models, type Progress, type Request } from "./data/server";
import type { Trace } from "./data/trace";
import { engine } from "./engine";
import { sentencesOf } from "./first/examples";
import { messageOf } from "./format";
import { here } from "./state.svelte";

const PACE = 80; // milliseconds: a faster search is not drawn step by step
const SEEDS = 10_000; // that the settings offer
const NUMBERS = ["beam", "alpha", "temperature", "top_k", "top_p"] as const;
const TEXTS = ["search", "length_penalty"] as const;

class Session {
  trace: Trace | null = $state.raw(null);
  models: Models | null = $state.raw(null);
  progress: Progress | null = $state.raw(null);
  error: string | null = $state(null);
  locked = $state(false); // the server wants its token
  readonly embedded: Trace | null = typeof document === "undefined" ? null : readEmbedded();
  /** Whether a server keeps what is on screen, draws pictures and takes files. */
  readonly served = this.embedded === null && engine.where === "server";
  private running: AbortController | null = null;

  async start(): Promise<void> {
    if (this.embedded) {
      this.show(this.embedded);
      here.text = this.embedded.wholeText;
      return;
    }
    await this.follow();
  }

  /** Show what the address asks for. */
  async follow(): Promise<void> {
    if (this.embedded) return;
    await this.run(async (signal) => {
      this.models ??= await engine.models();
      if (here.trace) return engine.open(here.trace);
      if (signal.aborted) return null;
      here.text ||= sentencesOf(this.model)[0] ?? "";
      return here.text ? this.make(signal) : null;
    });
  }

  get model() {
    const wanted = here.model || this.models?.default;
    return this.models?.models.find((model) => model.id === wanted);
  }

  /**
   * Translate what is in the box, as the settings say, and look into one sentence of it: beginning
   * so, and not the best but this; by the model itself, if no edits are given.
   */
  async record({ prefix = "", hypothesis = "", sentence = 0, edits = "" } = {}): Promise<void> {
    Object.assign(here, { trace: "", step: -1, prefix, hypothesis, sentence, edits });
    await this.run((signal) => this.make(signal));
  }

  /** Translate the same again, as the settings now say. */
  async again(): Promise<void> {
    if (!here.text.trim()) return;
    const { prefix, sentence, edits } = here;
    await this.record({ prefix, sentence, edits });
  }

  /** Translate what is in the box; a sample of what is on screen already is drawn anew. */
  async submit(): Promise<void> {
    const { trace } = this;
    const isSame = trace?.wholeText.trim() === here.text.trim();
    const isSample = trace?.search?.settings.search === "sample";
    if (trace && isSample && !this.differs) here.seed = String((trace.search!.seed + 1) % SEEDS);
    await this.record({ sentence: isSame ? here.sentence : 0 });
  }

  /** In what the recording on screen is not what the box and the settings ask for. */
  get differs(): "text" | "settings" | null {
    const { trace, model } = this;
    if (!trace) return null;
    if (trace.wholeText.trim() !== here.text.trim()) return "text";
    if (here.trace) return null;
    if (trace.model !== model?.id) return "text";
    const made = { ...trace.about.request, edits: trace.document.edits } as Request;
    return name(made) === name(readRequest()) ? null : "settings";
  }

  /** Translate with another model; an example gives way to one that this model can read. */
  async choose(model: string): Promise<void> {
    const isExample = !here.text.trim() || sentencesOf(this.model).includes(here.text.trim());
    here.model = model;
    if (isExample) here.text = sentencesOf(this.model)[0] ?? "";
    if (here.text.trim()) await this.record();
  }

  async upload(file: Blob): Promise<void> {
    await this.run(async (signal) => {
      const trace = await uploadTrace(file);
      if (signal.aborted) return null;
      [here.trace, here.text] = [trace.id, ""];
      return trace;
    });
  }

  cancel(): void {
    this.running?.abort();
    this.progress = null;
  }

  show(trace: Trace): void {
    this.trace = trace;
    if (here.trace) here.text ||= trace.wholeText;
    here.step = Math.min(here.step, trace.predicted.length - 1);
    const rows = here.kind === "encoder" ? trace.source : trace.target;
    if (here.query >= rows.length) here.query = -1;
    here.layer = Math.min(here.layer, trace.layers(here.kind === "encoder" ? "encoder" : "decoder") - 1);
    here.head = Math.min(here.head, trace.document.settings.heads - 1);
  }

  private make(signal: AbortSignal): Promise<Trace> {
    const heard: Told[][] = []; // what could have come, step by step
    let drawn = -PACE;
    return engine.record(
      readRequest(),
      (told) => {
        if (signal.aborted) return;
        if (told.tokens && told.candidates) heard[told.tokens.length - 1] = told.candidates;
        if (told.stage === "whole") return void (this.progress = { ...this.progress, ...told });
        if (told.tokens && performance.now() - drawn < PACE) return;
        drawn = performance.now();
        this.progress = { ...told, told: [...heard] };
      },
      signal,
    );
  }

  /** What is asked for later takes the place of what is still under way, in whatever order they end. */
  private async run(work: (signal: AbortSignal) => Promise<Trace | null>): Promise<void> {
    this.running?.abort();
    const own = (this.running = new AbortController());
    this.error = null;
    this.progress = { stage: "asking" };
    try {
      const trace = await work(own.signal);
      if (!trace || own.signal.aborted) return;
      this.show(trace);
    } catch (error) {
      if (own.signal.aborted) return;
      this.locked = error instanceof ServerError && error.status === 401;
      this.error = messageOf(error);
    } finally {
      if (this.running === own) this.progress = null;
    }
  }
}

/** All of a request but its text and model, so that two can be compared. */
function name({ decode = {}, prefix, hypothesis, seed, sentence, edits }: Request): string {
  const settings = Object.entries(decode).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([settings, prefix || [], hypothesis ?? 0, seed ?? 0, sentence ?? 0, edits ?? []]);
}

export function readRequest(): Request {
  const decode: Partial<Decode> = {};
  for (const key of TEXTS) if (here[key]) decode[key] = here[key] as never;
  for (const key of NUMBERS) if (here[key]) decode[key] = Number(here[key]);
  const request: Request = { text: here.text, decode };
  if (here.model) request.model = here.model;
  if (here.seed) request.seed = Number.parseInt(here.seed, 10) || 0;
  if (here.prefix) request.prefix = here.prefix.split(",").map(Number);
  if (here.hypothesis) request.hypothesis = Number(here.hypothesis);
  if (here.sentence) request.sentence = here.sentence;
  if (here.edits) request.edits = readList(here.edits);
  return request;
}

/** A link may say anything: the server says what is wrong with an edit that is none. */
function readList(text: string): unknown[] {
  try {
    const found: unknown = JSON.parse(text);
    return Array.isArray(found) ? found : [{}];
  } catch {
    return [{}];
  }
}

export const session = new Session();
