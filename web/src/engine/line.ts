/** A line to a worker: calls of its methods by name, as promises. */

import type { Progress } from "../data/server";
import { messageOf } from "../format";
import type { Call, Method, Reply } from "./host";

type Wire = Pick<Worker, "postMessage" | "onmessage"> &
  Partial<Pick<Worker, "onerror" | "onmessageerror">>;

interface Waiting {
  done: (value: never) => void;
  failed: (error: Error) => void;
  tell: ((progress: never) => void) | undefined;
  forget: () => void;
}

/** A recording is asked about that is no longer kept. */
export class Gone extends Error {}

/** The worker or its model did not come, or the worker has ended: the same may be asked again. */
export class Lost extends Error {}

export class Line {
  private readonly waiting = new Map<number, Waiting>();
  private asked = 0;

  private worker: Promise<Wire> | null = null;

  /** `open` is asked again after it has failed. */
  constructor(private readonly open: () => Promise<Wire>) {
    this.reach().catch(() => {});
  }

  ask<T, P = Progress>(method: Method, args: unknown[], signal?: AbortSignal, tell?: (progress: P) => void): Promise<T> {
    const id = ++this.asked;
    return new Promise<T>((done, failed) => {
      signal?.throwIfAborted();
      const leave = () => {
        this.send({ id });
        this.end(id)?.failed(new DOMException("no longer wanted", "AbortError"));
      };
      signal?.addEventListener("abort", leave, { once: true });
      const forget = () => signal?.removeEventListener("abort", leave);
      this.waiting.set(id, { done, failed, tell, forget });
      this.send({ id, method, args });
    });
  }

  private reach(): Promise<Wire> {
    this.worker ??= this.open().then(
      (it) => {
        it.onmessage = ({ data }: MessageEvent<Reply>) => this.hear(data);
        it.onerror = it.onmessageerror = (event: Event) => this.lose((event as ErrorEvent).message);
        return it;
      },
      (error: unknown) => {
        this.worker = null;
        throw new Lost(messageOf(error));
      },
    );
    return this.worker;
  }

  private send(call: Call): void {
    this.reach()
      .then((it) => it.postMessage(call))
      .catch((error: Error) => this.end(call.id)?.failed(error));
  }

  /** Nobody who waits is answered any more. */
  private lose(message?: string): void {
    const error = new Lost(message || "the network does not answer");
    for (const id of [...this.waiting.keys()]) this.end(id)!.failed(error);
  }

  private end(id: number): Waiting | undefined {
    const own = this.waiting.get(id);
    own?.forget();
    this.waiting.delete(id);
    return own;
  }

  private hear({ id, progress, done, error, isGone }: Reply): void {
    const own = this.waiting.get(id);
    if (!own) return;
    if (progress) return own.tell?.(progress as never);
    this.end(id);
    if (error !== undefined) own.failed(isGone ? new Gone(error) : new Error(error));
    else own.done(done as never);
  }
}
