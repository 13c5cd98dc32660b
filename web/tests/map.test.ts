import { describe, expect, it } from "vitest";
import type { Op } from "../src/data/document";
import { chainOf, depthOf, listAbove, makeTree, rankChildren, roleOf } from "../src/views/map/tree";
import { bend, shareLanes, type Box } from "../src/views/map/bend";
import { limitOf, shrink } from "../src/views/map/shrink";
import { shiftLayer, Timeline } from "../src/views/map/timeline";

/** A graph of one layer each, with the names and letters of the real one. */
function op(name: string, dims: string[], reads: string[] = [], more: Partial<Op> = {}): Op {
  return {
    name,
    kind: "window",
    axes: dims.map((dim) => ({ letter: dim[0]!, dim, size: 3 })),
    equation: reads.map((each) => `${each}[q]`).join(" + ") || null,
    sizes: {},
    module: "",
    derived: false,
    ...more,
  };
}
const OPS = [
  op("source.ids", ["source"], [], { kind: "input" }),
  op("source_embedding.sum", ["source", "d_model"], ["source.ids"]),
  op("encoder.0.self_attention.query", ["head", "source", "width"], ["source_embedding.sum"]),
  op("encoder.0.self_attention.output", ["source", "d_model"], ["encoder.0.self_attention.query"]),
  op(
    "encoder.0.self_attention_residual.sum",
    ["source", "d_model"],
    ["source_embedding.sum", "encoder.0.self_attention.output"],
  ),
  op("memory", ["source", "d_model"], ["encoder.0.self_attention_residual.sum"]),
  op("target_embedding.sum", ["target", "d_model"]),
  op("decoder.0.cross_attention.query", ["head", "target", "width"], ["target_embedding.sum"]),
  op("decoder.0.cross_attention.key", ["head", "source", "width"], ["memory"]),
  op("decoder.0.cross_attention.mean", ["target"], [], { kind: "derived", derived: true }),
  op("last", ["target", "d_model"], ["decoder.0.cross_attention.query"]),
  op("logits", ["target", "vocabulary"], ["last"]),
  op("probabilities", ["target", "vocabulary"], ["logits"], { derived: true }),
];
const side = (_name: string, dim: string) =>
  dim === "source" || dim === "target" ? (dim as "source" | "target") : null;

describe("boxes within boxes", () => {
  const tree = makeTree(OPS);

  it("lead from the black box to an operation", () => {
    expect(chainOf("decoder.2.cross_attention.weights")).toEqual([
      "",
      "model",
      "decoder",
      "decoder.2",
      "decoder.2.cross_attention",
      "decoder.2.cross_attention.weights",
    ]);
    expect(chainOf("encoder.0.feed_forward_residual.sum").at(-2)).toBe("encoder.0");
    expect(listAbove(tree, "memory")).toEqual(["", "model", "encoder", "memory"]);
    expect(depthOf(tree, "")).toBe(0);
    expect(tree.get("model")!.children).toEqual(["encoder", "decoder", "output"]);
  });

  it("are shown by what comes out of them, and know what they read", () => {
    expect(tree.get("encoder")!.shows).toBe("memory");
    expect(tree.get("encoder.0.self_attention")!.shows).toBe("encoder.0.self_attention.output");
    expect(tree.get("output")!.shows).toBe("probabilities");
    expect(tree.get("decoder")!.reads).toEqual(["memory"]);
    expect(tree.get("encoder.0")!.reads).toEqual(["source_embedding.sum"]);
  });

  it("leave out what is read off beside the way", () => {
    expect(tree.has("decoder.0.cross_attention.mean")).toBe(false);
  });

  it("stand in the order in which they are made", () => {
    const { rows, edges } = rankChildren(tree, "encoder.0");
    expect(rows).toEqual([["encoder.0.self_attention"], ["encoder.0.self_attention_residual.sum"]]);
    expect(edges).toEqual([["encoder.0.self_attention", "encoder.0.self_attention_residual.sum"]]);
    expect(roleOf("encoder.0.self_attention_residual.sum")).toBe("residual");
    expect(roleOf("source_embedding.sum")).toBe("sum");
  });
});

describe("the scrubber", () => {
  const line = new Timeline(OPS, side, 3);
  const once = 7; // of the encoder; keys of the memory among them

  it("has the encoder once and the decoder once a step", () => {
    expect(line.length).toBe(once + 3 * 5);
    expect(line.at(once - 1)).toEqual({ step: -1, op: "decoder.0.cross_attention.key" });
    expect(line.at(once)).toEqual({ step: 0, op: "target_embedding.sum" });
    for (let n = 0; n < line.length; n++) expect(line.find(line.at(n))).toBe(n);
    expect(line.at(99).op).toBe("probabilities");
    expect(line.find({ step: 99, op: "logits" })).toBe(line.find({ step: 2, op: "logits" })); // there is no later step
  });

  it("moves by the boxes that one sees", () => {
    expect(line.move(0, 1, 1)).toBe(line.find({ step: -1, op: "decoder.0.cross_attention.key" })); // encoder done
    expect(line.move(once, 1, 0)).toBe(line.begin(1)); // a whole step of the black box
    expect(line.move(0, 1, 9)).toBe(1); // op by op
    expect(line.move(line.begin(2), -1, 0)).toBe(line.begin(1));
    expect(line.move(line.length - 1, 1, 0)).toBe(line.length - 1);
  });

  it("goes up a layer where there is one", () => {
    const has = (name: string) => name.startsWith("encoder.1");
    expect(shiftLayer("encoder.0.self_attention.query", 1, has)).toBe(
      "encoder.1.self_attention.query",
    );
    expect(shiftLayer("encoder.1.self_attention.query", 1, has)).toBe(
      "encoder.1.self_attention.query",
    );
  });
});

describe("thumbnails", () => {
  it("keep the number farthest from 0", () => {
    const data = new Float32Array(200 * 300);
    data[57 * 300 + 120] = -5;
    data[57 * 300 + 121] = 2;
    const small = shrink({ shape: [200, 300], data });
    expect([small.rows, small.columns]).toEqual([48, 96]);
    expect(Math.min(...small.data)).toBe(-5);
    expect(limitOf(small.data)).toBe(5);
  });

  it("put heads side by side, with a gap", () => {
    const small = shrink({ shape: [2, 1, 2], data: Float32Array.of(1, 2, 3, 4) });
    expect([...small.data]).toEqual([1, 2, Number.NaN, 3, 4]);
  });

  it("tell hidden scores from none", () => {
    expect(limitOf(Float32Array.of(-Infinity, 0))).toBe(1);
  });
});

describe("a line between two boxes", () => {
  const box = (left: number, top: number): Box => ({ left, right: left + 100, top, bottom: top + 40 });

  it("goes straight up where nothing is in its way", () => {
    expect(bend(box(0, 200), box(0, 100), [], 0)).toBe("M50 200C50 170 50 170 50 143");
  });

  it("goes around what stands between, on the side where it begins", () => {
    const between = box(0, 100);
    expect(bend(box(0, 200), box(0, 0), [between], 0)).toContain("V30Q-18 20");
    expect(bend(box(60, 200), box(0, 0), [between], 1)).toContain("V30Q187 20");
  });

  it("gives all lines of one box one lane", () => {
    expect(shareLanes([["a", "c"], ["b", "c"], ["a", "d"]])).toEqual([0, 1, 0]);
  });
});
