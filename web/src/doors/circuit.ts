/** Where the parts of a circuit stand, and how its edges run: floors over words, an answer on top. */

import type { Circuit } from "../engine/circuits";
import type { Side } from "../engine/circuits/graph";
import { countLetters } from "../format";

export interface Spot {
  side: Side;
  position: number;
  layer: number; // -1: below or above all layers
  kind: string; // of a sub-layer; or token, or answer
  head?: string; // of a circuit by head
  reads?: string; // what of the head reads: query, key or value
}

/** A head of a circuit by head, and the edges that it reads or writes. */
export interface Head {
  side: Side;
  layer: number;
  kind: string;
  head: string;
  loss: number; // without each edge that it writes, summed
  numbers: number[];
}

/** Edges between two places, as one line. */
export interface Line {
  start: Spot;
  end: Spot;
  loss: number;
  numbers: number[]; // of the edges
}

interface Box {
  x: number; // its middle
  y: number;
}

export interface Lane {
  side: Side;
  position: number; // the first, where several are hidden
  x: number; // its middle
  width: number;
  text: string;
  isUsed: boolean;
}

export interface Plan {
  width: number;
  height: number;
  floor: number; // where the words begin
  layers: Record<Side, number>;
  ends: Record<Side, [left: number, right: number]>;
  lanes: Lane[];
  spots: (Spot & Box & { heads: string[] })[];
  joints: [Box, Box][]; // one attention that reads and writes at several words
  lines: (Line & { path: string; share: number; look: "source" | "target" | "across" })[];
  answer: Box;
}

/** A circuit with the words of its sentences. */
export interface Drawing {
  found: NonNullable<Circuit["found"]>;
  layers: Record<Side, number>;
  words: Record<Side, string[]>;
  isRecurrent: boolean; // an SSRU in the place of the decoder's self-attention
}

export const BOX = { width: 62, height: 14 };
const [FLOOR, SHIFT, TOP, NARROW, LETTER] = [56, 12, 40, 15, 7.4];
const [REACH, BETWEEN, EDGE] = [50, 14, 18]; // room for edges beside the boxes, between the sides, for numbers
const SOON = 0.75; // floors: a shorter way needs no detour

const kindsOf = (side: Side, isRecurrent: boolean): string[] =>
  side === "source" ? ["self_attention", "feed_forward"] : [isRecurrent ? "ssru" : "self_attention", "cross_attention", "feed_forward"];

const isNumber = (part: string | undefined): part is string => /^\d+$/.test(part ?? "");

function locate(name: string, side: Side, position: number, isByHead: boolean): Spot {
  const [, layer, kind = "", head, reads] = name.split(".");
  if (!isNumber(layer)) return { side, position, layer: -1, kind: name === "answer" ? "answer" : "token" };
  return { side, position, layer: Number(layer), kind: kind.replace("_residual", ""), ...(isByHead && isNumber(head) && { head, ...(reads && { reads }) }) };
}

export const keyOf = ({ side, position, layer, kind, head, reads }: Spot): string => [side, position, layer, kind, head, reads].join();

/** The heads of a circuit, the costliest first; none of one by blocks. */
export function gatherHeads({ found }: Pick<Drawing, "found">): Head[] {
  const heads = new Map<string, Head>();
  found.edges.forEach(({ node, reader }, n) => {
    for (const name of new Set([node, reader.replace(/\.(query|key|value)$/, "")])) {
      const [stack, layer, kind, head] = name.split(".");
      if (!isNumber(head)) continue;
      const own: Head = heads.get(name) ?? { side: stack === "encoder" ? "source" : "target", layer: Number(layer), kind: kind!, head, loss: 0, numbers: [] };
      if (name === node) own.loss += found.losses[n]!;
      own.numbers.push(found.numbers[n]!);
      heads.set(name, own);
    }
  });
  return [...heads.values()].sort((one, other) => other.loss - one.loss);
}

/** The edges of a circuit between places, the costliest first. */
export function gatherLines({ found, words }: Pick<Drawing, "found" | "words">, isByHead = false): Line[] {
  const row = words.target.length - 1;
  const lines = new Map<string, Line>();
  found.edges.forEach(({ node, reader, side, position }, n) => {
    const start = locate(node, side, position, isByHead);
    const end = side === "source" && reader.startsWith("decoder") ? locate(reader, "target", row, isByHead) : locate(reader, side, position, isByHead);
    const key = `${keyOf(start)} ${keyOf(end)}`;
    const line = lines.get(key) ?? { start, end, loss: 0, numbers: [] };
    line.loss += found.losses[n]!;
    line.numbers.push(found.numbers[n]!);
    lines.set(key, line);
  });
  return [...lines.values()].sort((one, other) => other.loss - one.loss);
}

/** `isNarrow`: words at which nothing is are not shown. */
export function plan(drawing: Drawing, isNarrow: boolean): Plan {
  const { layers, words, isRecurrent } = drawing;
  const all = gatherLines(drawing);
  const lines = all.filter(({ start, end }) => keyOf(start) !== keyOf(end)); // else what a norm reads of its own part
  const row = words.target.length - 1;
  const used = new Set([`target,${row}`, ...lines.flatMap(({ start, end }) => [start, end].map((each) => `${each.side},${each.position}`))]);
  const lanes: Lane[] = [];
  const ends = {} as Plan["ends"];
  const floor = TOP + FLOOR * Math.max(layers.source, layers.target);
  let x = EDGE;
  for (const side of ["source", "target"] as const) {
    const begun = x;
    words[side].forEach((text, position) => {
      const isUsed = used.has(`${side},${position}`);
      const last = lanes.at(-1);
      if (!isUsed && isNarrow && last && !last.isUsed && last.side === side) return;
      const box = BOX.width + SHIFT * (kindsOf(side, isRecurrent).length - 1);
      const width = isUsed ? Math.max(box + 6, countLetters(text) * LETTER) + REACH : NARROW;
      // Detours run at the left of the encoder's boxes, and at the right of the decoder's.
      const middle = x + width / 2 + (isUsed ? (side === "source" ? REACH / 2 : -REACH / 2) : 0);
      lanes.push({ side, position, x: middle, width, text: isUsed || !isNarrow ? text : "⋯", isUsed });
      x += width;
    });
    ends[side] = [begun, x];
    x += side === "source" ? BETWEEN : EDGE;
  }
  const middles = new Map(lanes.map((lane) => [`${lane.side},${lane.position}`, lane.x]));
  const find = ({ side, position, layer, kind }: Spot): Box => {
    const middle = middles.get(`${side},${position}`)!;
    if (kind === "token") return { x: middle, y: floor + 4 };
    if (kind === "answer") return { x: middle, y: 26 };
    const kinds = kindsOf(side, isRecurrent);
    const own = Math.max(0, kinds.indexOf(kind));
    return { x: middle + SHIFT * (own - (kinds.length - 1) / 2), y: floor - FLOOR * (layer + (own + 0.5) / kinds.length) };
  };
  const heads = listHeads(drawing);
  const spots = [...new Map(lines.flatMap(({ start, end }) => [start, end]).map((each) => [keyOf(each), each])).values()]
    .filter(({ kind }) => kind !== "token" && kind !== "answer")
    .map((each) => ({ ...each, ...find(each), heads: heads.get(keyOf(each)) ?? [] }));
  const most = Math.max(...lines.map(({ loss }) => loss), 1e-9);
  const longest = Math.max(0, ...lanes.filter(({ isUsed }) => !isUsed).map(({ text }) => countLetters(text)));
  return {
    width: x, height: floor + (isNarrow ? 26 : Math.max(26, longest * 6 + 14)), floor, layers, ends, lanes, spots, answer: find({ side: "target", position: row, layer: -1, kind: "answer" }),
    joints: listJoints(spots),
    lines: lines.map((line) => ({
      ...line, path: run(line, find), share: Math.sqrt(Math.max(0, line.loss) / most),
      look: line.start.side === line.end.side ? line.start.side : "across",
    })),
  };
}

/** The heads of each block of attention of the drawing, by its place. */
function listHeads(drawing: Drawing): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { head, reads: _, ...place } of gatherLines(drawing, true).flatMap(({ start, end }) => [start, end])) {
    if (head) found.set(keyOf(place), [...new Set([...(found.get(keyOf(place)) ?? []), head])].sort((one, other) => Number(one) - Number(other)));
  }
  return found;
}

function listJoints(spots: readonly (Spot & Box)[]): [Box, Box][] {
  const blocks = new Map<string, (Spot & Box)[]>();
  for (const spot of spots) {
    if (spot.kind !== "self_attention" && spot.kind !== "ssru") continue;
    const key = `${spot.side},${spot.layer}`;
    blocks.set(key, [...(blocks.get(key) ?? []), spot]);
  }
  return [...blocks.values()].flatMap((all) => {
    const sorted = all.sort((one, other) => one.x - other.x);
    return sorted.slice(1).map((spot, n): [Box, Box] => [
      { x: sorted[n]!.x + BOX.width / 2, y: spot.y }, { x: spot.x - BOX.width / 2, y: spot.y },
    ]);
  });
}

/** The curve of an edge: across, straight up, or around what is between. */
function run({ start, end }: Line, find: (spot: Spot) => Box): string {
  const [one, two] = [find(start), find(end)];
  const half = BOX.width / 2;
  const curve = (...points: [number, number][]) => {
    const [first, ...rest] = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
    return `M${first}C${rest.join(" ")}`;
  };
  if (start.side !== end.side) {
    const [left, right] = [start.kind === "token" ? one.x : one.x + half, two.x - half];
    const reach = 0.45 * Math.max(30, right - left);
    return curve([left, one.y], [left + reach, one.y], [right - reach, two.y], [right, two.y]);
  }
  const rise = (one.y - two.y) / FLOOR;
  const [low, high] = [one.y - BOX.height / 2, two.y + (end.kind === "answer" ? 4 : BOX.height / 2)];
  if (rise < SOON) {
    const bend = (low - high) / 2;
    return curve([one.x, low], [one.x, low - bend], [two.x, high + bend], [two.x, high]);
  }
  const sign = start.side === "source" ? -1 : 1;
  const at = (spot: Spot, { x }: Box) => (spot.kind === "token" ? x : x + sign * half);
  const [e, f] = [at(start, one), at(end, two)];
  const out = (sign < 0 ? Math.min(e, f) : Math.max(e, f)) + sign * (7 + 6 * rise);
  if (end.kind === "answer") return curve([e, one.y], [out, one.y], [two.x + sign * 8, two.y + FLOOR], [two.x, high]);
  return curve([e, one.y], [out, one.y], [out, two.y], [f, two.y]);
}
