/** The network here against Python's: see tests/web/test_living.py, which writes what is read here. */

import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Search, TraceDocument } from "../src/data/document";
import { readSafetensors } from "../src/data/tensor";
import { openDrafter } from "../src/engine/drafts";
import { Host, listen, type Call, type Early } from "../src/engine/host";
import { Gone, Line } from "../src/engine/line";
import { LocalEngine } from "../src/engine/local";
import { openModel, type Opened } from "../src/engine/model";
import { NO_EDITS } from "../src/engine/network";
import { listPushes, readLens } from "../src/engine/pushes";
import { renew } from "../src/engine/renewing";
import { readTensor, record, write, type Recorded } from "../src/engine/recording";
import { BOS, search as searchFor, type SearchSettings, type Step } from "../src/engine/search";
import type { Request } from "../src/data/server";

/** Packed bytes as letters of a page, one bit after the other. */
function spell(data: string | Uint8Array): string {
  const packed = gzipSync(data);
  let [text, bits, count] = [`${packed.length} `, 0, 0];
  for (const byte of [...packed, 0, 0]) {
    bits |= byte << count;
    for (count += 8; count >= 13; count -= 13) {
      const number = bits & 8191;
      for (const digit of [Math.floor(number / 93), number % 93]) text += String.fromCharCode(33 + digit + (digit >= 27 ? 1 : 0));
      bits >>= 13;
    }
  }
  return text;
}

const folder = process.env["LIVING"] ?? "";
const bytes = (name: string) => Uint8Array.from(readFileSync(`${folder}/${name}`)).buffer;
const json = <T>(name: string) => JSON.parse(readFileSync(`${folder}/${name}`, "utf8")) as T;

interface Searched {
  text: string;
  decode: Request["decode"];
  search: Search;
}
interface Edited {
  edits: unknown[];
  ids: number[];
  log_probs: number[];
}
interface Told {
  typed: { text: string; pieces: [id: number, start: number, end: number][] }[];
  greedy: { text: string; translation: string; written: string; log_prob: number }[];
  beam: Searched[];
  sample: Searched[];
  edits: Record<string, Edited>;
  row: number;
  lens: number[][];
  pushes: Record<string, number>;
  leads: Record<string, number[]>;
  known: [token: number, rival: number, lead: number];
}

const TEXT = "The animal did not cross the street because it was too tired.";

const run = (opened: Opened, request: Request): Recorded => finish(record(opened, request, ""));

function finish<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const next = steps.next();
    if (next.done) return next.value;
  }
}

const near = (found: number, wanted: number, least = 1) =>
  Math.abs(found - wanted) <= 1e-4 * Math.max(least, Math.abs(wanted));

describe.skipIf(!existsSync(`${folder}/told.json`))("the network in the browser", { timeout: 600_000 }, () => {
  const opened = folder ? openModel(bytes("model")) : (null as unknown as Opened);
  const told = folder ? json<Told>("told.json") : ({} as Told);

  it("reads what people type as the model's own characters, with the same spans", () => {
    const own = told.typed.map(({ text }) => opened.source.read(text).map(({ id, start, end }) => [id, start, end]));
    expect(own).toEqual(told.typed.map(({ pieces }) => pieces));
  });

  it("translates alike", () => {
    const wrong = told.greedy.filter(({ text, translation, log_prob }) => {
      const own = finish(write(opened, { text, decode: { search: "greedy" } }));
      return own.translation !== translation || !near(own.search.hypotheses[0]!.log_prob, log_prob);
    });
    expect(wrong.map(({ text }) => text)).toEqual([]);
    expect(told.greedy.length).toBeGreaterThan(5);
  });

  it.each(["beam", "sample"] as const)("%s finds the same tokens, and a beam the same fates", (kind) => {
    const name = ({ hypotheses, steps }: Search) => [
      ...hypotheses.map(({ ids }) => ids.join()),
      ...(kind === "beam" ? steps.map((step) => step.map(({ parent, row, id, fate }) => `${parent} ${row} ${id} ${fate}`).join()) : []),
    ];
    const wrong = told[kind].filter(({ text, decode, search }) => {
      const found = finish(write(opened, { text, decode: decode!, seed: 3 })).search;
      const isNear = found.hypotheses.every(({ score }, n) => near(score, search.hypotheses[n]!.score));
      return name(found).join(" | ") !== name(search).join(" | ") || !isNear;
    });
    expect(wrong.map(({ text }) => text)).toEqual([]);
    expect(told[kind].length).toBeGreaterThan(0);
  });

  it("keeps a sentence that is too long for the network, and says so", () => {
    const long = `The cat ${"and the cat ".repeat(60)}is old.`;
    const { document, problems } = run(opened, { text: `The dog is old. ${long}` });
    expect(document.whole!.translation).toBe(`Le chien est vieux. ${long}`);
    expect(problems.map(({ kind, said }) => [kind, said.endsWith(long)])).toEqual([["untranslatable", true]]);
    expect(document.confidence).toBeGreaterThan(0.5);
  });

  it.each([0, 1])("records the same numbers: %s", (number) => {
    const theirs = json<TraceDocument>(`trace.${number}/trace.json`);
    const found = run(opened, { text: theirs.text, decode: { search: "beam", beam: 4 } });
    const own = found.document;
    expect(own.source).toEqual(theirs.source);
    expect(own.target).toEqual(theirs.target);
    expect(own.predicted).toEqual(theirs.predicted);
    expect(own.translation).toEqual(theirs.translation);
    expect(own.predictions.map(({ ids }) => ids[0])).toEqual(theirs.predictions.map(({ ids }) => ids[0]));
    const levels = ["attention", "states", "everything"].map((level) => readSafetensors(bytes(`trace.${number}/${level}.safetensors`)));
    let count = 0;
    for (const tensors of levels) {
      for (const [name, { shape, data }] of tensors) {
        const here = readTensor(found, name);
        expect([name, here.shape]).toEqual([name, shape]);
        const most = data.reduce((most, each) => Math.max(most, Number.isFinite(each) ? Math.abs(each) : 0), 1);
        const far = data.findIndex((each, n) => Math.abs(here.data[n]! - each) > 1e-4 * most);
        expect([name, far]).toEqual([name, -1]);
        count++;
      }
    }
    expect(count).toBe(Object.keys(theirs.tensors).length);
  });

  it("edits do the same", () => {
    for (const [name, { edits, ids, log_probs }] of Object.entries(told.edits)) {
      const { document } = run(opened, { text: TEXT, edits });
      expect([name, document.predicted.map(({ id }) => id).join()]).toEqual([name, ids.join()]);
      const far = document.predictions.findIndex(({ log_prob }, row) => !near(log_prob, log_probs[row]!));
      expect([name, far]).toEqual([name, -1]);
    }
  });

  it("knows what speaks for a token", () => {
    const { row, lens, pushes, known: [token] } = told;
    const found = run(opened, { text: TEXT, decode: { search: "beam", beam: 4 } });
    readLens(found, row).forEach((logits, layer) => {
      const far = lens[layer]!.findIndex((each, id) => !near(logits[id]!, each));
      expect([layer, far]).toEqual([layer, -1]);
    });
    const own = listPushes(found, row, token);
    expect(Object.keys(own).sort()).toEqual(Object.keys(pushes).sort());
    for (const [name, each] of Object.entries(pushes)) expect([name, near(own[name]!, each)]).toEqual([name, true]);
    const sum = Object.values(own).reduce((all, each) => all + each, 0);
    expect(near(sum, readTensor(found, "logits").data[row * opened.network.vocabulary + token]!, 10)).toBe(true);
  });

  it.each([
    { beam: 0 }, { beam: 17 }, { beam: 2.5 }, { beam: Number.NaN }, { alpha: -1 }, { temperature: 0 }, { top_k: -3 }, { top_p: 0 },
    { search: "first" as "greedy" }, { length_penalty: "all" as "none" },
  ])("says which setting cannot be: %j", (decode) => {
    const [[name, value]] = Object.entries(decode) as [[string, unknown]];
    expect(() => run(opened, { text: TEXT, decode })).toThrow(`decode.${name}=${value}: it has to be `);
  });

  it("says that a text without a letter has no translation", () => {
    for (const text of ["!!!", "...", "😀"]) {
      expect(() => run(opened, { text })).toThrow("there is nothing to translate in a text without a letter or digit");
      expect(() => finish(write(opened, { text }))).toThrow("there is nothing to translate");
      expect(run(opened, { text, target: "Le chat." }).document.text).toBe(text);
    }
  });

  it("is an engine behind a line: what is aborted, left out, cut", async () => {
    const worker: Pick<Worker, "postMessage" | "onmessage"> = { onmessage: null, postMessage: (call: Call) => void hear(call) };
    const hear = listen((data) => worker.onmessage!.call(worker as Worker, { data } as MessageEvent));
    const about = { version: "", models: [{ ...opened.about, loaded: true }] };
    const engine = new LocalEngine(new Line(async () => worker), about, async () => [spell(readFileSync(`${folder}/model`)), ""]);
    const answer = await engine.translate({ text: TEXT });
    expect(answer.translation).toBe("L'animal n'a pas traversé la rue parce qu'il était trop fatigué.");
    expect(answer.attention.shape).toEqual([answer.targetWords.length, answer.sourceWords.length]);
    expect(await engine.unknown("demo", "The cat likes Zanzibar.")).toContain("Zanzibar");
    expect(await engine.unknown("demo", "The cat likes 🍕 and 🍕.")).toEqual(["🍕"]);
    expect((await engine.vocabulary("demo")).length).toBe(opened.network.vocabulary);

    const own = new AbortController();
    const asked = engine.weigh(answer.id, told.row, null, own.signal);
    own.abort();
    await expect(asked).rejects.toThrow(/no longer wanted/);

    const trace = await engine.open(answer.id);
    const groups = answer.sourceWords.slice(0, 3);
    const cut = await engine.cutEach(answer.id, [told.row], groups);
    const { forced } = (await engine.edit(trace, [{ do: "cut", word: "The" }]))!;
    expect(near(cut[0]!, forced.predictions[told.row]!.log_prob)).toBe(true);
  });

  it("makes a recording again that was let go, once for all who ask, and with the same numbers", async () => {
    const calls: string[] = [];
    const worker: Pick<Worker, "postMessage" | "onmessage"> = {
      onmessage: null,
      postMessage: (call: Call) => {
        calls.push(call.method ?? "");
        void hear(call);
      },
    };
    const hear = listen((data) => worker.onmessage!.call(worker as Worker, { data } as MessageEvent));
    const about = { version: "", models: [{ ...opened.about, loaded: true }] };
    const plain = new LocalEngine(new Line(async () => worker), about, async () => [spell(readFileSync(`${folder}/model`)), ""]);
    const engine = renew(plain);
    const edits = [{ do: "cut", word: "animal" }];
    const answer = await engine.translate({ text: TEXT, edits });
    const groups = answer.sourceWords.slice(0, 2);
    const before = await engine.cutEach(answer.id, [told.row], groups);
    for (let n = 0; n < 24; n++) await plain.translate({ text: "The cat." });
    await expect(plain.open(answer.id)).rejects.toThrow(Gone);
    calls.length = 0;
    const [left, trace] = await Promise.all([engine.cutEach(answer.id, [told.row], groups), engine.open(answer.id), engine.lens(answer.id, 0, [])]);
    expect(left).toEqual(before);
    expect([trace.document.translation, trace.document.edits]).toEqual([answer.translation, edits]);
    expect(calls.filter((each) => each === "translate").length).toBe(1);
    await expect(engine.open("none")).rejects.toThrow("recording none is no longer in memory");
  });

  it.each(["greedy", "beam"] as const)("%s search comes to the same whatever it has read before", (kind) => {
    const { network, about } = opened;
    const settings = { ...about.settings.decode, search: kind, beam: 3 } as SearchSettings;
    const { document } = run(opened, { text: TEXT, decode: { search: "greedy" } });
    const [source, given] = [document.source, document.target].map((side) => side.map(({ id }) => id)) as [number[], number[]];
    const wrong = [...given.slice(0, 4), given[5]!, given[4]!];
    const find = (read?: number[]) => {
      const reuse = read && network.pass(source, read, NO_EDITS);
      const steps: Step[] = [...searchFor(network, { source, settings, longest: 128, ...(reuse && { reuse }) })];
      return JSON.stringify(steps.map(({ candidates, best }) => [candidates.map(({ token, fate, parent }) => [token, fate, parent]), best]));
    };
    const plain = find();
    expect([find(given), find(wrong), find([BOS])]).toEqual([plain, plain, plain]);
  });

  describe.skipIf(!existsSync(`${folder}/engine.wasm`))("with the engine in C", () => {
    const [wasm, model] = ["engine.wasm", "model"].map((name) => () => spell(readFileSync(`${folder}/${name}`)));

    it("drafts are told first, and the answer is the equations' own", async () => {
      const [host, plain] = [new Host(), new Host()];
      const quiet = { tell: () => {} };
      await host.open(quiet, model!(), wasm!());
      await plain.open(quiet, model!());
      let drafted = 0;
      for (const { text, written } of told.greedy) {
        const early: Early[] = [];
        const found = await host.translate({ tell: (each) => void early.push(each) }, { text, decode: { search: "greedy" } });
        expect(found.document.translation).toBe(written);
        expect(early.map(({ draft, recorded }) => [!!draft, !!recorded])).toEqual([[true, false], [false, true]]);
        const isSame = early[0]!.draft!.translation === written;
        expect(early[1]!.recorded!.id === found.id).toBe(isSame);
        drafted += Number(isSame);
      }
      expect(drafted).toBeGreaterThan(0.97 * told.greedy.length);
      for (const { text, decode } of told.beam) {
        const [own, other] = await Promise.all([host, plain].map((each) => each.translate(quiet, { text, decode: decode! })));
        expect(own!.document.search).toEqual(other!.document.search);
        expect(own!.document.predictions).toEqual(other!.document.predictions);
      }
      const asked = { text: TEXT, decode: { temperature: 2 }, seed: 5 };
      const [drawn, other] = await Promise.all([host, plain].map((each) => each.samples(quiet, asked, 6)));
      expect(new Set(drawn).size).toBeGreaterThan(3);
      expect(drawn!.filter((each, n) => each === other![n]).length).toBeGreaterThan(3);
    });

    it("the case of a sentence stays from its draft to the answer", async () => {
      const worker: Pick<Worker, "postMessage" | "onmessage"> = { onmessage: null, postMessage: (call: Call) => void hear(call) };
      const hear = listen((data) => worker.onmessage!.call(worker as Worker, { data } as MessageEvent));
      const about = { version: "", models: [{ ...opened.about, loaded: true }] };
      const engine = new LocalEngine(new Line(async () => worker), about, async () => [model!(), wasm!()]);
      const shown: (string | undefined)[] = [];
      const answer = await engine.translate({ text: "THE CAT IS ON THE MAT." }, undefined, ({ whole }) => void shown.push(whole?.translation));
      expect(shown.length).toBe(2);
      expect([...shown, answer.whole?.translation]).toEqual(Array(3).fill("LE CHAT EST SUR LE TAPIS."));
    });

    it("what cannot run is left out", async () => {
      const host = new Host();
      const quiet = { tell: () => {} };
      await host.open(quiet, model!(), spell("no module"));
      expect((await host.translate(quiet, { text: TEXT })).document.search).not.toBeNull();
      const draft = await openDrafter(readFileSync(`${folder}/engine.wasm`), bytes("model"), opened.about);
      expect(draft([99_999, 2], opened.about.settings.decode as SearchSettings, 0)).toBeNull();
    });
  });

  it("answers a page: a cut, each head silenced, samples", async () => {
    const host = new Host();
    const asking = { tell: () => {} };
    await host.open(asking, spell(readFileSync(`${folder}/model`)));
    const { id, document } = await host.record(asking, { text: TEXT });
    const cut = await host.edit(asking, id, [{ do: "cut", word: "animal" }]);
    const after = host.find(asking, cut.after).document;
    expect(after.predicted.map((each) => each.id)).toEqual(told.edits["a cut"]!.ids);
    expect(host.find(asking, cut.forced).document.predicted).toEqual(document.predicted);
    expect(cut.changes.differences["memory"]).toBe(0);
    expect(cut.changes.differences["logits"]).toBeGreaterThan(0.01);

    const { leads, lead, rival } = await host.weigh(asking, id, told.row, null);
    expect([rival.id, near(lead, told.known[2])]).toEqual([told.known[1], true]);
    for (const [block, each] of Object.entries(told.leads)) {
      expect([block, leads[block]!.every((own, head) => near(own, each[head]!))]).toEqual([block, true]);
    }
    const drawn = await host.samples(asking, { text: TEXT, decode: { temperature: 2 }, seed: 5 }, 2);
    const one = await host.record(asking, { text: TEXT, decode: { temperature: 2 }, seed: 6 });
    expect(drawn[1]).toBe(one.document.translation);
  });
});
