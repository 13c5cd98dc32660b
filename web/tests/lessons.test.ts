import { expect, it } from "vitest";
import { countRight, judge, LESSONS, listStrange, readLines, wordsOf, writeLines, type Pair, type Run } from "../src/doors/lessons";

it("asks for sentences that are in no line, of words that are", () => {
  for (const { lines, unseen } of Object.values(LESSONS)) {
    expect(unseen.length).toBeGreaterThan(4);
    for (const [source] of unseen) {
      expect(lines.some(([line]) => line === source)).toBe(false);
      expect(listStrange(lines, source)).toEqual([]);
    }
    expect(readLines(writeLines(lines))).toEqual(lines);
  }
});

it("reads lines as people type them", () => {
  expect(readLines(" a b  =  c d \n\nno pair\n= c\na = ")).toEqual([["a b", "c d"]]);
  expect(listStrange([["the dog", "le chien"]], "the moon")).toEqual(["moon"]);
});

const asked: Pair[] = [["a b", "x y"], ["b a", "y x"], ["own", ""]];
const run = (said: string[], losses: [number, number][] = [[1, 2], [9, 0.1]]): Run => ({
  lesson: { pairs: asked, width: 8, heads: 1, positions: true, mask: true, rate: 0.01, seed: 1, updates: 9 }, losses, asked, isDone: true,
  learnt: { step: 9, loss: 0.1, parameters: 1, said: said.map((each) => ({ words: wordsOf(each), chances: [], attention: [] })) },
});

it("judges what a change did by what the network says", () => {
  expect(countRight(run(["x y", "y x", "z"]))).toBe(2);
  expect(judge(run(["x y", "y x", "z"]), "positions")).toBe(0);
  expect(judge(run(["y x", "y x", "z"]), "positions")).toBe(1);
  expect(judge(run(["x x", "z", ""]), "positions")).toBe(2);
  expect(judge(run(["x x", "z", ""]), "mask")).toBe(1);
  expect(judge(run(["x x", "z", ""], [[1, 2], [9, 1.5]]), "mask")).toBe(2);
});
