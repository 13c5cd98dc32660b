import { describe, expect, it } from "vitest";
import { number, token } from "../src/format";
import { inSight } from "../src/parts/sight";
import { shorten } from "../src/shell/pictures";

describe("number", () => {
  it("has as many digits as count, and no exponent where a reader needs none", () => {
    expect([0, 0.5, 3.14159, 1639.88, 123456.7].map((each) => number(each))).toEqual([
      "0", "0.5", "3.142", "1640", "123457",
    ]);
    expect([1639.88, 99.96, 2030].map((each) => number(each, 3))).toEqual(["1640", "100", "2030"]);
    expect(number(999.96, 4)).toBe("1000");
    expect([-1.5, -1.2e-5, 2.5e7, -Infinity, NaN].map((each) => number(each, 2))).toEqual([
      "−1.5", "−1.2e−5", "2.5e+7", "−∞", "–",
    ]);
  });
});

describe("inSight", () => {
  it("is all of few columns, and of many those that are seen and three beside them", () => {
    expect(inSight(40, 100, 0, 300)).toEqual([0, 40]);
    expect(inSight(41, 100, 0, 300)).toEqual([0, 6]);
    expect(inSight(200, 100, 5050, 300)).toEqual([47, 57]);
    expect(inSight(200, 100, 19_700, 300)).toEqual([194, 200]);
    expect(inSight(100, 100, 1e6, 300)).toEqual([96, 100]); // scrolled where a longer one was
  });
});

it("a token that cannot be seen has a name, and a joiner among letters stays", () => {
  expect(["\u200b", " \u200b", "ab\u00ad", "\u200d", "می\u200cخ", " a"].map(token)).toEqual([
    "U+200B", "▁U+200B", "abU+00AD", "U+200D", "می\u200cخ", "▁a",
  ]);
});

it("a file is named by whole words, or by the letters there are", () => {
  expect(shorten("L'animal n'a pas traversé la rue", 24)).toBe("L'animal n'a pas");
  expect(shorten("Le chat.", 24)).toBe("Le chat.");
  expect(shorten("动物没有过马路因为它太累了", 6)).toBe("动物没有过马");
  expect(shorten("one two", 3)).toBe("one");
});
