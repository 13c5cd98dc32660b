import { describe, expect, it } from "vitest";
import { groupWords, mergeWords } from "../src/data/words";
import { number, percent, token } from "../src/format";
import { tensor } from "./toy";

/** Tokens that follow one another in a text, and an end mark. */
function tokens(...texts: string[]) {
  let at = 0;
  const found = texts.map((text, id) => {
    const start = at;
    at += Array.from(text).length;
    return { text, id, start, end: at };
  });
  return [...found, { text: "</s>", id: 2, start: at, end: at }];
}

describe("words", () => {
  it.each([
    [["The", " ani", "mal", " didn", "'t", "."], [[0], [1, 2], [3, 4], [5], [6]]],
    [["L'", "été", ",", " oui"], [[0, 1], [2], [3], [4]]],
    [["𝒜b", " c", "d"], [[0], [1, 2], [3]]],
    [[" ", "a", "b", " ", "."], [[0, 1, 2], [3], [4], [5]]], // a space alone, as Python has it
  ])("of %j", (texts, groups) => {
    expect(groupWords(tokens(...texts), texts.join(""))).toEqual(groups);
  });

  it("share attention: summed over keys, averaged over queries", () => {
    const merged = mergeWords(tensor([2, 3], 0.5, 0.25, 0.25, 0.1, 0.2, 0.7), [[0, 1]], [[0, 1], [2]]);
    expect(merged.data[0]).toBeCloseTo((0.75 + 0.3) / 2);
    expect(merged.data[0]! + merged.data[1]!).toBeCloseTo(1);
  });
});

it("numbers are written to be read", () => {
  expect([0.3125, -2, 1e-7, 1234.5678, Infinity, -Infinity, NaN, 0].map((x) => number(x))).toEqual(
    ["0.3125", "−2", "1.000e−7", "1235", "∞", "−∞", "–", "0"],
  );
  expect([1, 0.99951, 0.5, 0.0001, 0].map(percent)).toEqual(["100%", "100%", "50.0%", "<0.1%", "0%"]);
  expect([" the", "▁the", "s"].map(token)).toEqual(["▁the", "▁the", "s"]);
});
