/** What is on screen while something else is asked for. */

import { expect, it, vi } from "vitest";
import type { Trace } from "../src/data/trace";
import { engine } from "../src/engine";
import { screen } from "../src/first/screen.svelte";
import { session } from "../src/session.svelte";
import { here } from "../src/state.svelte";
import { toy } from "./toy";

const later = vi.hoisted(() => ({ trace: undefined as unknown as Promise<Trace> }));
vi.mock(import("../src/data/server"), async (original) => ({ ...(await original()), uploadTrace: () => later.trace }));

it("a box that is emptied shows nothing, and nothing is waited for", async () => {
  screen.models = { models: [{ id: "m" }], default: "m", version: "", runs: false, limits: {} } as unknown as typeof screen.models;
  vi.spyOn(engine, "translate").mockReturnValue(new Promise(() => {}));
  here.text = "The cat.";
  void screen.ask();
  expect(screen.busy).toBe(true);
  here.text = " ";
  await screen.ask();
  expect([screen.busy, screen.before, screen.now, screen.error]).toEqual([false, null, null, null]);
});

it("an address with edits that are none has no edits", () => {
  here.edits = '[null, 1, {"do": 2}, {"do": "cut", "word": "cat"}]';
  expect(screen.edits).toEqual([{ do: "cut", word: "cat" }]);
  here.edits = "";
});

it("a file that comes late takes nobody's place", async () => {
  later.trace = Promise.resolve(toy([], {}));
  here.text = "The dog.";
  const uploaded = session.upload(new Blob());
  session.cancel();
  await uploaded;
  expect([here.text, here.trace, session.trace]).toEqual(["The dog.", "", null]);
});

it("sentences are counted in characters", () => {
  const trace = toy([], {});
  Object.assign(trace.document, { text: "🎉 a", translation: "🎉" });
  expect(trace.sentences).toEqual([{ source: [0, 3], target: [0, 1] }]);
});
