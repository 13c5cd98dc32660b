import { expect, it } from "vitest";
import { takeLate } from "../src/late";

const settled = () => new Promise((resolve) => setTimeout(resolve));

it("hands over what comes, and what goes wrong", async () => {
  const told: unknown[] = [];
  takeLate(Promise.resolve(1), (found) => told.push(found));
  takeLate(Promise.reject("no"), (found) => told.push(found), (error) => told.push(error));
  takeLate(Promise.reject("unheard"), (found) => told.push(found));
  await settled();
  expect(told).toEqual([1, "no"]);
});

it("hands over nothing once its effect is gone", async () => {
  const told: unknown[] = [];
  takeLate(Promise.resolve(1), (found) => told.push(found))();
  takeLate(Promise.reject("no"), () => {}, (error) => told.push(error))();
  await settled();
  expect(told).toEqual([]);
});
