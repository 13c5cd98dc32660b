/** A student with an SSRU decoder against Python: see tests/web/test_student.py, which writes what is read here. */

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { TraceDocument } from "../src/data/document";
import type { Request } from "../src/data/server";
import { readSafetensors } from "../src/data/tensor";
import { openDrafter } from "../src/engine/drafts";
import { openModel, type Opened } from "../src/engine/model";
import { draft, readTensor, record, type Recorded } from "../src/engine/recording";

const folder = process.env["STUDENT"] ?? "";
const bytes = (name: string) => Uint8Array.from(readFileSync(`${folder}/${name}`)).buffer;
const json = <T>(name: string) => JSON.parse(readFileSync(`${folder}/${name}`, "utf8")) as T;

function run(opened: Opened, request: Request): Recorded {
  const steps = record(opened, request, "");
  for (;;) {
    const next = steps.next();
    if (next.done) return next.value;
  }
}

describe.skipIf(!folder)("a student in the browser", { timeout: 600_000 }, () => {
  const opened = folder ? openModel(bytes("model")) : (null as unknown as Opened);
  const told = folder ? json<Request[]>("told.json") : [];

  it.each(told.map((request, number) => [JSON.stringify(request.edits ?? request.decode), request, number] as const))(
    "records the same numbers: %s", (_, request, number) => {
      const theirs = json<TraceDocument>(`trace.${number}/trace.json`);
      const found = run(opened, request);
      expect(found.document.source).toEqual(theirs.source);
      expect(found.document.predicted).toEqual(theirs.predicted);
      expect(found.document.search?.hypotheses.map(({ ids }) => ids)).toEqual(theirs.search?.hypotheses.map(({ ids }) => ids));
      const own = new Set<string>();
      for (const level of ["attention", "states", "everything"]) {
        for (const [name, { shape, data }] of readSafetensors(bytes(`trace.${number}/${level}.safetensors`))) {
          const here = readTensor(found, name);
          expect([name, here.shape]).toEqual([name, shape]);
          const most = data.reduce((most, each) => Math.max(most, Number.isFinite(each) ? Math.abs(each) : 0), 1);
          expect([name, data.findIndex((each, n) => Math.abs(here.data[n]! - each) > 1e-5 * most)]).toEqual([name, -1]);
          own.add(name);
        }
      }
      expect([...own].sort()).toEqual(Object.keys(theirs.tensors).sort());
      expect([...own].filter((name) => /ssru\.(forget|cell)$/.test(name)).length).toBe(4);
    },
  );

  it("has int8 numbers back from those of 4 bits", () => {
    const { weights } = openModel(bytes("short")).network;
    const wanted = [...readSafetensors(bytes("widened"))];
    const wrong = wanted.filter(([name, { data }]) => data.some((each, n) => weights.get(name)!.data[n] !== each));
    expect([wanted.length > 40, ...wrong.map(([name]) => name)]).toEqual([true]);
  });

  it.skipIf(!existsSync(`${folder}/engine.wasm`)).each(["model", "short"])("is drafted by the engine in C: %s", async (name) => {
    const file = bytes(name);
    const model = openModel(file);
    const drafter = await openDrafter(readFileSync(`${folder}/engine.wasm`), file, model.about);
    const request = { text: told[0]!.text, decode: { search: "greedy" as const } };
    const found = draft({ ...model, draft: drafter }, request)!;
    const [own, theirs] = [found.plain.predictions[0]!.log_prob, run(model, request).document.predictions[0]!.log_prob];
    expect(Math.abs(own - theirs)).toBeLessThan(0.2);
  });
});
