/** The engine that is a server: see the OpenAPI document at /spec. */

import { checkNetwork, getJson, getTensor, openTrace, recordTrace, ServerError, stream, type Candidate, type Models, type Progress, type Request } from "../data/server";
import type { Trace } from "../data/trace";
import type { Groups } from "../data/words";
import type { Changes, Edit } from "./edits";
import type { Circuit, CircuitRequest, Refusal } from "./circuits";
import type { Weighed } from "./weighing";
import { groupAnswer, type Plain } from "./answer";
import type { Answer, Engine, Gradients, Outcome, Portraits } from "./engine";

const PAGE = 10_000; // tokens of a vocabulary that the server lists at once

export class ServerEngine implements Engine {
  readonly where = "server";
  private readonly vocabularies = new Map<string, Promise<string[]>>();

  models(): Promise<Models> {
    return getJson("models");
  }

  vocabulary(model: string): Promise<string[]> {
    let found = this.vocabularies.get(model);
    if (!found) this.vocabularies.set(model, (found = listVocabulary(model)));
    return found;
  }

  async tokens(model: string, text: string): Promise<number[]> {
    const query = new URLSearchParams({ side: "target", text });
    const path = `models/${encodeURIComponent(model)}/tokens?${query}`;
    return (await getJson<{ tokens: { id: number }[] }>(path)).tokens.map(({ id }) => id);
  }

  async unknown(model: string, text: string): Promise<string[]> {
    const query = new URLSearchParams({ text });
    const path = `models/${encodeURIComponent(model)}/unknown?${query}`;
    return (await getJson<{ words: string[] | null }>(path)).words ?? [];
  }

  async samples(request: Request, count: number, signal?: AbortSignal): Promise<string[]> {
    return (await last<{ texts: string[] }>("samples", { ...request, count }, signal))?.texts ?? [];
  }

  async translate(request: Request, signal?: AbortSignal): Promise<Answer> {
    const told = await last<{ id: string }>("trace", { ...request, base: false }, signal);
    if (!told) throw new ServerError("the server broke off", 0);
    const found = await getJson<Omit<Plain, "attention"> & { attention: number[][]; network: string }>(`traces/${told.id}/answer`);
    checkNetwork(found.network);
    const shape = [found.attention.length, found.attention[0]?.length ?? 0];
    return groupAnswer({ ...found, attention: { shape, data: Float32Array.from(found.attention.flat()) } });
  }

  record(request: Request, tell: (progress: Progress) => void = () => {}, signal?: AbortSignal): Promise<Trace> {
    return recordTrace(request, tell, signal);
  }

  open(id: string): Promise<Trace> {
    return openTrace(id);
  }

  async logits(id: string, step: number): Promise<Float32Array> {
    return (await getTensor(`traces/${id}/tensors/logits?slice=${step}`)).data;
  }

  async edit(trace: Trace, edits: readonly Edit[], signal?: AbortSignal): Promise<Outcome | null> {
    if (!edits.length) return null;
    const told = await last<{ id: string; forced: string; base: string; changes: Changes }>(
      `traces/${trace.base ?? trace.id}/edit`, { edits }, signal,
    );
    if (!told) return null;
    const [base, forced, after] = await Promise.all([told.base, told.forced, told.id].map(openTrace));
    return { changes: told.changes, base: base!, forced: forced!, after: after! };
  }

  async cutEach(id: string, rows: readonly number[], groups: Groups, signal?: AbortSignal): Promise<number[]> {
    const found = await last<{ log_probs: number[] }>(`traces/${id}/cuts`, { rows, groups }, signal);
    return found?.log_probs ?? [];
  }

  gradients(id: string, rows: readonly number[], signal?: AbortSignal): Promise<Gradients | null> {
    return last<Gradients>(`traces/${id}/gradients`, { rows }, signal);
  }

  async lens(id: string, step: number, ids: readonly number[]): Promise<Candidate[][]> {
    const query = new URLSearchParams({ row: String(step), k: "3", ids: ids.join(",") });
    const { layers } = await getJson<{ layers: Candidate[][][] }>(`traces/${id}/derive/lens?${query}`);
    return layers.map(([row]) => row!);
  }

  async pushes(id: string, step: number, token: number): Promise<Record<string, number>> {
    const path = `traces/${id}/derive/logit?row=${step}&token=${token}`;
    return (await getJson<{ parts: Record<string, number> }>(path)).parts;
  }

  async portraits(model: string): Promise<Portraits | null> {
    return (await getJson<{ portraits: Portraits | null }>(`models/${encodeURIComponent(model)}/heads`)).portraits;
  }

  circuit(id: string, request: CircuitRequest, signal?: AbortSignal): Promise<Circuit | Refusal | null> {
    return last(`traces/${id}/circuit`, request, signal);
  }

  async keeps(id: string, request: CircuitRequest, edges: readonly number[], signal?: AbortSignal): Promise<number> {
    return (await last<{ kept: number }>(`traces/${id}/circuit`, { ...request, edges }, signal))?.kept ?? Number.NaN;
  }

  weigh(id: string, step: number, rival: number | null, signal?: AbortSignal): Promise<Weighed | null> {
    return last<Weighed>(`traces/${id}/heads`, { step, rival }, signal);
  }
}

/** What a stream says when it is done. */
async function last<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T | null> {
  for await (const { event, data } of stream(path, body, signal)) {
    if (event === "done") return data as T;
  }
  return null;
}

async function listVocabulary(model: string): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const path = `models/${encodeURIComponent(model)}/vocabulary?from=${found.length}&most=${PAGE}`;
    const { size, tokens } = await getJson<{ size: number; tokens: { text: string }[] }>(path);
    found.push(...tokens.map(({ text }) => text));
    if (found.length >= size || !tokens.length) return found;
  }
}
