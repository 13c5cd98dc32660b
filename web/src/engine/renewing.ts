/** An engine whose recordings last: one that was let go is made again when somebody asks about it. */

import { ServerError } from "../data/server";
import type { Engine } from "./engine";
import { Gone } from "./line";

type Maker = () => Promise<{ id: string }>;

const isGone = (error: unknown): boolean => error instanceof Gone || (error instanceof ServerError && error.status === 404);

export function renew(own: Engine): Engine {
  const makers = new Map<string, Maker>();
  const renewed = new Map<string, Promise<string>>(); // the ids that recordings have now, by those they were first told with

  async function hold<T extends { id: string }>(coming: Promise<T>, make: Maker): Promise<T> {
    const made = await coming;
    makers.set(made.id, make);
    return made;
  }

  const lasting = <A extends unknown[], T>(ask: (id: string, ...rest: A) => Promise<T>) => async (id: string, ...rest: A): Promise<T> => {
    const known = renewed.get(id);
    try {
      return await ask.call(own, (await known) ?? id, ...rest);
    } catch (error) {
      const make = makers.get(id);
      if (!make || !isGone(error)) throw error;
      if (renewed.get(id) === known) renewed.set(id, makeAgain(id, make)); // else another question has done so
      return ask.call(own, await renewed.get(id)!, ...rest);
    }
  };

  function makeAgain(id: string, make: Maker): Promise<string> {
    const made = make().then((found) => found.id);
    made.catch(() => renewed.delete(id));
    return made;
  }

  const changed: Partial<Engine> = {
    translate: (request, signal, tell) => hold(own.translate(request, signal, tell), () => own.translate(request)),
    record: (request, tell, signal) => hold(own.record(request, tell, signal), () => own.record(request)),
    open: lasting(own.open),
    logits: lasting(own.logits),
    cutEach: lasting(own.cutEach),
    gradients: lasting(own.gradients),
    lens: lasting(own.lens),
    pushes: lasting(own.pushes),
    circuit: lasting(own.circuit),
    keeps: lasting(own.keeps),
    weigh: lasting(own.weigh),
  };
  return Object.assign(Object.create(own) as Engine, changed);
}
