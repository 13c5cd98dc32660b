import { expect, test } from "vitest";
import { isNoDay, nameOfDay } from "../src/puzzles/random";
import { readName } from "../src/puzzles/results";

test("a day that the calendar lacks is none, and a class may have any name", () => {
  expect(["2026-13-45", "2026-02-29", "2026-00-10", "2026-04-31"].filter((each) => !isNoDay(each))).toEqual([]);
  expect(["2028-02-29", "2026-12-31", "7b", "2026-1-99", nameOfDay()].filter(isNoDay)).toEqual([]);
});

test("an address may name any set", () => {
  expect(["puzzles", "puzzles/100%", "puzzles/7%20b"].map(readName)).toEqual(["", "100%", "7 b"]);
});
