/** Words of a text that is written without spaces, as a browser cuts it. */

import { describe, expect, it } from "vitest";
import { readWords } from "../src/engine/answer";

function tokensOf(parts: string[]) {
  let end = 0;
  return parts.map((text, id) => {
    const start = end;
    end += Array.from(text).length;
    return { text, id, start, end };
  });
}

const spell = (parts: string[]) => readWords(tokensOf(parts), parts.join("")).map((group) => group.map((place) => parts[place]).join(""));

describe("words", () => {
  it("are those of the language, whatever the tokens", () => {
    expect(spell(["这", "只", "动", "物", "没有", "过", "马路", "。"])).toEqual(["这", "只", "动物", "没有", "过", "马路", "。"]);
  });
  it("never part a token", () => {
    expect(spell(["动物没", "有", "。"])).toEqual(["动物没有", "。"]);
  });
  it("count characters, not halves of them", () => {
    expect(spell(["𠮷", "动", "物"])).toEqual(["𠮷", "动物"]);
  });
  it("stay as they are where there are spaces", () => {
    expect(spell(["The", " an", "imal", " did", "n't", "."])).toEqual(["The", " animal", " didn't", "."]);
  });
});
