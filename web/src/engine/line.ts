/** A line to a worker: calls of its methods by name, as promises. */

import type { Progress } from "../data/server";
import type { Call, Method, Reply } from "./host";

type Wire = Pick<Worker, "postMessage" | "onmessage">;

interface Waiting {
  done: (value: never) => void;
  failed: (error: Error) => void;
  tell: ((progress: never) => void) | undefined;
}

/** A recording is asked about that is no longer kept. */
export class Gone extends Error {}

export class Line {
  private readonly waiting = new Map<number, Waiting>();
  private asked = 0;

  private readonly worker: Promise<Wire>;

  constructor(worker: Wire | Promise<Wire>) {
    this.worker = Promise.resolve(worker);
    this.worker.then((it) => (it.onmessage = ({ data }: MessageEvent<Reply>) => this.hear(data)), () => {});
  }

  ask<T, P = Progress>(method: Method, args: unknown[], signal?: AbortSignal, tell?: (progress: P) => void): Promise<T> {
    const id = ++this.asked;
    return new Promise<T>((done, failed) => {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", () => {
        if (!this.waiting.delete(id)) return;
        this.send({ id });
        failed(new DOMException("no longer wanted", "AbortError"));
      });
      this.waiting.set(id, { done, failed, tell });
      this.send({ id, method, args });
    });
  }

  private send(call: Call): void {
    this.worker.then((it) => it.postMessage(call), (error: Error) => this.hear({ id: call.id, error: error.message }));
  }

  private hear({ id, progress, done, error, isGone }: Reply): void {
    const own = this.waiting.get(id);
    if (!own) return;
    if (progress) return own.tell?.(progress as never);
    this.waiting.delete(id);
    if (error !== undefined) own.failed(isGone ? new Gone(error) : new Error(error));
    else own.done(done as never);
  }
}
