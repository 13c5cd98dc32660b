/** Tokenizers with a unigram language model: see tests/web/test_student.py, which writes what is read here. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { makeTokenizer } from "../src/engine/model";

type Told = {
  tables: Parameters<typeof makeTokenizer>[0];
  texts: string[];
  pieces: number[][]; // id, start and end of each, one after the other
  spelled: string[];
  unknown: string[][];
};

const path = process.env["UNIGRAMS"];
const told = path ? (JSON.parse(readFileSync(path, "utf8")) as Record<string, Told>) : {};

describe.skipIf(!path)("a unigram tokenizer", { timeout: 600_000 }, () => {
  it.each(Object.keys(told))("%s cuts, spells and misses what Python does", (name) => {
    const { tables, texts, pieces, spelled, unknown } = told[name]!;
    const tokenizer = makeTokenizer(tables);
    const wrong = texts.flatMap((text, n) => {
      const own = tokenizer.read(text).flatMap(({ id, start, end }) => [id, start, end]);
      const written = tokenizer.decode(tokenizer.encode(text));
      const missed = tokenizer.findUnknown(text);
      const isSame = own.join() === pieces[n]!.join() && written === spelled[n] && missed.join("\n") === unknown[n]!.join("\n");
      return isSame ? [] : [{ text, own, wanted: pieces[n], written, spelled: spelled[n], missed, unknown: unknown[n] }];
    });
    expect([wrong.length, ...wrong.slice(0, 2)]).toEqual([0]);
    expect(texts.length).toBeGreaterThan(1000);
  });
});
