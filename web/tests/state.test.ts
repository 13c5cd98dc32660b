import { describe, expect, it } from "vitest";
import { readEvent } from "../src/data/server";
import { readHash, writeHash } from "../src/state.svelte";

describe("an address", () => {
  it("keeps everything that differs from the start, and nothing else", () => {
    expect(writeHash(readHash(""))).toBe("#/first");
    const hash =
      "#/attention?text=%E6%88%91+%3D+%26&beam=4&kind=encoder&layer=2&cell=memory%5B3%2C0%5D&words=1&map.zoom=2";
    expect(writeHash(readHash(hash))).toBe(hash);
    expect(readHash(hash)).toMatchObject({
      view: "attention", text: "我 = &", layer: 2, words: true, cell: "memory[3,0]", more: { "map.zoom": "2" },
    });
  });

  it("that says nonsense is read as far as it makes sense", () => {
    const found = readHash("#/?layer=much&kind=sideways&language=xx&theme=pink&words=yes&__proto__=1");
    expect(found).toMatchObject({
      view: "first", layer: -1, kind: "cross", language: "en", theme: "auto", words: false,
    });
  });
});

it("server-sent events are read line by line", () => {
  expect(readEvent('event: done\ndata: {"id": "x",\ndata: "n": 1}')).toEqual({
    event: "done", data: { id: "x", n: 1 },
  });
  expect(readEvent(": still here")).toBeNull();
});
