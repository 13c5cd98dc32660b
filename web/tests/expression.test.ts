import { describe, expect, it } from "vitest";
import { evaluate, letters } from "../src/data/expression";

const values: Record<string, number> = { h: 3, k: 5, j: 29, q: 2, m: 7 };
const scope = (letter: string) => values[letter]!;
const ids = (place: number) => 100 + place;

describe("an index", () => {
  it.each([
    ["h", 3], ["0", 0], ["h*8+k", 29], ["j//8", 3], ["j%8", 5], ["ids[q]", 102], ["h+k*2", 13],
    ["(h+k)*2", 16], ["ids[h*2]", 106],
  ])("%s is %i", (text, wanted) => {
    expect(evaluate(text, scope, ids)).toBe(wanted);
  });

  it.each(["", "h+", "alert(1)", "ids[q", "h**k", "constructor", "h k"])("%j is refused", (text) => {
    expect(() => evaluate(text, scope, ids)).toThrow(/no index/);
  });

  it("knows its letters, and takes ids for none", () => {
    expect([...letters(["ids[q]", "h*8+k"])].sort()).toEqual(["h", "k", "q"]);
  });
});
