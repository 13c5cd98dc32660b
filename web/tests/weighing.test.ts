import { expect, it } from "vitest";
import { toggleLayer } from "../src/views/whatif/edits";
import { rank, reach } from "../src/views/whatif/weighing";
import type { Weighed } from "../src/engine/weighing";

const found: Weighed = {
  step: 0, token: { id: 5, text: "il" }, rival: { id: 6, text: "elle" }, lead: 2,
  leads: { "encoder.0.self_attention": [2.5, 0.5], "decoder.0.cross_attention": [-1, 2] },
};

it("names the heads that a word hangs on, the most needed first", () => {
  const open = rank(found, 5, () => false);
  expect(open.map(({ block, head, pull }) => [block, head, pull])).toEqual([
    ["decoder.0.cross_attention", 0, 3],
    ["encoder.0.self_attention", 1, 1.5],
  ]);
  expect(rank(found, 5, (block) => block.startsWith("decoder"))).toHaveLength(1);
  expect(rank(found, 1, () => false)).toHaveLength(1);
  expect(reach(found)).toBe(3);
});

it("silences a whole layer, and lets it speak again", () => {
  const one = toggleLayer([{ do: "mean", name: "a", head: 1 }], "silence", "a", 2);
  expect(one).toEqual([
    { do: "silence", name: "a", head: 0 },
    { do: "silence", name: "a", head: 1 },
  ]);
  expect(toggleLayer(one, "silence", "a", 2)).toEqual([]);
});
