import { describe, expect, it } from "vitest";
import { groupAnswer, type Plain } from "../src/engine/answer";
import { compareWords, findReason, isCut, listChanges, listWords, makeCuts, mendWord } from "../src/first/cuts";
import { wordPattern } from "../src/data/words";
import { findExcerpt } from "../src/first/excerpt";
import { drawSentence, findSwap, sentencesOf } from "../src/first/examples";

/** An answer whose tokens are words with the space before them; the last is the end mark. */
function answer(text: string, translation: string, attention: number[][], sure: number[]) {
  const split = (line: string) => {
    let start = 0;
    const tokens = (line.match(/\s?[^\s.]+|\./g) ?? []).map((said, id) => {
      const token = { text: said, id, start, end: start + said.length };
      start += said.length;
      return token;
    });
    return [...tokens, { text: "</s>", id: 99, start, end: start }];
  };
  const [source, predicted] = [split(text), split(translation)];
  const plain: Plain = {
    id: text + translation, model: "m", text, translation, source, predicted,
    predictions: sure.map((each) => ({ log_prob: Math.log(each), rank: 0, entropy: 0, ids: [], texts: [], log_probs: [] })),
    attention: { shape: [predicted.length, source.length], data: Float32Array.from(attention.flat()) },
    confidence: null, problems: [], edits: [],
  };
  return groupAnswer(plain);
}

const BEFORE = answer("the cat saw the dog", "le chat", [
  [0.5, 0.1, 0.1, 0.2, 0.1, 0],
  [0.1, 0.6, 0.1, 0.1, 0.1, 0],
  [0.1, 0.1, 0.1, 0.1, 0.1, 0.5],
], [0.9, 0.8, 0.9]);

describe("cuts", () => {
  it("name the word, and which of several equal ones", () => {
    expect(listWords(BEFORE, "source")).toEqual(["the", "cat", "saw", "the", "dog"]);
    expect(makeCuts(BEFORE, 1)).toEqual([{ do: "cut", word: "cat" }]);
    expect(makeCuts(BEFORE, 3)).toEqual([{ do: "cut", word: "the", occurrence: 1 }]);
    expect(makeCuts(BEFORE, 1, [4, 5])).toEqual([
      { do: "cut", word: "cat", query: 4 }, { do: "cut", word: "cat", query: 5 },
    ]);
  });

  it("are found again and mended, one word at a time", () => {
    const edits = [...makeCuts(BEFORE, 0), ...makeCuts(BEFORE, 1)];
    expect([0, 1, 2, 3].map((place) => isCut(BEFORE, place, edits))).toEqual([true, true, false, false]);
    expect(mendWord(BEFORE, 0, edits)).toEqual(makeCuts(BEFORE, 1));
    expect(isCut(BEFORE, 3, [{ do: "cut", word: "the" }])).toBe(true);
  });

  it("find words as the server does", () => {
    const places = (word: string, text: string) => Array.from(text.matchAll(wordPattern(word)), ({ index }) => index);
    expect(places("it", "it is a bit of it.")).toEqual([0, 15]);
    expect(places(".", "tired. so.")).toEqual([5, 9]);
    expect(places("-", "well-known")).toEqual([4]);
    expect(places("动物", "大动物很累")).toEqual([1]);
    expect(places("❤", "I ❤️")).toEqual([2]);
    expect(places("राम", "रामायण राम")).toEqual([7]);
    expect(places("ކަން", "ކަންތައް ކަން")).toEqual([9]);
    expect(places("ផ្ទះ", "ក្នុងផ្ទះ")).toEqual([5]);
    expect(places("บ้าน", "ฉันไปบ้านแล้ว")).toEqual([5]);
    expect(places("ที", "ที่นี่")).toEqual([]);
    expect(places("มา", "เมา มาแล้ว")).toEqual([4]);
  });
});

describe("what a cut did", () => {
  it("keeps what stayed, and puts ghosts where something was", () => {
    const found = compareWords(["il", "était", "trop", "fatigué", "."], ["elle", "était", "malade", "."]);
    expect(found.map(({ place, ghost, isNew }) => [place, ghost, isNew])).toEqual([
      [0, "il", true], [1, "", false], [2, "trop fatigué", true], [3, "", false],
    ]);
    expect(listChanges(found, ["elle", "était", "malade", "."])).toEqual([["il", "elle"], ["trop fatigué", "malade"]]);
    expect(listChanges(compareWords(["a", "b"], ["a", "c", "d"]), ["a", "c", "d"])).toEqual([["b", "c d"]]);
    expect(listChanges(compareWords(["a", "b"], ["b"]), ["b"])).toEqual([["a", ""]]);
    expect(compareWords(["a", "b"], ["a"]).at(-1)).toEqual({ place: -1, ghost: "b", isNew: false, was: -1 });
    expect(compareWords(["a"], ["a"])).toEqual([{ place: 0, ghost: "", isNew: false, was: 0 }]);
  });

  it("says who read the word, and what it reads instead", () => {
    const now = answer("the cat saw the dog", "le chat", [
      [0.5, 0, 0.1, 0.3, 0.1, 0],
      [0.1, 0, 0.1, 0.1, 0.7, 0],
      [0.1, 0, 0.2, 0.1, 0.1, 0.5],
    ], [0.9, 0.4, 0.9]);
    const same = findReason(BEFORE, now, 1)!;
    expect(same).toMatchObject({ cut: "cat", word: "chat", said: "chat", instead: "dog" });
    expect([same.share, same.sure, same.then, same.before, same.after].map((each) => each.toFixed(2)))
      .toEqual(["0.60", "0.80", "0.40", "0.10", "0.70"]);
    const other = answer("the cat saw the dog", "le chien", [
      [0.5, 0, 0.1, 0.3, 0.1, 0], [0.1, 0, 0.1, 0.1, 0.7, 0], [0.1, 0, 0.2, 0.1, 0.1, 0.5],
    ], [0.9, 0.5, 0.9]);
    expect(findReason(BEFORE, other, 1)).toMatchObject({ word: "chat", said: "chien", then: expect.closeTo(0.5) });
  });
});

describe("examples", () => {
  const model = (source: string, words: number | null = 785) => ({ source, words });

  it("suit what a model knows", () => {
    expect(sentencesOf(model("en"))[0]).toMatch(/animal/);
    expect(sentencesOf(model("en", null))).toEqual(sentencesOf(model("en")));
    expect(sentencesOf(model("en", 14_000))[0]).toMatch(/sister/);
    expect(findSwap(model("en", 14_000), ["My", "sister"])).toEqual({ place: 1, by: ["brother", "mother"] });
    expect(sentencesOf(model("de", 14_000))).toEqual([]);
  });

  it("offer what can stand in a word's place", () => {
    expect(findSwap(model("en"), ["it", "was", "too", "tired"])).toEqual({ place: 3, by: ["wide", "hungry"] });
    expect(findSwap(model("en-GB"), ["nothing", "here"])).toBeNull();
    expect(findSwap(null, ["tired"])).toBeNull();
  });

  it("are drawn without saying a word twice", () => {
    for (let n = 0; n < 50; n++) expect(drawSentence(model("en"))).not.toMatch(/[{}]|(\b\w{4,}\b).*\b\1\b/);
    for (let n = 0; n < 50; n++) expect(drawSentence(model("en", 14_000))).not.toMatch(/[{}]|(\b\w{4,}\b).*\b\1\b/);
    expect(drawSentence(model("de"))).toBeNull();
  });
});

describe("an excerpt", () => {
  const plain = answer("the cat saw", "le chat vit", [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], [1, 1, 1, 1]);
  const whole = {
    text: "It rains. 🍕 the cat (🎉 🎊) saw 🐈! 🍕 End.", translation: "Il pleut. le chat 🍕 vit 🎉. Fin.", chosen: 1,
    sentences: [
      { source: [0, 9], target: [0, 9] }, { source: [12, 32], target: [10, 25] }, { source: [35, 39], target: [26, 30] },
    ] as { source: [number, number]; target: [number, number] }[],
  };

  it("is the text itself, where nothing else was there", () => {
    const text = "the cat saw";
    expect(findExcerpt(plain, "source")).toEqual({ text, read: text, asides: [], origins: [...Array(12).keys()] });
  });

  it("has what was not read in its place, and the place of each character in the whole text", () => {
    const { text, asides, origins } = findExcerpt({ ...plain, whole }, "source");
    expect(text).toBe("the cat (🎉 🎊) saw 🐈! 🍕");
    expect(asides).toEqual([{ text: "(🎉 🎊)", place: 2 }, { text: "🐈! 🍕", place: 3 }]);
    expect(Array.from(whole.text)[origins[8]!]).toBe("s");
    expect(origins[11]).toBe(origins[10]! + 1);
    expect(findExcerpt({ ...plain, whole }, "target").asides).toEqual([{ text: "🍕", place: 2 }, { text: "🎉.", place: 3 }]);
  });

  it("is in the case that the user gets", () => {
    const capitals = { ...whole, text: whole.text.toUpperCase(), translation: whole.translation.toUpperCase() };
    const { text, read, asides } = findExcerpt({ ...plain, whole: capitals }, "target");
    expect([text, read, asides.length]).toEqual(["LE CHAT 🍕 VIT 🎉.", "LE CHAT VIT", 2]);
  });

  it("is what was read alone, where the whole text has something else", () => {
    const other = { ...whole, text: whole.text.replace("cat", "dog") };
    expect(findExcerpt({ ...plain, whole: other }, "source").text).toBe("the cat saw");
  });
});
