/** Text as Python has it, and no slower where it is long. */

import { expect, it } from "vitest";
import { capitalize, toSmall } from "../src/engine/casing";
import { isLower, isUpper, strip } from "../src/engine/tables";
import { Tokenizer, type Merges } from "../src/engine/tokenizer";
import { findUnknown } from "../src/engine/unknown";

const LONG = 20_000;
const MERGES: Merges = [["a", "b"], [".", "."], ["b", "a"], ["ab", "a"], ["..", ".."], ["a", "a"], ["aba", "ab"], ["....", "."]];
const vocabulary = Array.from({ length: 259 }, (_, id) => `<${id}>`).concat(" ", "a", "b", ".", MERGES.map((each) => each.join("")));
const tokenizer = new Tokenizer(vocabulary, MERGES);

/** Of the merges that are possible, the one of the lowest rank, then the leftmost, until there is none. */
function mergeSlowly(word: string): string[] {
  const parts = Array.from(word);
  for (;;) {
    const ranks = parts.map((each, n) => MERGES.findIndex(([left, right]) => each === left && parts[n + 1] === right));
    const least = Math.min(...ranks.filter((rank) => rank >= 0));
    if (!Number.isFinite(least)) return parts;
    const place = ranks.indexOf(least);
    parts.splice(place, 2, MERGES[least]!.join(""));
  }
}

it("merges in the order of the ranks, and from left to right", () => {
  let seed = 5;
  const draw = () => (seed = (seed * 16807) % 2147483647);
  for (let n = 0; n < 500; n++) {
    const letters = n % 2 ? "ab" : ".";
    const word = Array.from({ length: 1 + (draw() % 14) }, () => letters[draw() % letters.length]).join("");
    const pieces = tokenizer.read(word);
    expect(pieces.map(({ id }) => vocabulary[id])).toEqual(mergeSlowly(` ${word}`));
    expect(pieces.slice(1).map(({ start }) => start)).toEqual(pieces.slice(0, -1).map(({ end }) => end));
    expect(pieces.at(-1)!.end).toBe(word.length);
  }
});

it.each([".", "ab", "\u0301", "\u0301\u0323"])("reads a word of many %j at once", (unit) => {
  const begun = performance.now();
  const pieces = tokenizer.read(`a${unit.repeat(LONG / unit.length)}`);
  expect(pieces.at(-1)!.end).toBe(LONG + 1);
  expect(performance.now() - begun).toBeLessThan(1500);
});

it("knows capitals and white space as Python does", () => {
  const texts = ["𝐀", "𝐀𝐛", "𝐛", "ǅA", "Ⅷ", "ⓐA", "1A", "1", "ªA", "ẞ", "ß", "ΐ", ""];
  expect(texts.filter(isUpper)).toEqual(["𝐀", "Ⅷ", "1A", "ẞ"]);
  expect(texts.filter(isLower)).toEqual(["𝐛", "ß", "ΐ"]);
  expect(["\x1c\x85 a\ufeff\x1f", "\ufeff", " \u3000"].map(strip)).toEqual(["a\ufeff", "\ufeff", ""]);
});

it.each([
  ["मैंने रामायण पढ़ी", ["मैंने", "रामायण", "पढ़ी"]],
  ["ކަންތައް މި", ["ކަންތައް", "މި"]],
  ["ශ්\u200dරී ලංකා", ["ශ්\u200dරී", "ලංකා"]],
  ["ไปบ้าน ok", ["ไ", "ป", "บ้", "า", "น", "ok"]],
  ["ខ្ញុំ។ l’eau", ["ខ្", "ញុំ", "l’eau"]],
  ["中文 g̃uarani_x", ["中", "文", "g̃uarani", "x"]],
])("has words on which combining marks go on, as in Python: %s", (text, words) => {
  expect(findUnknown(new Set(), text)).toEqual(words);
});

it("judges words as the model reads them, by Turkish rules, too", () => {
  const characters = new Map(Object.entries({ Ｕ: "U", Ｓ: "S", Ｂ: "B", "'": "ʻ", "‘": "ʻ" }));
  expect(findUnknown(new Set(["usb", "boʻa", "ışık", "izin"]), "ＵＳＢ bo'a bo‘c IŞIK İzin", characters)).toEqual(["bo‘c"]);
  expect([toSmall("IŞIK", "tr"), toSmall("İZİN"), capitalize("izin", "tr"), capitalize("izin")]).toEqual(["ışık", "izin", "İzin", "Izin"]);
});
