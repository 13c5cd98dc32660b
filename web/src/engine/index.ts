/** The engine of this page: a network of its own, where the page carries one, or else its server. */

import type { Engine } from "./engine";
import type { Learnt, Left, Named } from "./host";
import type { Lesson } from "./lesson";
import { Line } from "./line";
import { LocalEngine, type Carried } from "./local";
import { renew } from "./renewing";
import { ServerEngine } from "./server";

/** The elements in which `extensions/site/living.py` puts the list of models, the engine in C, and each model. */
const LIST = "models";
const COMPILED = "engine";
const MODEL = "model:";
const WORKERS = 8; // at most

declare global {
  /** Wait for all elements of this page: a page has it that shows itself before. */
  var glassformerWhole: (() => Promise<unknown>) | undefined;
  /** The texts of those that are in a file of their own, by their ids. */
  var glassformerLate: Record<string, string> | undefined;
}

const find = (id: string) => (typeof document === "undefined" ? null : document.getElementById(id));

/** Its program is not among what the first screen needs. */
async function openWorker(): Promise<Worker> {
  const { default: Network } = await import("./worker?worker&inline");
  return new Network();
}

/** The text of what a page carries, which is kept once, by the worker. */
function take(id: string): string {
  const [place, late] = [find(id), globalThis.glassformerLate];
  const text = late?.[id] ?? place?.textContent ?? "";
  place?.remove();
  if (late) delete late[id];
  return text;
}

function choose(): Engine {
  const carried = find(LIST)?.textContent;
  if (!carried) return new ServerEngine();
  const readFile = async (model: string) => {
    await globalThis.glassformerWhole?.(); // models come behind the first screen
    return [take(`${MODEL}${model}`), globalThis.glassformerLate?.[COMPILED] ?? find(COMPILED)?.textContent ?? ""] as const;
  };
  return new LocalEngine(new Line(openWorker), JSON.parse(carried) as Carried, readFile);
}

/**
 * Teach a small network in a worker of its own, telling every few updates how it goes. `watched`:
 * sentences that are translated each time, of words that the lesson has.
 */
export function teach(lesson: Lesson, watched: string[], tell: (learnt: Learnt) => void, signal?: AbortSignal): Promise<Learnt> {
  return askApart((line) => line.ask<Learnt, Learnt>("teach", [lesson, watched], signal, tell));
}

/**
 * Learn a lesson again without each of its lines in turn, in a few workers, telling what each line
 * taught the word at a place of a translation.
 */
export async function leaveOut(lesson: Lesson, text: string, at: number, tell: (left: Left) => void, signal?: AbortSignal): Promise<void> {
  const lines = lesson.pairs.map((_, n) => n).filter((n) => !lesson.without?.includes(n));
  const workers = Math.max(1, Math.min(WORKERS, navigator.hardwareConcurrency - 1));
  const shares = Array.from({ length: workers }, (_, own) => lines.filter((_, n) => n % workers === own));
  await Promise.all(shares.map((share) => askApart((line) => line.ask<Named, Left>("leaveOut", [lesson, text, at, share], signal, tell))));
}

async function askApart<T>(ask: (line: Line) => Promise<T>): Promise<T> {
  const worker = await openWorker();
  try {
    return await ask(new Line(async () => worker));
  } finally {
    worker.terminate();
  }
}

export const engine = renew(choose());
