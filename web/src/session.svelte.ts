/** The recording that is on screen, and how it came there. */

import { readEmbedded } from "./data/embedded";
import type { Decode } from "./data/document";
import {
  getJson, openTrace, recordTrace, ServerError, uploadTrace,
  type Candidate as Told, type Models, type Progress, type Request,
} from "./data/server";
import type { Trace } from "./data/trace";
import { here } from "./state.svelte";

/** What is translated where nothing was asked for yet, by source language. */
const EXAMPLES: Record<string, string> = {
  en: "The animal did not cross the street because it was too tired.",
  fr: "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
};
const NUMBERS = ["beam", "alpha", "temperature", "top_k", "top_p"] as const;
const TEXTS = ["search", "penalty"] as const;

class Session {
  trace: Trace | null = $state.raw(null);
  models: Models | null = $state.raw(null);
  progress: Progress | null = $state.raw(null);
  error: string | null = $state(null);
  locked = $state(false); // the server wants its token
  isNew = $state(false); // just translated, and not yet shown how
  readonly embedded: Trace | null = typeof document === "undefined" ? null : readEmbedded();
  private running: AbortController | null = null;

  async start(): Promise<void> {
    if (this.embedded) {
      this.show(this.embedded);
      here.text = this.embedded.document.text;
      return;
    }
    await this.follow();
  }

  /** Show what the address asks for. */
  async follow(): Promise<void> {
    if (this.embedded) return;
    await this.run(async () => {
      this.models ??= await getJson<Models>("models");
      if (here.trace) return this.show(await openTrace(here.trace));
      const model = this.model;
      here.text ||= EXAMPLES[model?.source ?? ""] ?? "";
      if (here.text) await this.make();
    });
  }

  get model() {
    const wanted = here.model || this.models?.default;
    return this.models?.models.find((model) => model.id === wanted);
  }

  /** Translate what is in the box, as the settings say. */
  async record(): Promise<void> {
    here.trace = "";
    here.step = -1;
    await this.run(() => this.make(true));
  }

  async upload(file: Blob): Promise<void> {
    await this.run(async () => {
      const trace = await uploadTrace(file);
      here.trace = trace.id;
      here.text = trace.document.text;
      this.show(trace);
    });
  }

  cancel(): void {
    this.running?.abort();
  }

  show(trace: Trace): void {
    this.trace = trace;
    here.step = Math.min(here.step, trace.predicted.length - 1);
    here.layer = Math.min(here.layer, trace.layers(here.kind === "encoder" ? "encoder" : "decoder") - 1);
    here.head = Math.min(here.head, trace.document.settings.heads - 1);
  }

  private async make(isNew = false): Promise<void> {
    this.running = new AbortController();
    const { signal } = this.running;
    const heard: Told[][] = []; // what could have come, step by step
    const trace = await recordTrace(
      readRequest(),
      (told) => {
        if (told.pieces && told.candidates) heard[told.pieces.length - 1] = told.candidates;
        this.progress = { ...told, told: [...heard] };
      },
      signal,
    );
    this.isNew = isNew;
    this.show(trace);
  }

  private async run(work: () => Promise<void>): Promise<void> {
    this.running?.abort();
    this.error = null;
    this.progress = { stage: "asking" };
    try {
      await work();
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return;
      this.locked = error instanceof ServerError && error.status === 401;
      this.error = error instanceof Error ? error.message : String(error);
    } finally {
      this.progress = null;
    }
  }
}

export function readRequest(): Request {
  const decode: Partial<Decode> = {};
  for (const key of TEXTS) if (here[key]) decode[key] = here[key] as never;
  for (const key of NUMBERS) if (here[key]) decode[key] = Number(here[key]);
  const request: Request = { text: here.text, decode };
  if (here.model) request.model = here.model;
  if (here.seed) request.seed = Number(here.seed);
  if (here.prefix) request.prefix = here.prefix.split(",").map(Number);
  return request;
}

export const session = new Session();
