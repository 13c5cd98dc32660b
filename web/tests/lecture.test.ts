import { expect, it } from "vitest";
import type { Token } from "../src/data/document";
import type { Answer } from "../src/engine/engine";
import { ask, type Shown } from "../src/lecture/cards";
import { axis, op, tensor, toy } from "./toy";

/** What the card on attention asks of these tokens; each reads the first most, then the second. */
async function look(...texts: string[]) {
  const many = texts.length;
  const row = texts.map((_, key) => (key < 2 ? 0.6 - 0.2 * key : 0));
  const name = "encoder.0.self_attention.weights";
  const trace = toy([op(name, [axis("h", 1), axis("s", many), axis("m", many)], null, { kind: "window" })], {
    [name]: tensor([1, many, many], ...texts.flatMap(() => row)),
  });
  const source = texts.map((text, id): Token => ({ text, id, start: id, end: id + 1 }));
  Object.assign(trace, { source });
  const shown: Shown = { trace, answer: {} as Answer, focus: 0, parameters: 1 };
  const { look: found } = await ask("attention", shown);
  return [found!.row, found!.shares.length];
}

it("the card on attention shows a token that stands for letters", async () => {
  expect(await look("<0xE4>", "…", " a", " b", "</s>")).toEqual([2, 5]);
});

it("and any other where none has a letter", async () => {
  expect(await look("19", "84", "</s>")).toEqual([1, 3]);
});
