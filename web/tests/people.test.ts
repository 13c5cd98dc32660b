/** Text as people type it, read as Python reads it: see tests/web/test_living.py, which writes what is read here. */

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Problem, Whole } from "../src/data/document";
import { openModel, type Opened } from "../src/engine/model";
import { readJudged, readPrefix, readSource, record, split } from "../src/engine/recording";
import { Splitter, type SplittingTables } from "../src/engine/sentences";
import type { Span } from "../src/engine/symbols";

const folder = process.env["PEOPLE"] ?? "";

type Cut = [text: string, spans: Span[]][];

interface Told {
  cut: Cut;
  cut_by: { language: string | null; splitting: SplittingTables; cut: Cut }[];
  read: { text: string; read: string; case: string | null; names: Record<string, string>; tokens: [number, number, number][] }[];
  seen: { asked: string; text: string; translation: string; whole: Whole | null; confidence: number; problems: Problem[] }[];
  begun: [text: string, prefix: string, ids: number[]][];
  spoken: [text: string, written: string, translation: string][];
  judged: {
    text: string; translation: string; is_finished: boolean; confidence: number; problems: [kind: string, said: string][]; capped: number;
  }[];
}

describe.skipIf(!existsSync(`${folder}/told.json`))("what people type", { timeout: 600_000 }, () => {
  const opened = folder ? openModel(Uint8Array.from(readFileSync(`${folder}/model`)).buffer) : (null as unknown as Opened);
  const told = folder ? (JSON.parse(readFileSync(`${folder}/told.json`, "utf8")) as Told) : { read: [], seen: [], begun: [], spoken: [], judged: [], cut: [], cut_by: [] };

  it("is read as Python reads it", () => {
    const wrong = told.read.flatMap(({ text, tokens, ...wanted }) => {
      const { text: read, kind, names } = opened.adapter!.adapt(text);
      const own = { read, case: kind, names: Object.fromEntries(names) };
      const pieces = readSource(opened, text.trim()).slice(0, -1).map(({ id, start, end }) => [id, start, end]);
      const isSame = JSON.stringify([own, pieces]) === JSON.stringify([wanted, tokens]);
      return isSame ? [] : [{ text, own, wanted, pieces: pieces.join(" "), tokens: tokens.join(" ") }];
    });
    expect(wrong).toEqual([]);
    expect(told.read.length).toBeGreaterThan(50);
  });

  it("is read at once where a link ends in many brackets", () => {
    const begun = performance.now();
    const text = `See http://a.b/c(d)${")".repeat(20_000)}`;
    const [link] = opened.adapter!.findVerbatim(text);
    expect([text.slice(link!.start, link!.end), performance.now() - begun < 1500]).toEqual(["http://a.b/c(d)", true]);
  });

  const findWrong = (own: Opened, cut: Cut) =>
    cut.flatMap(([text, wanted]) => {
      const spans = split(own, text).map(({ span }) => span);
      return JSON.stringify(spans) === JSON.stringify(wanted) ? [] : [{ text, spans, wanted }];
    });

  it("is cut into sentences as Python cuts it", () => {
    expect(findWrong(opened, told.cut)).toEqual([]);
    expect(told.cut.length).toBeGreaterThan(100);
  });

  it("is cut by the rules of its language", () => {
    for (const { language, splitting, cut } of told.cut_by) {
      const own = { ...opened, adapter: null, splitter: new Splitter(splitting) };
      expect([language, findWrong(own, cut)]).toEqual([language, []]);
    }
  });

  it("has translations with the problems that Python finds", () => {
    const { judge, about } = opened;
    const wrong = told.judged.flatMap(({ text, translation, is_finished, confidence, problems, capped }) => {
      const found = judge.list({ ...readJudged(opened, text), translation, isFinished: is_finished, confidence, usual: about.usual });
      const own = [found.map(({ kind, said }) => [kind, said]), judge.cap(confidence, found)];
      return JSON.stringify(own) === JSON.stringify([problems, capped]) ? [] : [{ text, translation, own, wanted: [problems, capped] }];
    });
    expect(wrong).toEqual([]);
    expect(new Set(told.judged.flatMap(({ problems }) => problems.map(([kind]) => kind))).size).toBeGreaterThan(9);
  });

  it("has translations with the quotes that Python gives them", () => {
    const adapter = opened.adapter!;
    for (const [text, written, translation] of told.spoken) {
      const adapted = { ...adapter.adapt(text), aside: null };
      expect([text, adapter.restore(adapted, text, written, () => null)]).toEqual([text, translation]);
    }
    expect(told.spoken.length).toBeGreaterThan(3);
  });

  it("has translations that begin as Python begins them", () => {
    for (const [text, prefix, ids] of told.begun) {
      expect([text, readPrefix(opened, { text, prefix }, text)]).toEqual([text, ids]);
    }
    expect(told.begun.length).toBeGreaterThan(5);
  });

  it("is seen as Python sees it", () => {
    for (const { asked, text, translation, whole, confidence, problems } of told.seen) {
      const steps = record(opened, { text: asked }, "");
      let next = steps.next();
      while (!next.done) next = steps.next();
      const { document } = next.value;
      expect([document.text, document.translation, document.whole]).toEqual([text, translation, whole]);
      expect([asked, next.value.problems.map(({ kind }) => kind)]).toEqual([asked, problems.map(({ kind }) => kind)]);
      expect(document.confidence).toBeCloseTo(confidence, 3);
    }
  });
});
