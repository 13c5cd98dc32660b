import { describe, expect, it } from "vitest";
import type { Considered, Fate, Search } from "../src/data/document";
import { grow, path, walk } from "../src/views/translate/tree";

function candidate(parent: number, row: number | null, text: string, log_prob: number, fate: Fate): Considered {
  return { parent, row, id: text.charCodeAt(0), text, token_log_prob: -0.1, log_prob, score: log_prob, fate, why: "" };
}

const search = {
  settings: { beam: 2 }, seed: 0, prefix: 1, chosen: 0,
  hypotheses: [
    { ids: [9, 98, 99], text: "bc", log_prob: -0.9, score: -0.9, finished: true },
    { ids: [9, 97], text: "a", log_prob: -2, score: -2, finished: true },
  ],
  steps: [
    [candidate(0, 0, "a", -0.2, "KEPT"), candidate(0, 1, "b", -0.4, "KEPT"), candidate(0, null, "z", -9, "OUTRANKED")],
    [candidate(1, 0, "c", -0.6, "KEPT"), candidate(0, null, "$", -2, "FINISHED"), candidate(0, null, "y", -8, "OUTRANKED")],
    [candidate(0, null, "$", -0.9, "FINISHED")],
  ],
} as unknown as Search;

describe("the search as a tree", () => {
  const tree = grow(search);

  it("links candidates to the row that they continue", () => {
    expect(tree.steps[1]![0]!.up?.text).toBe("b");
    expect(tree.steps[0]![0]!.down.map((node) => node.text)).toEqual(["$", "y"]);
  });

  it("finds the way to the translation on screen, past the forced beginning", () => {
    expect(tree.chosen.map((node) => node.text)).toEqual(["b", "c", "$"]);
    expect(tree.steps[0]![0]!.isChosen).toBe(false);
    expect(path(tree.steps[1]![0]!).map((node) => node.text).join("")).toBe("bc");
  });

  it("knows where each hypothesis ended", () => {
    expect(tree.steps.flat().flatMap((node) => (node.ending === null ? [] : [[node.step, node.ending]]))).toEqual([
      [1, 1], [2, 0],
    ]);
  });

  it("tells one that was cut from one that ended with the same tokens", () => {
    const cut = { ...search.hypotheses[1]!, finished: false };
    const one = grow({ ...search, hypotheses: [...search.hypotheses, cut], chosen: 2 });
    expect(one.steps.flat().some((node) => node.ending === 2)).toBe(false);
    expect(one.chosen).toEqual([]);
  });

  it("is walked by arrows", () => {
    const [a, b] = tree.steps[0]!;
    expect(walk(tree, b!, "ArrowRight")?.text).toBe("c");
    expect(walk(tree, b!, "ArrowUp")).toBe(a);
    expect(walk(tree, a!, "ArrowUp")).toBeNull();
    expect(walk(tree, tree.steps[1]![0]!, "ArrowLeft")).toBe(b);
    expect(walk(tree, a!, "End")).toBe(tree.chosen[2]);
    expect(walk(tree, a!, "x")).toBeNull();
  });
});
