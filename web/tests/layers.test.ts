import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ENGINE = join(import.meta.dirname, "../src/engine");

test("the engine takes nothing from a view, so that a worker needs none", () => {
  const files = readdirSync(ENGINE).filter((name) => name.endsWith(".ts"));
  const taken = files.flatMap((name) =>
    [...readFileSync(join(ENGINE, name), "utf8").matchAll(/from "(\.\.\/[^"]+)"/g)].map((match) => match[1]),
  );
  expect(taken).toContain("../data/trace");
  expect(taken.filter((path) => /\/(views|first|shell|story|lecture|puzzles|doors)\//.test(path))).toEqual([]);
});
