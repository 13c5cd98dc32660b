/** A worker: it answers calls of its `Host` by name, and tells how far each is. */

import { Host } from "./host";

export type Method = Exclude<keyof Host, symbol>;

export interface Call {
  id: number;
  method?: Method; // none: the call of this id is no longer wanted
  args?: unknown[];
}

export interface Reply {
  id: number;
  progress?: unknown;
  done?: unknown;
  error?: string;
}

const host = new Host();
const running = new Map<number, AbortController>();
const reply = (message: Reply) => postMessage(message);

onmessage = async ({ data: { id, method, args = [] } }: MessageEvent<Call>) => {
  if (!method) return running.get(id)?.abort();
  const own = new AbortController();
  running.set(id, own);
  try {
    const call = host[method] as (...given: unknown[]) => unknown;
    const done = await call.call(host, { tell: (progress: unknown) => reply({ id, progress }), signal: own.signal }, ...args);
    reply({ id, done });
  } catch (error) {
    reply({ id, error: error instanceof Error ? error.message : String(error) });
  } finally {
    running.delete(id);
  }
};
