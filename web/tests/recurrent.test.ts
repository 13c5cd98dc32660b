/** A recurrent unit in the browser's network: against a loop over numbers, in whatever steps it is read. */

import { describe, expect, it } from "vitest";
import type { Axis, Op } from "../src/data/document";
import { Network, type Edits } from "../src/engine/network";
import { axis, op, tensor } from "./toy";

const [D, V] = [2, 4];
const q: Axis = axis("q", -2, "target");
const d = axis("d", D);
const OPS: Op[] = [
  op("target.ids", [q], null),
  op("x", [q, d], "table[target.ids[q],d]"),
  op("forget", [q, d], "sigmoid(sum[i] x[q,i] w_f[d,i] + b_f[d])"),
  op("candidate", [q, d], "sum[i] x[q,i] w[d,i]"),
  op("before", [q, d], "where(q == 0, 0, cell[max(q - 1, 0),d])"),
  op("cell", [q, d], "forget[q,d] before[q,d] + (1 - forget[q,d]) candidate[q,d]"),
  op("output", [q, d], "max(0, cell[q,d])"),
  op("logits", [q, axis("v", V)], "sum[i] output[q,i] output_table.weight[v,i]"),
];
const WEIGHTS = {
  table: tensor([V, D], 0.3, -1, 0.8, 0.4, -0.7, 1.2, 0.5, 0.9),
  w_f: tensor([D, D], 0.2, -0.4, 1.1, 0.6),
  b_f: tensor([D], 0.1, -0.3),
  w: tensor([D, D], 0.9, 0.2, -0.5, 1.3),
  "output_table.weight": tensor([V, D], 1, 0.5, -0.2, 0.7, 0.3, -1, 0.6, 0.1),
};
const PARAMETERS = Object.keys(WEIGHTS).map((name) => op(name, [], null, { kind: "parameter" }));
const network = new Network([...PARAMETERS, ...OPS], new Map(Object.entries(WEIGHTS)));
const at = (name: keyof typeof WEIGHTS, row: number, column: number) => WEIGHTS[name].data[row * D + column]!;

/** The logits of all tokens, one number after the other; `factor` on each cell that is kept. */
function loop(ids: number[], factor = 1): number[] {
  let cell = [0, 0];
  return ids.flatMap((id) => {
    cell = cell.map((old, n) => {
      let [gate, candidate] = [WEIGHTS.b_f.data[n]!, 0];
      for (let i = 0; i < D; i++) {
        gate += at("table", id, i) * at("w_f", n, i);
        candidate += at("table", id, i) * at("w", n, i);
      }
      const forget = 1 / (1 + Math.exp(-gate));
      return factor * (forget * old + (1 - forget) * candidate);
    });
    return Array.from({ length: V }, (_, v) =>
      cell.reduce((sum, each, i) => sum + Math.max(0, each) * at("output_table.weight", v, i), 0));
  });
}

const close = (found: ArrayLike<number>, wanted: number[]) => {
  expect(found.length).toBe(wanted.length);
  wanted.forEach((each, n) => expect(found[n]).toBeCloseTo(each, 5));
};

describe("a recurrent decoder", () => {
  it("is the loop, all tokens at once", () => {
    close(network.pass([1], [1, 3, 0, 2, 2]).tensors.get("logits")!.data, loop([1, 3, 0, 2, 2]));
  });

  it("is the loop, some tokens after others, in rows that change places", () => {
    const state = network.start([1]);
    close(network.step([[1, 3]], state), loop([1, 3]));
    network.keep([0, 0], state);
    close(network.step([[0], [2]], state), [...loop([1, 3, 0]).slice(-V), ...loop([1, 3, 2]).slice(-V)]);
    network.keep([1, 0], state);
    const found = network.step([[3, 1], [2, 2]], state);
    close(found, [...loop([1, 3, 2, 3, 1]).slice(-2 * V), ...loop([1, 3, 0, 2, 2]).slice(-2 * V)]);
  });

  it("goes on from an edited cell", () => {
    const halve: Edits = {
      edits: new Map([["cell", [({ data }) => data.forEach((x, n) => (data[n] = x / 2))]]]), isCacheable: true,
    };
    const state = network.start([1], halve);
    close(network.step([[1]], state), loop([1], 0.5));
    close(network.step([[3, 2]], state), loop([1, 3, 2], 0.5).slice(-2 * V));
  });
});
