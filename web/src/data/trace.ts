/** One recorded translation, and its numbers, which come when they are asked for. */

import type { Entry, Op, Token, Prediction, Problem, Search, Sentence, TraceDocument } from "./document";
import { compute } from "../cell/compute";
import { at, part, type Tensor } from "./tensor";

/** Where numbers lie: on a server, or in the page itself. */
export interface Reader {
  /** A tensor, or the part of it at one place of its first axis. Rejects where there is none. */
  read(name: string, first?: number): Promise<Tensor>;
  /** All that were recorded up to this level, at once. */
  readLevel(level: "attention" | "states"): Promise<Map<string, Tensor>>;
}

export type Side = "source" | "target";

/** What the server says of a recording beside what is in it. */
export interface About {
  base?: string | null; // the id of the unedited one
  request?: Record<string, unknown>; // what made it, but for the edits
  problems?: Problem[];
}

/** Larger ones are read by rows: weights, and logits over a whole vocabulary. */
const LARGE = 1 << 19;

export class Trace {
  readonly source: Token[];
  readonly target: Token[];
  readonly predicted: Token[];
  readonly predictions: Prediction[];
  readonly search: Search | null;
  readonly ops: Map<string, Op>;
  private readonly held = new Map<string, Tensor>();
  private readonly coming = new Map<string, Promise<Tensor>>();

  constructor(
    readonly id: string,
    readonly model: string,
    readonly document: TraceDocument,
    ops: readonly Op[],
    readonly entries: Record<string, Entry>,
    private readonly reader: Reader,
    readonly about: About = {},
  ) {
    this.source = document.source;
    this.target = document.target;
    this.predicted = document.predicted;
    this.predictions = document.predictions;
    this.search = document.search;
    this.ops = new Map(ops.map((op) => [op.name, op]));
  }

  /** The unedited recording that this one is an edit of. */
  get base(): string | null {
    return this.about.base ?? null;
  }

  get problems(): Problem[] {
    return this.about.problems ?? [];
  }

  get sentences(): Sentence[] {
    const { whole, text, translation } = this.document;
    const span = (own: string): [number, number] => [0, Array.from(own).length];
    return whole?.sentences ?? [{ source: span(text), target: span(translation) }];
  }

  /** Which of the sentences was recorded. */
  get sentence(): number {
    return this.document.whole?.chosen ?? 0;
  }

  /** The text that was given; `document.text` is the sentence of it that was recorded. */
  get wholeText(): string {
    return this.document.whole?.text ?? this.document.text;
  }

  get wholeTranslation(): string {
    return this.document.whole?.translation ?? this.document.translation;
  }

  op(name: string): Op {
    const found = this.ops.get(name);
    if (!found) throw new Error(`there is no ${name} in this model`);
    return found;
  }

  /** What the catalogue says; of `decoder.2.x.y` what it says of `decoder.*.x.y`. */
  entry(name: string): Entry | undefined {
    const usual = this.entries[name.replace(/\.\d+\./, ".*.")];
    return usual && { ...usual, ...this.ops.get(name)?.entry };
  }

  shape(name: string): number[] {
    return this.document.tensors[name]?.shape ?? this.op(name).axes.map((axis) => axis.size);
  }

  layers(side: string): number {
    const { encoder_layers, decoder_layers } = this.document.settings;
    return side === "encoder" ? encoder_layers : decoder_layers;
  }

  ids(side: Side): (place: number) => number {
    return (place) => this[side][place]!.id;
  }

  /** Whose tokens an axis counts. */
  side(name: string, dim: string): Side | null {
    if (dim === "source" || dim === "target") return dim;
    if (dim !== "query" && dim !== "key") return null;
    const isSource = name.startsWith("encoder") || (dim === "key" && name.includes("cross_attention"));
    return isSource ? "source" : "target";
  }

  /** A tensor that is here already. */
  peek(name: string): Tensor | undefined {
    return this.held.get(name);
  }

  tensor(name: string, first?: number): Promise<Tensor> {
    const key = first === undefined ? name : `${name}[${first}]`;
    const whole = this.held.get(name);
    if (whole && first !== undefined) return Promise.resolve(part(whole, first));
    let found = this.coming.get(key);
    if (!found) {
      found = this.fetch(name, first);
      this.coming.set(key, found);
      found.then(
        (tensor) => this.held.set(key, tensor),
        () => this.coming.delete(key),
      );
    }
    return found;
  }

  /** All attention weights and masks, in one go. */
  async attention(): Promise<void> {
    if (this.coming.has("attention")) return void (await this.coming.get("attention"));
    const all = this.reader.readLevel("attention").then((tensors) => {
      for (const [name, tensor] of tensors) {
        this.held.set(name, tensor);
        this.coming.set(name, Promise.resolve(tensor));
      }
      return { shape: [], data: new Float32Array() };
    });
    this.coming.set("attention", all);
    all.catch(() => this.coming.delete("attention"));
    await all;
  }

  /** The values of cells; of a large tensor only the rows that they lie in are read. */
  async values(name: string, cells: readonly (readonly number[])[]): Promise<number[]> {
    const held = this.held.get(name);
    if (held) return cells.map((cell) => at(held, cell));
    if (this.ops.get(name)?.kind !== "parameter" && this.size(name) <= LARGE) {
      const tensor = await this.tensor(name);
      return cells.map((cell) => at(tensor, cell));
    }
    const rows = new Map<number, Tensor>();
    const wanted = new Set(cells.map((cell) => cell[0]!));
    await Promise.all([...wanted].map(async (row) => rows.set(row, await this.tensor(name, row))));
    return cells.map((cell) => at(rows.get(cell[0]!)!, cell.slice(1)));
  }

  private size(name: string): number {
    return this.shape(name).reduce((product, each) => product * each, 1);
  }

  private async fetch(name: string, first?: number): Promise<Tensor> {
    const op = this.ops.get(name);
    if (op?.kind === "input") {
      const side = name.startsWith("source") ? "source" : "target";
      const tensor = { shape: [this[side].length], data: Float32Array.from(this[side], (p) => p.id) };
      return first === undefined ? tensor : part(tensor, first);
    }
    try {
      return await this.reader.read(name, first);
    } catch (error) {
      if (!op?.derived) throw error;
      const tensor = await compute(this, op);
      return first === undefined ? tensor : part(tensor, first);
    }
  }
}
