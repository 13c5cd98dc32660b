import { afterEach, describe, expect, it } from "vitest";
import { fill, listTexts, readFill, sayFrom, tellIn } from "../src/messages";
import { here } from "../src/state.svelte";
import { tell } from "../src/views/translate/problems";

const TABLE = {
  title: { en: "Heads", zh: "头" },
  "row.sum": { en: "{name} sums to {sum}", zh: "{name} 之和为 {sum}" },
  cards: { V01: { text: { en: "A box", zh: "一个盒子" } } },
};

afterEach(() => void (here.language = "en"));

describe("a table", () => {
  it("is said in the reader's language", () => {
    const say = sayFrom(TABLE);
    expect([say("title"), say("cards.V01.text")]).toEqual(["Heads", "A box"]);
    here.language = "zh";
    expect(say("row.sum", { name: "A", sum: 1 })).toBe("A 之和为 1");
  });

  it("can be read as an object", () => {
    expect(tellIn(TABLE, "zh").cards.V01.text).toBe("一个盒子");
    expect(listTexts(TABLE).map(([key]) => key)).toEqual(["title", "row.sum", "cards.V01.text"]);
  });

  it("keeps what it cannot fill in", () => {
    expect(fill("{S}×{d}, {other}", { S: 3, d: 64 })).toBe("3×64, {other}");
  });
});

describe("what a text was filled with", () => {
  it.each([
    ["in {count} parts", "in 3 parts", { count: "3" }],
    ["{a} (of {b})?", "1.5 (of 2)?", { a: "1.5", b: "2" }],
    ["cut", "cut", {}],
    ["cut", "other", null],
  ])("%s of %s", (text, filled, found) => expect(readFill(text, filled)).toEqual(found));

  it("lets the server's English be told in Chinese", () => {
    const problems = [
      { kind: "lost", said: "not in the translation: 7, 8", part: 0 },
      { kind: "new", said: "of another version", part: 0 },
    ];
    expect(tell(problems)).toBe("not in the translation: 7, 8; of another version");
    here.language = "zh";
    expect(tell(problems)).toBe("译文中缺少：7, 8；of another version");
  });
});
