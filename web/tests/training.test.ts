import { describe, expect, it } from "vitest";
import {
  aim,
  append,
  curveOf,
  entropies,
  keysOf,
  open,
  readRows,
  spread,
  TOY,
  type Line,
} from "../src/views/training/run";

const watched = {
  source: "s",
  reference: "b a",
  source_tokens: [],
  reference_tokens: ["b", "a", "</s>"],
  reference_ids: [4, 3, 2],
};

describe("a training that was watched", () => {
  it("cuts the columns of a reference out of whole distributions", () => {
    const row = (...share: number[]) => share.map(Math.log);
    const data = Float32Array.from([
      ...row(0.1, 0.2, 0.3, 0.15, 0.25),
      ...row(0.2, 0.2, 0.2, 0.2, 0.2),
      ...row(0, 0, 1, 0, 0),
    ]);
    const rows = spread(watched, [4, 3, 2], ["b", "a", "</s>"], { whole: { shape: [3, 5], data } });
    expect([...rows.data.slice(0, 3)]).toEqual([
      expect.closeTo(0.25),
      expect.closeTo(0.15),
      expect.closeTo(0.3),
    ]);
    expect(rows.sums.map((sum) => sum!.toFixed(6))).toEqual(["1.000000", "1.000000", "1.000000"]);
    expect(rows.wanted).toEqual([0, 1, 2]);
    expect(rows.losses).toEqual([
      expect.closeTo(Math.log(4)),
      expect.closeTo(Math.log(5)),
      expect.closeTo(0),
    ]);
    const narrow = spread(watched, [4], ["b"], { whole: { shape: [3, 5], data } });
    expect([narrow.wanted, narrow.losses]).toEqual([[0, -1, -1], rows.losses]); // of tokens without a column too
  });

  it("leaves open what was not kept, but for the right token", () => {
    const top = { shape: [3, 1], data: Float32Array.of(3, 9, 2) };
    const logs = { shape: [3, 1], data: Float32Array.of(-1, -2, -0.5) };
    const own = { shape: [3], data: Float32Array.of(-3, -4, -0.5) };
    const { data, sums, losses } = spread(watched, [4, 3, 2], ["b", "a", "</s>"], { top, logs, own });
    expect([...data]).toEqual([
      expect.closeTo(Math.exp(-3)),
      expect.closeTo(Math.exp(-1)),
      Number.NaN,
      Number.NaN,
      expect.closeTo(Math.exp(-4)),
      Number.NaN,
      Number.NaN,
      Number.NaN,
      expect.closeTo(Math.exp(-0.5)),
    ]);
    expect(sums).toEqual([null, null, null]);
    expect(losses).toEqual([3, 4, 0.5]);
    expect(spread(watched, [4], ["b"], { top, logs, own }).losses).toEqual(losses);
  });

  it("aims at the right token, smoothed over the vocabulary", () => {
    const rows = { columns: ["x", "y"], wanted: [1], data: new Float32Array(2), sums: [], losses: [] };
    expect([...aim(rows, 0.1, 2)]).toEqual([expect.closeTo(0.05), expect.closeTo(0.95)]);
    expect([...aim(rows, 0, 2)]).toEqual([0, 1]);
  });

  it("tells sharp heads from soft ones", () => {
    const weights = { shape: [2, 1, 4], data: Float32Array.of(0.25, 0.25, 0.25, 0.25, 1, 0, 0, 0) };
    expect(entropies(weights)).toEqual([expect.closeTo(Math.log(4)), 0]);
  });

  it("draws each update once, in order", () => {
    const lines = [
      { step: 2, loss: 1 },
      { step: 1, loss: 3 },
      { step: 2, loss: 1 },
      { step: 3, loss: null },
      { step: 3, bleu: 9 },
    ] as Line[];
    expect(curveOf(lines, "loss")).toEqual([
      [1, 3],
      [2, 1],
    ]);
    expect(keysOf(lines)).toEqual(["loss", "bleu"]);
  });
});

describe("a training that is followed", () => {
  it("adds a second line of an update, none twice, and drops what the training took back", () => {
    const [loss, valid, later] = [{ step: 20, loss: 3 }, { step: 20, bleu: 9 }, { step: 40, loss: 2 }] as Line[];
    const lines = append(append([loss!], valid!), later!);
    expect(lines).toEqual([loss, valid, later]);
    expect(append(lines, { ...valid! })).toBe(lines);
    const back = { step: 20, diverged: 1 } as Line;
    expect(append(lines, back)).toEqual([loss, valid, back]);
  });

  it("puts a snapshot in the place of an older one of its update", () => {
    const [first, second, other] = [["a"], ["b"], ["c"]].map((translations, n) => ({ step: Math.min(n, 1), translations }));
    expect(append([first!, second!], other!, 1)).toEqual([first, other]);
    const snapshots = [first!, second!];
    expect(append(snapshots, { ...second! }, 1)).toBe(snapshots);
  });
});

describe("the toy", () => {
  it("learns: its rows sum to 1, the loss falls, and in the end it is right", async () => {
    const told = await open(TOY);
    const mean = async (step: number) => {
      const { losses: found } = await readRows(TOY, told, step, 1);
      return found.reduce((a, b) => a + b) / found.length;
    };
    const last = told.snapshots.at(-1)!;
    expect(await mean(last.step)).toBeLessThan((await mean(0)) / 10);
    expect(last.translations).toEqual(told.sentences.map((each) => each.reference));
    const { sums } = await readRows(TOY, told, last.step, 1);
    for (const sum of sums) expect(sum).toBeCloseTo(1, 4);
  });
});
