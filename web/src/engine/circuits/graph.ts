/**
 * A network as nodes, readers and edges, of which some are cut, as `circuits/edges.py` has it: a
 * block of attention is one node and reads once or, by head, each head is one, whose query, key and
 * value read apart. Where an edge is cut, its reader gets what the node writes in the counterpart. A
 * pass computes only what differs from that.
 */

import type { ModelSettings } from "../../data/document";
import { Answer, Attention, FeedForward, KNOWN_ACTIVATIONS, Norm, Recurrence, Renorm, type Part, type Passed, type Rows, type Vector, type Weights } from "./parts";

export type Side = "source" | "target";
export const SIDES: readonly Side[] = ["source", "target"];

/** A reader of a stream, and the nodes that have written into it. */
interface Site {
  name: string;
  side: Side;
  nodes: readonly number[];
}

/** What reads, and the node that it writes as; none: the answer. */
interface Unit {
  sites: readonly number[]; // the second: the memory of a cross-attention; three: a head's query, key and value
  node: number;
  part: Part;
  number: number; // of all units
}

/** A step of a pass: all that reads the same stream, before any of it writes. */
interface Step {
  side: Side;
  units: readonly Unit[];
  isNew: boolean; // the stream begins anew with it
}

export interface Edge {
  site: number;
  node: number;
  place: number;
}

/** A step of a translation: what the network reads, and the two tokens that are compared. */
export interface Contrast {
  source: readonly number[];
  given: readonly number[];
  answers: readonly [number, number];
}

/** What each of the two embedding nodes of a side writes, row by row. */
export type Embedded = Record<Side, [words: Rows, positions: Rows]>;

/** What each node writes, row by row, in the order of the nodes. */
export type Written = readonly Rows[];

/** The mean of what each node writes at each position, of the sentences that have it. */
export function average(all: readonly Written[]): Written {
  return all[0]!.map((_, node) => {
    const longest = Math.max(...all.map((each) => each[node]!.length));
    return Array.from({ length: longest }, (_, place) => {
      const there = all.map((each) => each[node]![place]).filter((x) => x !== undefined);
      return there.reduce<Vector | undefined>((sum, x) => add(sum, x, 1 / there.length), undefined);
    });
  });
}

/** Settings that `ModelSettings` does not name. */
type Further = Partial<{
  gated: boolean; plugin: unknown; attention: { pattern: string };
}>;

/** Why the circuit of a network cannot be searched here: a word for the messages; null if it can. */
export function findObstacle(settings: ModelSettings & Further): "recurrent" | "unknown" | null {
  if ((settings.network ?? "transformer") !== "transformer") return "recurrent";
  const { layout, combine = "add" } = settings.positions;
  const isPlain = ["interleaved", "concatenated", "learned"].includes(layout) && combine === "add"
    && (settings.attention?.pattern ?? "full") === "full" && !settings.ablate?.length && !settings.embedding_norm
    && !settings.plugin && KNOWN_ACTIVATIONS.includes(settings.activation);
  return isPlain ? null : "unknown";
}

/** A pass: what differs from the counterpart, and how to go back. */
export interface State {
  lead: number;
  deltas: Rows[]; // of each node
  passed: (Passed | undefined)[]; // of each unit
  edges: readonly Edge[];
  amounts: Float64Array;
  base: number;
}

export class Graph {
  readonly sites: Site[] = [];
  readonly nodes: string[] = [];
  readonly edges: Edge[] = []; // all that can reach the answer, in the order of `Faithfulness.places`
  private readonly steps: Step[] = [];
  private readonly others: Rows[] = []; // what each node writes in the counterpart
  private readonly rest: Rows[] = []; // and what it writes beyond a mean, if all that it reads is one
  private readonly reads: Rows[] = []; // and what each site sees there
  private readonly whole: Passed[] = []; // of each unit
  private readonly lengths: Record<Side, number>;
  readonly nothing: number; // the lead of the counterpart

  constructor(
    private readonly settings: ModelSettings, private readonly weights: Weights, private readonly contrast: Contrast,
    private readonly here: Embedded, there: Embedded | Written, private readonly isByHead = false,
  ) {
    this.lengths = { source: contrast.source.length, target: contrast.given.length };
    this.build();
    this.nothing = "source" in there ? this.readCounterpart(there) : this.readMean(there);
    this.sites.forEach(({ side, nodes, name }, site) => {
      const first = side === "target" && this.isReadLast(name) ? this.lengths.target - 1 : 0;
      for (const node of nodes) {
        for (let place = first; place < this.lengths[side]; place++) this.edges.push({ site, node, place });
      }
    });
  }

  /** What each node writes in the counterpart. */
  get written(): Written {
    return this.others;
  }

  /** One pass, with edges of these amounts; all others have the base. `like`: a pass with more of the same. */
  run(edges: readonly Edge[], amounts: Float64Array, base = 0, like?: State): State {
    const [entering, leaving] = [this.group(edges, "site"), this.group(edges, "node")];
    const state: State = { lead: this.nothing, deltas: this.begin(), passed: [], edges, amounts, base };
    const dirty = like && this.findDirty(like, amounts);
    const sums = base ? this.sumInputs(state.deltas) : undefined;
    for (const { side, units, isNew } of this.steps) {
      for (const unit of units) {
        if (dirty && like && !unit.sites.some((site) => entering[site]!.some((e) => dirty.has(e)))) this.take(like, state, unit);
        else {
          if (dirty && unit.node >= 0) for (const e of leaving[unit.node]!) dirty.add(e);
          this.pass(unit, side, state, entering, unit.node < 0 ? [] : leaving[unit.node]!, sums);
        }
      }
      if (sums) for (const { node } of units) if (node >= 0) sums[side] = isNew ? state.deltas[node]!.map((x) => x!.slice()) : addRows(sums[side], state.deltas[node]!, 1);
    }
    return state;
  }

  /** Let one unit read, and write what of it somebody reads. */
  private pass({ sites, node, part, number }: Unit, side: Side, state: State, entering: number[][], leaving: number[], sums?: Record<Side, Rows>): void {
    const reads = sites.map((site) => this.read(site, state, entering[site]!, sums?.[this.sites[site]!.side]));
    if (node >= 0) state.deltas[node] = this.rest[node] ?? [];
    if (!reads.some((rows) => rows.some(Boolean))) return;
    const wanted = node < 0 ? [this.lengths.target - 1] : sums ? this.places(side) : [...new Set(leaving.map((e) => state.edges[e]!.place))];
    if (!wanted.length) return;
    const passed = (state.passed[number] = part.run(reads, wanted, this.whole[number]!));
    if (node < 0) state.lead = passed.out[wanted[0]!]![0]!;
    else state.deltas[node] = passed.out.map((x, place) => x && subtract(x, this.others[node]![place]!));
  }

  /** What the lead of the counterpart would be if the slope of its embeddings, with all that is held, were all. */
  foretell(): number {
    const state = this.run([], new Float64Array(), 1);
    const { sums } = this.back(state, true);
    let lead = state.lead;
    for (const [node, [side]] of this.inputs) {
      state.deltas[node]!.forEach((delta, place) => (lead -= dot(delta!, sums[side][place])));
    }
    return lead;
  }

  /** The slope of the lead at what each site sees, and at the beginning of each stream. */
  private back({ edges, amounts, base, passed }: State, isHeld = false): { slopes: Rows[]; sums: Record<Side, Rows> } {
    const leaving = this.group(edges, "node");
    const slopes: Rows[] = this.sites.map(() => []);
    const sums: Record<Side, Rows> = { source: [], target: [] };
    for (const { side, units, isNew } of this.steps.toReversed()) {
      const owed = units.map(({ node }) => {
        const grads: Rows = node < 0 ? [] : sums[side].map((x) => x?.slice());
        if (node < 0) grads[this.lengths.target - 1] = Float64Array.of(1);
        else {
          for (const e of leaving[node]!) {
            const { site, place } = edges[e]!;
            const slope = slopes[site]![place];
            if (slope) grads[place] = add(grads[place], slope, amounts[e]! - base);
          }
        }
        return grads;
      });
      if (isNew) sums[side] = [];
      units.forEach(({ sites, number }, n) => {
        const [own, grads] = [passed[number], owed[n]!];
        if (!own || !grads.some(Boolean)) return;
        own.back(grads, isHeld).forEach((rows, which) => {
          const site = sites[which]!;
          slopes[site] = rows;
          if (base) sums[this.sites[site]!.side] = addRows(sums[this.sites[site]!.side], rows, base);
        });
      });
    }
    return { slopes, sums };
  }

  /** By how much the lead rises with one more of each edge. */
  slopesOf(edges: readonly Edge[], state: State): Float64Array {
    const { slopes } = this.back(state);
    return Float64Array.from(edges, ({ site, node, place }) => {
      const [slope, delta] = [slopes[site]![place], state.deltas[node]![place]];
      return delta ? dot(delta, slope) : 0;
    });
  }

  private build(): void {
    const { settings, weights } = this;
    const { encoder_layers, decoder_layers, decoder, norm_epsilon: epsilon } = settings;
    const norm = (name: string) => new Norm(weights, name, epsilon);
    const isPre = settings.norm === "pre";
    let nodes: readonly number[] = [];
    const write = (name: string) => (nodes = [...nodes, this.nodes.push(name) - 1]);
    const site = (name: string, side: Side, own: readonly number[] = nodes) => this.sites.push({ name, side, nodes: own }) - 1;
    const begin = (side: Side) => {
      nodes = [];
      write(`${side}_embedding.embedded`);
      write(`${side}_embedding.positions`);
    };
    let units = 0;
    const unit = (sites: readonly number[], node: number, part: Part): Unit => ({ sites, node, part, number: units++ });
    const close = (name: string, side: Side) => {
      if (isPre) return;
      const own = site(`${name}_residual`, side);
      nodes = [];
      write(`${name}_residual`);
      this.steps.push({ side, isNew: true, units: [unit([own], nodes[0]!, new Renorm(norm(`${name}_residual.norm`)))] });
    };
    const ownNorm = (name: string) => (isPre ? norm(`${name}_residual.norm`) : NO_NORM);
    const step = (name: string, side: Side, make: (norm: Norm) => Part, memory?: readonly number[]) => {
      const sites = [site(name, side)];
      if (memory) sites.push(site(`${name}.memory`, "source", memory));
      write(name);
      this.steps.push({ side, isNew: false, units: [unit(sites, nodes.at(-1)!, make(ownNorm(name)))] });
      close(name, side);
    };
    const { heads } = settings;
    const attend = (name: string, side: Side, kind: "encoder" | "causal" | "cross", memory?: readonly number[]) => {
      const make = (own: Norm, head?: number) => new Attention(weights, name, heads, own, kind, memory ? (isPre ? norm("encoder_norm") : NO_NORM) : own, head);
      if (!this.isByHead) return step(name, side, make, memory);
      const all = Array.from({ length: heads }, (_, head) => head);
      const read = (what: string) => all.map((head) => (memory && what !== "query" ? site(`${name}.${head}.${what}`, "source", memory) : site(`${name}.${head}.${what}`, side)));
      const readers = ["query", "key", "value"].map(read);
      const own = ownNorm(name);
      const parts = all.map((head) => {
        write(`${name}.${head}`);
        return unit(readers.map((each) => each[head]!), nodes.at(-1)!, make(own, head));
      });
      this.steps.push({ side, isNew: false, units: parts });
      close(name, side);
    };
    const feed = (name: string, side: Side) => step(name, side, (own) => new FeedForward(weights, name, own, settings.activation));
    begin("source");
    for (let layer = 0; layer < encoder_layers; layer++) {
      attend(`encoder.${layer}.self_attention`, "source", "encoder");
      feed(`encoder.${layer}.feed_forward`, "source");
    }
    const memory = nodes;
    begin("target");
    for (let layer = 0; layer < decoder_layers; layer++) {
      const recurrent = `decoder.${layer}.ssru`;
      if (decoder === "ssru") step(recurrent, "target", (own) => new Recurrence(weights, recurrent, own));
      else attend(`decoder.${layer}.self_attention`, "target", "causal");
      attend(`decoder.${layer}.cross_attention`, "target", "cross", memory);
      feed(`decoder.${layer}.feed_forward`, "target");
    }
    const answer = new Answer(weights, isPre ? norm("decoder_norm") : NO_NORM, this.contrast.answers);
    this.steps.push({ side: "target", isNew: false, units: [unit([site("answer", "target")], -1, answer)] });
  }

  /** Compute all of the counterpart: what each site sees, and each node writes. */
  private readCounterpart(there: Embedded): number {
    this.inputs.forEach(([side, n], node) => (this.others[node] = there[side][n]));
    const streams = Object.fromEntries(SIDES.map((side) => [side, addRows([...there[side][0]].map((x) => x!.slice()), there[side][1], 1)])) as Record<Side, Rows>;
    let lead = 0;
    for (const { side, units, isNew } of this.steps) {
      const seen = Object.fromEntries(SIDES.map((each) => [each, streams[each].map((x) => x!.slice())])) as Record<Side, Rows>;
      for (const { sites, node, part, number } of units) {
        const reads = sites.map((each) => (this.reads[each] = seen[this.sites[each]!.side]));
        const wanted = node < 0 ? [this.lengths.target - 1] : this.places(side);
        const passed = (this.whole[number] = part.run(reads, wanted, null));
        if (node < 0) lead = passed.out[wanted[0]!]![0]!;
        else {
          this.others[node] = passed.out;
          streams[side] = isNew ? passed.out.map((x) => x!.slice()) : addRows(streams[side], passed.out, 1);
        }
      }
    }
    return lead;
  }

  /** Let each node write a mean, and each site see their sum; a sentence that is longer has its last rows. */
  private readMean(mean: Written): number {
    const fit = (rows: Rows, side: Side) => this.places(side).map((place) => rows[Math.min(place, rows.length - 1)]);
    this.inputs.forEach(([side], node) => (this.others[node] = fit(mean[node]!, side)));
    const seen = new Map<readonly number[], Rows>();
    const see = (site: number): Rows => {
      const { nodes } = this.sites[site]!;
      if (!seen.has(nodes)) seen.set(nodes, nodes.reduce<Rows>((sum, own) => addRows(sum, this.others[own]!, 1), []));
      return seen.get(nodes)!;
    };
    let lead = 0;
    for (const { side, units } of this.steps) {
      for (const { sites, node, part, number } of units) {
        const reads = sites.map((each) => (this.reads[each] = see(each)));
        const wanted = node < 0 ? [this.lengths.target - 1] : this.places(side);
        const passed = (this.whole[number] = part.run(reads, wanted, null));
        if (node < 0) lead = passed.out[wanted[0]!]![0]!;
        else {
          const own = (this.others[node] = fit(mean[node]!, side));
          this.rest[node] = passed.out.map((x, place) => subtract(x!, own[place]!));
        }
      }
    }
    return lead;
  }

  /** The nodes that are there before anything is computed. */
  private get inputs(): Map<number, [Side, 0 | 1]> {
    const found = new Map<number, [Side, 0 | 1]>();
    for (const side of SIDES) {
      (["embedded", "positions"] as const).forEach((each, n) => found.set(this.nodes.indexOf(`${side}_embedding.${each}`), [side, n as 0 | 1]));
    }
    return found;
  }

  private begin(): Rows[] {
    const deltas: Rows[] = this.nodes.map(() => []);
    for (const [node, [side, n]] of this.inputs) {
      deltas[node] = this.here[side][n].map((x, place) => subtract(x!, this.others[node]![place]!));
    }
    return deltas;
  }

  private sumInputs(deltas: readonly Rows[]): Record<Side, Rows> {
    const sums: Record<Side, Rows> = { source: [], target: [] };
    for (const [node, [side]] of this.inputs) sums[side] = addRows(sums[side], deltas[node]!, 1);
    return sums;
  }

  private read(site: number, { deltas, edges, amounts, base }: State, entering: readonly number[], sum: Rows | undefined): Rows {
    const there = this.reads[site]!;
    const rows: Rows = sum ? there.map((x, place) => add(x!.slice(), sum[place]!, base)) : [];
    for (const e of entering) {
      const { node, place } = edges[e]!;
      const [delta, amount] = [deltas[node]![place], amounts[e]! - base];
      if (delta && amount) rows[place] = add(rows[place] ?? there[place]!.slice(), delta, amount);
    }
    return rows;
  }

  /** Edges whose amount differs from another pass's. */
  private findDirty(like: State, amounts: Float64Array): Set<number> {
    const found = new Set<number>();
    amounts.forEach((amount, e) => amount !== like.amounts[e] && found.add(e));
    return found;
  }

  private take(like: State, state: State, { node, number }: Unit): void {
    state.passed[number] = like.passed[number];
    if (node < 0) state.lead = like.lead;
    else state.deltas[node] = like.deltas[node]!;
  }

  private group(edges: readonly Edge[], by: "site" | "node"): number[][] {
    const found: number[][] = (by === "site" ? this.sites : this.nodes).map(() => []);
    edges.forEach((edge, e) => found[edge[by]]!.push(e));
    return found;
  }

  private places(side: Side): number[] {
    return Array.from({ length: this.lengths[side] }, (_, place) => place);
  }

  /** Whether only what a reader of the decoder reads at the last row can matter. */
  private isReadLast(reader: string): boolean {
    if (reader === "answer") return true;
    return reader.startsWith(`decoder.${this.settings.decoder_layers - 1}.`) && !/\.(key|value|ssru|self_attention)$/.test(reader);
  }
}

const NO_NORM = new Norm(new Map(), "", 0);

function subtract(x: Vector, y: Vector): Vector {
  return x.map((each, d) => each - y[d]!);
}

function dot(x: Vector, y: Vector | undefined): number {
  let sum = 0;
  if (y) for (let d = 0; d < x.length; d++) sum += x[d]! * y[d]!;
  return sum;
}

/** The first vector, with the second added to it. */
function add(x: Vector | undefined, y: Vector, amount: number): Vector {
  if (!x) return y.map((each) => each * amount);
  for (let d = 0; d < x.length; d++) x[d]! += amount * y[d]!;
  return x;
}

function addRows(rows: Rows, more: Rows, amount: number): Rows {
  more.forEach((x, place) => x && (rows[place] = add(rows[place], x, amount)));
  return rows;
}
