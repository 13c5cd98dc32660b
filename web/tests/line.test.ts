/** A line to a worker that fails, ends, or is asked for what nobody waits for any longer. */

import { expect, it, vi } from "vitest";
import { Line, Lost } from "../src/engine/line";
import { LocalEngine } from "../src/engine/local";
import type { Call } from "../src/engine/host";

type Wire = Awaited<ReturnType<ConstructorParameters<typeof Line>[0]>>;

/** A worker that answers with what `answer` says, or not at all. */
function makeWire(answer?: (call: Call) => unknown): Wire {
  const wire: Wire = {
    onmessage: null,
    postMessage: (call: Call) => {
      if (answer) void Promise.resolve().then(() => wire.onmessage!.call(wire as Worker, { data: { id: call.id, done: answer(call) } } as MessageEvent));
    },
  };
  return wire;
}

it.each(["onerror", "onmessageerror"] as const)("tells all who wait of an end: %s", async (kind) => {
  const wire = makeWire();
  const line = new Line(async () => wire);
  const waiting = [1, 2].map(() => line.ask("find", ["1"]).catch((error: unknown) => error));
  await vi.waitFor(() => expect(wire[kind]).toBeTruthy());
  (wire[kind] as (event: Event) => void)(new Event("error"));
  for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(Lost);
});

it("forgets a signal once there is an answer", async () => {
  const { signal } = new AbortController();
  const forget = vi.spyOn(signal, "removeEventListener");
  expect(await new Line(async () => makeWire(() => 7)).ask("find", ["1"], signal)).toBe(7);
  expect(forget).toHaveBeenCalledOnce();
});

it("asks again for a worker and for a model that did not come", async () => {
  const open = vi.fn().mockRejectedValueOnce(new Error("no worker")).mockResolvedValue(makeWire(() => ({ portraits: null })));
  const read = vi.fn().mockRejectedValueOnce(new Error("no model")).mockResolvedValue(["", ""]);
  const engine = new LocalEngine(new Line(open), { version: "", models: [] }, read);
  const error = await engine.portraits("demo").catch((each: unknown) => each);
  expect([error instanceof Lost, (error as Error).message]).toEqual([true, "no model"]);
  expect(await engine.portraits("demo")).toBeNull();
  expect([open.mock.calls.length, read.mock.calls.length]).toEqual([2, 2]);
});
