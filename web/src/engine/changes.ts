/** Edits composed into one function for each tensor, as `see/changes.py` has them. */

import type { ModelSettings, Op, Token } from "../data/document";
import type { Held } from "../data/evaluate";
import { parse, tensorsOf } from "../data/expression";
import { strides } from "../data/tensor";
import { wordPattern } from "../data/words";
import { messageOf } from "../format";
import type { Edit, What } from "./edits";
import type { Edit as Change, Edits } from "./network";

/** What edits are about: a sentence, and the network that reads it. */
export interface About {
  ops: readonly Op[];
  settings: ModelSettings;
  source: readonly Token[];
  text: string;
  /** The vector of a tensor of another sentence, at one position: for each head, side by side. */
  borrow(sentence: string, name: string, position: number): Float32Array;
}

/** One vector of a tensor: its numbers lie `step` apart, from `at` on. */
interface Line {
  head: number;
  position: number;
  at: number;
  step: number;
  size: number;
}

export class Changes implements Edits {
  readonly edits = new Map<string, Change[]>();
  isCacheable = true;
  private readonly byName: Map<string, Op>;

  constructor(private readonly about: About, list: readonly Edit[]) {
    this.byName = new Map(about.ops.map((op) => [op.name, op]));
    list.forEach((edit, n) => {
      try {
        this.apply(edit);
      } catch (error) {
        throw new Error(`edit ${n + 1}: ${messageOf(error)}`);
      }
    });
  }

  private apply(edit: Edit): void {
    switch (edit.do) {
      case "silence":
        return this.changeBlock(edit.name, edit.head, (held, head) => {
          for (const line of linesOf(held)) if (head < 0 || line.head === head) fill(held, line, 0);
        });
      case "mean":
        if (edit.name.startsWith("decoder")) this.isCacheable = false; // of all rows so far
        return this.changeBlock(edit.name, edit.head, (held, head) => average(held, head, edit.name.startsWith("decoder")));
      case "pin":
        return this.pin(edit);
      case "row": {
        const { name, position, head, factor, values } = edit;
        if ((factor === undefined) === (values === undefined)) throw new Error("give either values or a factor");
        if (values) return this.replace(name, position, head, () => values);
        return this.changeRow(name, position, head, (held, { at, step, size }) => {
          for (let n = 0; n < size; n++) held.data[at + n * step]! *= factor!;
        });
      }
      case "swap": {
        const { name, axes } = this.window(edit.name);
        const vector = this.about.borrow(edit.sentence, name, edit.other);
        const width = axes.length > 2 ? vector.length / axes[0]!.size : vector.length;
        return this.replace(name, edit.position, undefined, (head) => vector.subarray(head * width, (head + 1) * width));
      }
      case "without":
        return this.remove(edit.what, edit.name);
      case "cut":
        return this.cut(edit);
      case "word":
      case "prefix": // change what is translated, not the network
    }
  }

  private add(name: string, change: Change): void {
    const known = this.edits.get(name);
    if (known) known.push(change);
    else this.edits.set(name, [change]);
  }

  private changeBlock(block: string, head: number | undefined, change: (held: Held, head: number) => void): void {
    const name = this.block(block);
    if (head === undefined) return this.add(`${name}.output`, (held) => change(held, -1));
    const one = this.head(name, head);
    this.add(`${name}.context`, (held) => change(held, one));
  }

  private pin({ name, key, head, query }: Extract<Edit, { do: "pin" }>): void {
    const block = this.block(name);
    const one = head === undefined ? -1 : this.head(block, head);
    const op = this.window(`${block}.weights`);
    const to = this.place(key, op, 2);
    const at = query === undefined ? -1 : this.place(query, op, 1);
    const first = block.startsWith("decoder") && block.endsWith("self_attention") ? to : 0;
    this.add(op.name, (held) => {
      for (const line of linesOf(held)) {
        const isIt = (one < 0 || line.head === one) && (at < 0 || line.position === at);
        if (!isIt || line.position < first || to >= line.size) continue;
        fill(held, line, 0);
        held.data[line.at + to * line.step] = 1;
      }
    });
  }

  /** Replace the vector of one position by other values; those of further keys are 0. */
  private replace(name: string, position: number, head: number | undefined, valuesOf: (head: number) => ArrayLike<number>): void {
    const last = this.window(name).axes.at(-1)!;
    const { length } = valuesOf(0);
    if (last.dim !== "key" && length !== last.size) throw new Error(`${name} has ${last.size} values a position, not ${length}`);
    this.changeRow(name, position, head, (held, line) => {
      const values = valuesOf(line.head);
      for (let n = 0; n < line.size; n++) held.data[line.at + n * line.step] = values[n] ?? 0;
    });
  }

  private changeRow(name: string, position: number, head: number | undefined, change: (held: Held, line: Line) => void): void {
    const op = this.window(name);
    const place = this.place(position, op, op.axes.length - 2);
    if (head !== undefined && op.axes[0]!.dim !== "head") throw new Error(`${op.name} has no heads`);
    const one = head === undefined ? -1 : checkPlace(head, op.axes[0]!.size, `head of ${op.name}`);
    this.add(op.name, (held) => {
      for (const line of linesOf(held)) {
        if (line.position === place && (one < 0 || line.head === one)) change(held, line);
      }
    });
  }

  private remove(what: What, part: string | undefined): void {
    const found = this.about.ops.filter((op) => op.kind === "window" && isWindowOf(what, op) && (!part || isPart(op.name, part)));
    if (!found.length) throw new Error(`there is no ${what} in ${part}`);
    for (const { name, equation } of found) {
      if (what === "mask") this.isCacheable = false;
      if (what === "positions" || what === "mask") {
        this.add(name, (held) => linesOf(held).forEach((line) => fill(held, line, what === "mask" ? 1 : 0)));
      } else if (what === "scale") {
        const { head_width, d_model, heads } = this.about.settings;
        const root = Math.sqrt(head_width ?? d_model / heads);
        this.add(name, (held) => {
          for (const line of linesOf(held)) for (let n = 0; n < line.size; n++) held.data[line.at + n * line.step]! *= root;
        });
      } else {
        const operands = this.operands(equation!);
        const source = what === "residual" ? operands.at(-1)! : operands[0]!;
        this.add(name, (held, _, fetch) => copy(held, fetch(source)));
      }
    }
  }

  /** The tensors of an equation that the network passes on: no parameters, nothing derived. */
  private operands(equation: string): string[] {
    return tensorsOf(parse(equation)).filter((name) => this.byName.get(name)!.kind === "window");
  }

  private cut({ word, occurrence, layer, head, query }: Extract<Edit, { do: "cut" }>): void {
    const keys = findWordTokens(this.about.source, this.about.text, word, occurrence);
    if (head === undefined && query === undefined) return this.hide(keys, layer);
    for (const name of this.masks(layer)) {
      const op = this.window(name.replace(/mask$/, "weights"));
      const one = head === undefined ? -1 : this.head(name.replace(/\.mask$/, ""), head);
      const row = query === undefined ? -1 : this.place(query, op, 1);
      this.add(op.name, (held) => {
        for (const line of linesOf(held)) {
          if ((one < 0 || line.head === one) && (row < 0 || line.position === row)) takeWeight(held, line, keys);
        }
      });
    }
  }

  /** Hide source tokens from the decoder, in all layers or in one. */
  hide(keys: readonly number[], layer?: number): void {
    for (const name of this.masks(layer)) {
      this.add(name, (held) => {
        for (const { at, step } of linesOf(held)) for (const key of keys) held.data[at + key * step] = 0;
      });
    }
  }

  private masks(layer: number | undefined): string[] {
    const names = this.about.ops.map(({ name }) => name).filter((name) => name.endsWith(".cross_attention.mask"));
    return layer === undefined ? names : [names[checkPlace(layer, names.length, "layer of the decoder")]!];
  }

  private block(name: string): string {
    const found = resolve(name, this.about.settings);
    if (!this.byName.has(`${found}.output`)) throw new Error(`there is no block ${found}`);
    return found;
  }

  private head(block: string, head: number): number {
    if (!this.byName.has(`${block}.context`)) throw new Error(`${block} has no heads`);
    return checkPlace(head, this.about.settings.heads, `head of ${block}`);
  }

  private window(name: string): Op {
    const op = this.byName.get(resolve(name, this.about.settings));
    if (op?.kind !== "window") throw new Error(`there is no window ${name}`);
    return op;
  }

  /** A position from 0; from the end only where the end is known before anything is written. */
  private place(position: number, op: Op, axis: number): number {
    const { size } = op.axes[axis]!;
    if (size === -2 && position < 0) throw new Error(`${position} counts from an end that is not written yet`);
    const longest = this.about.settings.positions.max_positions;
    return checkPlace(position, size === -1 ? this.about.source.length : size === -2 ? longest : size, `position of ${op.name}`);
  }
}

const isWindowOf = (what: What, { name, module }: Op): boolean =>
  ({
    positions: name.endsWith(".positions"),
    scale: name.endsWith(".scores"),
    mask: name.startsWith("decoder") && name.endsWith("self_attention.mask"),
    residual: name.endsWith("_residual.sum"),
    norm: module.endsWith("Norm"),
  })[what];

const isPart = (name: string, part: string): boolean =>
  name === part || name.startsWith(`${part}.`) || name.startsWith(`${part}_residual.`);

/** The full name, with a layer counted from the end counted from 0. */
export function resolve(name: string, { encoder_layers, decoder_layers }: ModelSettings): string {
  return name.replace(/^(encoder|decoder)\.(-\d+)/, (_, side: string, number: string) => {
    const layers = side === "encoder" ? encoder_layers : decoder_layers;
    return `${side}.${checkPlace(Number(number), layers, `layer of the ${side}`)}`;
  });
}

function checkPlace(place: number, size: number, what: string): number {
  if (place < -size || place >= size) throw new Error(`${what}: ${place} is out of range: there are ${size}, 0 to ${size - 1}`);
  return place < 0 ? place + size : place;
}

/** All vectors of a tensor, of all rows of a search. */
function linesOf({ shape, steps = strides(shape), from, rows, data }: Held): Line[] {
  const [axes, size] = [shape.length, shape.at(-1)!];
  const heads = axes > 2 ? shape[0]! : 1;
  const found: Line[] = [];
  for (let row = 0; row < (rows === undefined ? 1 : Math.ceil(data.length / rows)); row++) {
    for (let head = 0; head < heads; head++) {
      for (let n = 0; n < shape[axes - 2]!; n++) {
        const at = row * (rows ?? 0) + (axes > 2 ? head * steps[0]! : 0) + n * steps[axes - 2]!;
        found.push({ head, position: n + (from?.[axes - 2] ?? 0), at, step: steps[axes - 1]!, size });
      }
    }
  }
  return found;
}

function fill({ data }: Held, { at, step, size }: Line, value: number): void {
  for (let n = 0; n < size; n++) data[at + n * step] = value;
}

/** Each vector becomes the mean of all positions; `soFar`: of those up to its own. */
function average(held: Held, head: number, soFar: boolean): void {
  const lines = linesOf(held).filter((line) => head < 0 || line.head === head);
  const { data } = held;
  for (let start = 0; start < lines.length; ) {
    let end = start + 1;
    while (end < lines.length && lines[end]!.position > lines[end - 1]!.position) end++;
    const own = lines.slice(start, end);
    for (let n = 0; n < own[0]!.size; n++) {
      const values = own.map(({ at, step }) => data[at + n * step]!);
      const whole = values.reduce((sum, each) => sum + each, 0) / values.length;
      let sum = 0;
      own.forEach(({ at, step }, place) => {
        sum += values[place]!;
        data[at + n * step] = soFar ? sum / (place + 1) : whole;
      });
    }
    start = end;
  }
}

function copy(to: Held, from: Held): void {
  const lines = linesOf(from);
  linesOf(to).forEach(({ at, step, size }, place) => {
    const line = lines[place]!;
    for (let n = 0; n < size; n++) to.data[at + n * step] = from.data[line.at + n * line.step]!;
  });
}

/** Weights without those of `keys`, in a row that still sums to 1. */
function takeWeight({ data }: Held, { at, step, size }: Line, keys: readonly number[]): void {
  for (const key of keys) data[at + key * step] = 0;
  let sum = 0;
  for (let n = 0; n < size; n++) sum += data[at + n * step]!;
  if (sum > 0) for (let n = 0; n < size; n++) data[at + n * step]! /= sum;
}

/** The indices of the tokens that share a character with a word of the text. */
export function findWordTokens(tokens: readonly Token[], text: string, word: string, occurrence?: number): number[] {
  const count = (end: number) => Array.from(text.slice(0, end)).length;
  let spans = [...text.matchAll(wordPattern(word))].map(({ index }) => [count(index), count(index + word.length)]);
  if (!spans.length) throw new Error(`there is no word ${JSON.stringify(word)} in ${JSON.stringify(text)}`);
  if (occurrence !== undefined) spans = [spans[checkPlace(occurrence, spans.length, `occurrence of ${word}`)]!];
  return tokens.flatMap((token, place) => (spans.some(([start, end]) => token.start < end! && start! < token.end) ? [place] : []));
}
