/** The engine of this page: a network of its own, where the page carries one, or else its server. */

import type { Engine } from "./engine";
import type { Learnt, Left, Named } from "./host";
import type { Lesson } from "./lesson";
import { Line } from "./line";
import { LocalEngine, type Carried } from "./local";
import { ServerEngine } from "./server";
import Network from "./worker?worker&inline";

/** The elements in which `see/living.py` puts the list of models, the engine in C, and each model. */
const LIST = "models";
const COMPILED = "engine";
const MODEL = "model:";
const WORKERS = 8; // at most

const find = (id: string) => (typeof document === "undefined" ? null : document.getElementById(id));

function choose(): Engine {
  const carried = find(LIST)?.textContent;
  if (!carried) return new ServerEngine();
  const readFile = (model: string) => {
    const place = find(`${MODEL}${model}`);
    const text = place?.textContent ?? "";
    place?.remove(); // it is kept once, by the worker
    return text;
  };
  return new LocalEngine(new Line(new Network()), JSON.parse(carried) as Carried, readFile, find(COMPILED)?.textContent);
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
  const worker = new Network();
  try {
    return await ask(new Line(worker));
  } finally {
    worker.terminate();
  }
}

export const engine = choose();
