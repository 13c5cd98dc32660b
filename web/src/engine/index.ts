/** The engine of this page: a network of its own, where the page carries one, or else its server. */

import type { Engine } from "./engine";
import type { Learnt } from "./host";
import type { Lesson } from "./lesson";
import { Line } from "./line";
import { LocalEngine, type Carried } from "./local";
import { ServerEngine } from "./server";
import Network from "./worker?worker&inline";

/** The elements in which `see/living.py` puts the list of models, the engine in C, and each model. */
const LIST = "models";
const COMPILED = "engine";
const MODEL = "model:";

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
export async function teach(
  lesson: Lesson, updates: number, watched: string[], tell: (learnt: Learnt) => void, signal?: AbortSignal,
): Promise<Learnt> {
  const worker = new Network();
  try {
    return await new Line(worker).ask<Learnt, Learnt>("teach", [lesson, updates, watched], signal, tell);
  } finally {
    worker.terminate();
  }
}

export const engine = choose();
