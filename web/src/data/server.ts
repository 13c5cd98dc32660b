/** What the server answers to: see the OpenAPI document that it serves at /spec. */

import type { Decode, Entry, Op, TraceDocument } from "./document";
import { readSafetensors, type Tensor } from "./tensor";
import { say } from "../say";
import { Trace, type About, type Reader } from "./trace";

export interface Model {
  id: string;
  name: string;
  source: string | null;
  target: string | null;
  source_name: string | null;
  target_name: string | null;
  loaded: boolean;
  parameters: number;
  sentences: number | null; // pairs of its training text; null where its card does not say
  words: number | null; // different ones of the source side; null where they are not listed
  smoothing?: number; // of the labels in its training
}

export interface Models {
  models: Model[];
  default: string;
  version: string;
  runs: boolean;
  trains?: boolean; // models of one's own can be trained here
  limits: Record<string, number>;
}

export interface Request {
  model?: string;
  text: string;
  decode?: Partial<Decode>;
  prefix?: string | number[];
  target?: string;
  seed?: number;
  hypothesis?: number;
  sentence?: number;
  edits?: unknown[];
  base?: boolean; // false: under edits, do not record it without them too
}

export interface Candidate {
  id: number;
  text: string;
  log_prob: number;
}

export interface Progress {
  stage: string;
  step?: number;
  most?: number | null;
  text?: string;
  tokens?: string[]; // of the best hypothesis
  candidates?: Candidate[]; // what could have come in place of the newest one
  told?: Candidate[][]; // those of all steps
}

/** Says in one sentence what went wrong; `status` is that of HTTP. */
export class ServerError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

const API = "api";

/** Ask the server; ServerError with its own sentence where it refuses. */
export async function ask(path: string, init?: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(`${API}/${path}`, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ServerError("the server does not answer", 0);
  }
  if (answer.ok) return answer;
  const said = (await answer.json().catch(() => ({}))) as { error?: string };
  throw new ServerError(said.error ?? `the server answered ${answer.status}`, answer.status);
}

export async function getJson<T>(path: string): Promise<T> {
  return (await ask(path)).json() as Promise<T>;
}

/** Numbers as the server sends them: little-endian fp32, their shape in a header. */
export async function getTensor(path: string): Promise<Tensor> {
  const answer = await ask(path);
  const shape = answer.headers.get("X-Shape") ?? "";
  const data = new Float32Array(await answer.arrayBuffer());
  return { shape: shape ? shape.split(",").map(Number) : [], data };
}

export async function sendJson<T>(path: string, body: unknown, method = "POST"): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return (await ask(path, { method, headers, body: JSON.stringify(body) })).json() as Promise<T>;
}

export interface Told<T = unknown> {
  event: string;
  data: T;
}

/** Server-sent events of a POST, one at a time; an `error` among them is thrown. */
export async function* stream(path: string, body: unknown, signal?: AbortSignal): AsyncGenerator<Told> {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const init: RequestInit = { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await ask(path, signal ? { ...init, signal } : init);
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const blocks = (waiting + next.value).split(/\r?\n\r?\n/);
    waiting = blocks.pop() ?? "";
    for (const block of blocks) {
      const told = readEvent(block);
      if (!told) continue;
      if (told.event === "error") {
        const { error, status } = told.data as { error: string; status?: number };
        throw new ServerError(error, status ?? 500);
      }
      yield told;
    }
  }
}

export function readEvent(block: string): Told | null {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { event, data: JSON.parse(data.join("\n")) as unknown } : null;
}

/** The views look inside Transformers; of other networks there is the view of three side by side. */
export function checkNetwork(network: string | undefined) {
  if (network && network !== "transformer") throw new ServerError(say("app.network", { network }), 400);
}

class ServerReader implements Reader {
  constructor(private readonly id: string) {}

  read(name: string, first?: number): Promise<Tensor> {
    const slice = first === undefined ? "" : `?slice=${first}`;
    return getTensor(`traces/${this.id}/tensors/${name}${slice}`);
  }

  async readLevel(level: string): Promise<Map<string, Tensor>> {
    const answer = await ask(`traces/${this.id}/tensors?level=${level}`);
    return readSafetensors(await answer.arrayBuffer());
  }
}

let catalogue: Promise<{ entries: Record<string, Entry> }> | undefined;

/** A recording that the server keeps. */
export async function openTrace(id: string): Promise<Trace> {
  const wanted = (catalogue ??= getJson("catalogue"));
  wanted.catch(() => (catalogue = undefined)); // it is asked for again
  const [document, graph, { entries }] = await Promise.all([
    getJson<TraceDocument & About & { model: string | null }>(`traces/${id}`),
    getJson<{ ops: Op[] }>(`traces/${id}/opgraph`),
    wanted,
  ]);
  checkNetwork(document.settings.network);
  const model = document.model ?? "";
  return new Trace(id, model, document, graph.ops, entries, new ServerReader(id), document);
}

/** Translate and record; `tell` hears how far it is. */
export async function recordTrace(request: Request, tell: (progress: Progress) => void, signal?: AbortSignal): Promise<Trace> {
  for await (const { event, data } of stream("trace", request, signal)) {
    if (event === "progress") tell(data as Progress);
    if (event === "done") return openTrace((data as { id: string }).id);
  }
  throw new ServerError("the server broke off", 0);
}

export async function uploadTrace(file: Blob): Promise<Trace> {
  const answer = await ask("traces", { method: "POST", body: file });
  return openTrace(((await answer.json()) as { id: string }).id);
}
