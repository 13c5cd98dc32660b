import { describe as group, expect, it } from "vitest";
import { align, angle, countKept, subtract } from "../src/views/whatif/aligned";
import { describe, drawShare, readEdits, toggleHead, toggleWithout, writeEdits } from "../src/views/whatif/edits";
import { Changes, type About } from "../src/engine/changes";
import type { Edit } from "../src/engine/edits";
import { axis, op, tensor } from "./toy";

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

group("a row of a tensor", () => {
  const weights = op("decoder.0.self_attention.weights", [axis("h", 2, "head"), axis("q", -2, "query"), axis("m", -2, "key")], "x");
  const sum = op("memory", [axis("q", -1, "query"), axis("d", 2, "d_model")], "x");
  const about = {
    ops: [weights, sum], source: [1, 2], text: "", settings: { encoder_layers: 1, decoder_layers: 1, heads: 2, positions: { max_positions: 9 } },
    borrow: () => Float32Array.of(0.5, 0.5, 0.25, 0.75), // of two keys
  } as unknown as About;
  const row = { do: "row", name: weights.name, position: 1 } as const;
  const change = (edit: Edit, keys: number) => {
    const held = tensor([2, 2, keys], ...new Array<number>(4 * keys).fill(9));
    for (const each of new Changes(about, [edit]).edits.get(weights.name)!) each(held, 0, () => held);
    return [...held.data];
  };

  it("has 0 for the keys of a longer sentence, and leaves out those that a shorter one has not", () => {
    const painted: Edit = { ...row, head: 1, values: [0.2, 0.8] };
    expect(change(painted, 3)).toEqual([9, 9, 9, 9, 9, 9, 9, 9, 9, ...Float32Array.of(0.2, 0.8, 0)]);
    expect(change(painted, 1)).toEqual([9, 9, 9, ...Float32Array.of(0.2)]);
    const swapped: Edit = { do: "swap", name: weights.name, position: 1, sentence: "s", other: 0 };
    expect(change(swapped, 3)).toEqual([9, 9, 9, 0.5, 0.5, 0, 9, 9, 9, 0.25, 0.75, 0]);
    expect(change(swapped, 1)).toEqual([9, 0.5, 9, 0.25]);
    expect(change({ ...row, factor: 2 }, 1)).toEqual([9, 18, 9, 18]);
  });

  it("has as many values as the others", () => {
    const edit: Edit = { do: "row", name: "memory", position: 0, values: [1] };
    expect(() => new Changes(about, [edit])).toThrow("edit 1: memory has 2 values a position, not 1");
    expect(() => new Changes(about, [row])).toThrow("edit 1: give either values or a factor");
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
