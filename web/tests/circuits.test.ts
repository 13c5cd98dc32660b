/** Circuits here against Python's: see tests/web/test_circuits.py, which writes what is read here. */

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ModelSettings } from "../src/data/document";
import { readSafetensors } from "../src/data/tensor";
import { ask, readMean, search, type Circuit } from "../src/engine/circuits";
import { average, findObstacle, Graph, SIDES, type Contrast, type Embedded } from "../src/engine/circuits/graph";
import { Faithfulness, findCircuit } from "../src/engine/circuits/search";
import { openModel } from "../src/engine/model";
import { record } from "../src/engine/recording";

const folder = process.env["CIRCUITS"] ?? "";
const isTold = existsSync(`${folder}/told.json`);
const bytes = (name: string) => Uint8Array.from(readFileSync(`${folder}/${name}`)).buffer;

type Rows = Record<"source" | "target", [number[][], number[][]]>;
interface Drawn {
  edges: number[];
  kept: number;
  without: number;
  slopes: number[];
}
interface Measured {
  whole: number;
  nothing: number;
  gains: number[];
  drawn: Drawn[];
  circuit: number[] | null;
}
interface Small {
  settings: ModelSettings;
  contrast: Contrast;
  here: Rows;
  there: Rows;
  others: (Contrast & { embedded: Rows })[];
  foretold: number;
  by: Record<"block" | "head", { names: string[]; measured: Record<"counterpart" | "mean", Measured> }>;
}
type Answer = Omit<Circuit, "word" | "rival">;
interface Asked {
  text: string;
  request: { step: number; rival: null; counterpart: string | null };
  answer: Answer;
}

const told = (isTold ? JSON.parse(readFileSync(`${folder}/told.json`, "utf8")) : { networks: {}, asked: [] }) as {
  networks: Record<string, Small>;
  asked: Asked[];
};

function finish<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const next = steps.next();
    if (next.done) return next.value;
  }
}

const embed = (rows: Rows) =>
  Object.fromEntries(SIDES.map((side) => [side, rows[side].map((each) => each.map((row) => Float64Array.from(row)))])) as unknown as Embedded;

/** The largest difference, beside the largest number. */
const apart = (found: ArrayLike<number>, wanted: number[]) =>
  Math.max(...wanted.map((each, n) => Math.abs(found[n]! - each))) / Math.max(1, ...wanted.map(Math.abs));

describe.skipIf(!isTold)("circuits in the browser", { timeout: 300_000 }, () => {
  const cases = Object.keys(told.networks).flatMap((name) => (["block", "head"] as const).map((by) => [name, by] as const));

  it.each(cases)("the edges of a small network are Python's: %s, by %s", (name, by) => {
    const wanted = told.networks[name]!;
    const { names, measured } = wanted.by[by];
    expect(findObstacle(wanted.settings)).toBeNull();
    const weights = readSafetensors(bytes(`${name}.safetensors`));
    const make = (contrast: Contrast, here: Rows, there: ConstructorParameters<typeof Graph>[4]) => new Graph(wanted.settings, weights, contrast, embed(here), there, by === "head");
    const graph = make(wanted.contrast, wanted.here, embed(wanted.there));
    const found = graph.edges.map(({ node, site, place }) => [graph.nodes[node], graph.sites[site]!.name, graph.sites[site]!.side, place].join("|"));
    expect(found).toEqual(names);
    expect(apart([graph.foretell()], [wanted.foretold])).toBeLessThan(1e-6);
    compare(graph, measured.counterpart);
    const mean = average(wanted.others.map(({ embedded, ...contrast }) => make(contrast, embedded, embed(embedded)).written));
    compare(make(wanted.contrast, wanted.here, mean), measured.mean);
  });

  function compare(graph: Graph, wanted: Measured): void {
    const own = new Faithfulness(graph);
    expect(apart([own.whole, graph.nothing], [wanted.whole, wanted.nothing])).toBeLessThan(1e-6);
    expect(apart(finish(own.integrate()), wanted.gains)).toBeLessThan(1e-6);
    for (const { edges, kept, without, slopes } of wanted.drawn) {
      const all = own.edges(edges);
      expect(apart([own.measure(edges)], [kept])).toBeLessThan(1e-6);
      expect(apart([own.share(graph.run(all, new Float64Array(edges.length), 1))], [without])).toBeLessThan(1e-6);
      expect(apart(own.differentiate(edges), slopes)).toBeLessThan(1e-6);
      const [like, each] = [own.pass(edges), finish(own.measureEach(edges.slice(0, 3)))];
      expect(own.drop(edges, 2, like)).toBeCloseTo(own.measure(edges.slice(2)), 9);
      expect(each[1]).toBeCloseTo(own.measure([edges[0]!, edges[2]!]), 9);
    }
    const circuit = own.span > 0 ? finish(findCircuit(own)) : null;
    expect(circuit?.toSorted((a, b) => a - b) ?? null).toEqual(wanted.circuit);
  }

  it.each(told.asked.map((each) => [each.text, each.request.counterpart ?? "the mean", each] as const))("finds what Python finds: %s, against %s", (text, _, { request, answer }) => {
    const opened = openModel(bytes("model"));
    const recorded = finish(record(opened, { text }, ""));
    const mean = request.counterpart === null ? finish(readMean(opened)) : null;
    const asked = ask(recorded, request, mean);
    if ("refused" in asked) throw new Error(asked.refused);
    expect(asked.contrast.answers).toEqual(answer.answers);
    const own = finish(search(recorded, asked));
    expect(own.layers).toEqual(answer.layers);
    expect(apart([own.lead, own.there, own.foretold ?? 0], [answer.lead, answer.there, answer.foretold ?? 0])).toBeLessThan(1e-4);
    expect([own.foretold === null, own.mean_of]).toEqual([request.counterpart === null, answer.mean_of]);
    const [mine, theirs] = [own.found, answer.found];
    expect(mine?.numbers.toSorted((a, b) => a - b)).toEqual(theirs?.numbers.toSorted((a, b) => a - b));
    if (!mine || !theirs) return;
    expect(mine.of).toBe(theirs.of);
    expect(apart([mine.kept, mine.without, mine.dearest], [theirs.kept, theirs.without, theirs.dearest])).toBeLessThan(1e-4);
    const losses = new Map(mine.numbers.map((number, n) => [number, mine.losses[n]!]));
    expect(apart(theirs.numbers.map((number) => losses.get(number)!), theirs.losses)).toBeLessThan(1e-4);
    expect(mine.random).toHaveLength(20);
    expect(mine.connected).toHaveLength(20);
    expect(Math.max(...mine.random, ...mine.connected)).toBeLessThan(0.2);
  });

  it("refuses what has no such edges, and what cannot be compared", () => {
    const opened = openModel(bytes("model"));
    const recorded = finish(record(opened, { text: "The cat bites the dog." }, ""));
    const refused = (counterpart: string | null) => ask(recorded, { step: 1, rival: null, counterpart });
    expect(refused("The cat bites the dog.")).toEqual({ refused: "same", numbers: [] });
    expect(refused(null)).toEqual({ refused: "alone", numbers: [] });
    expect(refused("The cat bites.")).toEqual({ refused: "longer", numbers: [expect.any(Number), expect.any(Number)] });
    const { settings } = recorded.document;
    expect(findObstacle({ ...settings, network: "rnn" })).toBe("recurrent");
    expect(findObstacle({ ...settings, activation: "gelu" })).toBe("unknown");
  });
});
