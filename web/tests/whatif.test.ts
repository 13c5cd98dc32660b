import { describe as group, expect, it } from "vitest";
import { align, angle, countKept, subtract } from "../src/views/whatif/aligned";
import { describe, drawShare, readEdits, toggleHead, toggleWithout, writeEdits } from "../src/views/whatif/edits";
import type { Edit } from "../src/engine/edits";

group("edits", () => {
  const head: Edit = { do: "silence", name: "encoder.0.self_attention", head: 2 };

  it("are read as the command line reads them", () => {
    expect(readEdits("")).toEqual([]);
    expect(readEdits(writeEdits([head]))).toEqual([head]);
    expect(readEdits(JSON.stringify({ edits: [head] }))).toEqual([head]);
    expect(() => readEdits("[{}]")).toThrow('edit 1: "do" is one of silence');
    expect(() => readEdits("{")).toThrow("no JSON");
    expect(() => readEdits("3")).toThrow("a list of edits");
  });

  it("are put on and taken off again", () => {
    const one = toggleHead([], "silence", "memory", 1);
    expect(toggleHead(one, "silence", "memory", 1)).toEqual([]);
    expect(toggleHead(one, "mean", "memory", 1)).toEqual([{ do: "mean", name: "memory", head: 1 }]);
    expect(toggleWithout(toggleWithout([head], "mask"), "mask")).toEqual([head]);
    const partly: Edit = { do: "without", what: "mask", name: "decoder.0" };
    expect(toggleWithout([partly], "mask")).toEqual([partly, { do: "without", what: "mask" }]);
    expect(describe(head)).toBe("silence encoder.0.self_attention head 2");
  });

  it("a painted row still sums to 1, the others in proportion", () => {
    expect(drawShare([0.5, 0.25, 0.25], 0, 0.8)).toEqual([
      0.8,
      expect.closeTo(0.1),
      expect.closeTo(0.1),
    ]);
    expect(drawShare([1, 0, 0], 0, 0.4)).toEqual([0.4, 0.3, 0.3]);
    expect(drawShare([1], 0, 0.4)).toEqual([1]);
  });
});

group("two sentences", () => {
  it("face each other token by token", () => {
    expect(align(["a", "b", "c"], ["a", "x", "c"])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]); // b stands where x does
    expect(align(["a", "b"], ["a", "x", "y", "b"])).toEqual([
      [0, 0],
      [1, 3],
    ]); // x, y face nothing
    expect(align([], ["a"])).toEqual([]);
    expect(align(["the", "a", "the"], ["the"])).toEqual([[0, 0]]);
  });

  it("count the words that are left, in their order", () => {
    expect(countKept("Le chat noir.", "Le chien noir")).toEqual({ kept: 2, all: 3 });
    expect(countKept("a b", "b a").kept).toBe(1);
  });

  it("are subtracted where they face each other", () => {
    const one = { shape: [2, 2, 2], data: Float32Array.of(0, 0, 0, 0, 1, 2, 3, 4) };
    const other = { shape: [2, 1, 3], data: Float32Array.of(0, 0, 0, 10, 20, 30) };
    const found = subtract(
      one,
      other,
      [
        [],
        [[1, 0]],
        [
          [0, 0],
          [1, 2],
        ],
      ],
      [1],
    );
    expect([...found.matrix.data]).toEqual([10 - 3, 30 - 4]);
    expect([found.first(0, 1), found.second(0, 1), found.matrix.largest]).toEqual([4, 30, 26]);
  });

  it("two masked scores differ by nothing", () => {
    const masked = { shape: [1, 1], data: Float32Array.of(-Infinity) };
    expect(subtract(masked, masked, [[[0, 0]], [[0, 0]]], []).matrix.data[0]).toBe(0);
  });

  it("have angles", () => {
    const [one, other] = [
      { shape: [1, 2], data: Float32Array.of(1, 0) },
      { shape: [2, 2], data: Float32Array.of(0, 1, 3, 3) },
    ];
    expect(angle(one, 0, other, 0)).toBeCloseTo(90);
    expect(angle(one, 0, other, 1)).toBeCloseTo(45);
    expect(angle(one, 0, one, 0)).toBe(0);
  });
});
