/** A Transformer of one layer a side that learns a few sentences while one looks on. */

import { matrix, Tape, type Matrix } from "./tape";

export interface Lesson {
  pairs: [source: string, target: string][];
  width: number;
  heads: number;
  positions: boolean;
  mask: boolean; // a word of the target may not read those after it
  rate: number; // of Adam's steps, the highest
  updates: number; // after which it has fallen to 0
  seed: number;
  without?: number[]; // pairs that are drawn like the others, and then not learnt
}

/** A translation, how probable each of its words was, and what each read of the source: the mean of the heads. */
export interface Said {
  words: string[];
  chances: number[];
  attention: number[][];
}

/** A word that could stand at a place of a translation, and the likeliest other one there. */
export interface Choice {
  source: number[];
  given: number[]; // what is written before
  word: number;
  rival: number;
}

const [BEGIN, END] = [0, 1];
const MARKS = ["", "\n"]; // no word of a pair is one of these
const BATCH = 8;
const LONGEST = 24;
const WARMUP = 0.1; // of the updates

export class Learner {
  step = 0;
  private readonly source: string[];
  private readonly target: string[];
  private readonly weights = new Map<string, Matrix>();
  private readonly moments = new Map<Matrix, [Float32Array, Float32Array]>();
  private readonly random: () => number;
  private loss: number;
  private read: { heads: Float32Array; rows: number } = { heads: new Float32Array(), rows: 0 };

  constructor(private readonly lesson: Lesson) {
    const words = (side: 0 | 1) => [...new Set(lesson.pairs.flatMap((pair) => split(pair[side])))];
    [this.source, this.target] = [[...MARKS, ...words(0)], [...MARKS, ...words(1)]];
    this.random = makeRandom(lesson.seed);
    this.loss = Math.log(this.target.length); // all words alike
    this.run(new Tape(), [END], [BEGIN]); // makes all weights, so that they are the same whatever is learnt
  }

  get parameters(): number {
    return [...this.weights.values()].reduce((sum, { data }) => sum + data.length, 0);
  }

  /**
   * Learn from a few of the pairs; the mean loss of their words before. Those left out are drawn like
   * the others, but have no loss: if all that were drawn are left out, it is that of the update before.
   */
  update(): number {
    const { pairs, without } = this.lesson;
    const size = Math.min(BATCH, pairs.length);
    let [loss, learnt] = [0, 0];
    for (let n = 0; n < size; n++) {
      const number = Math.floor(this.random() * pairs.length);
      if (without?.includes(number)) continue;
      const [source, target] = pairs[number]!;
      const tape = new Tape();
      const wanted = [...this.ids(this.target, target), END];
      const logits = this.run(tape, [...this.ids(this.source, source), END], [BEGIN, ...wanted.slice(0, -1)]);
      loss += tape.loss(logits, wanted, 1 / size);
      learnt++;
      tape.backward();
    }
    if (learnt) this.loss = loss / learnt;
    this.step++;
    for (const weight of this.weights.values()) this.move(weight);
    return this.loss;
  }

  /** The word at a place of the translation, and its likeliest rival. */
  choose(text: string, at: number): Choice {
    const source = [...this.ids(this.source, text), END];
    const found = this.translate(text).words.map((word) => this.target.indexOf(word));
    const given = [BEGIN, ...found.slice(0, at)];
    const row = this.lastRow(this.run(new Tape(), source, given));
    const word = found[at] ?? END;
    const rival = row.reduce((best, value, id) => (id !== word && (best === word || value > row[best]!) ? id : best), word);
    return { source, given, word, rival };
  }

  /** By how much a word leads its rival. */
  lead({ source, given, word, rival }: Choice): number {
    const row = this.lastRow(this.run(new Tape(), source, given));
    return row[word]! - row[rival]!;
  }

  /** The word of this number; the end mark is a full stop. */
  name(id: number): string {
    return id === END ? "." : this.target[id]!;
  }

  private lastRow(logits: Matrix): Float32Array {
    return logits.data.subarray((logits.rows - 1) * logits.cols);
  }

  /** The likeliest word after another. Throws for a word that is in none of the pairs. */
  translate(text: string): Said {
    const source = [...this.ids(this.source, text), END];
    const [found, chances]: [number[], number[]] = [[], []];
    for (;;) {
      const row = this.lastRow(this.run(new Tape(), source, [BEGIN, ...found]));
      const next = row.reduce((best, value, id) => (value > row[best]! ? id : best), 0);
      if (next === END || found.length === LONGEST) return { words: found.map((id) => this.target[id]!), chances, attention: this.attention(source.length) };
      found.push(next);
      chances.push(1 / row.reduce((sum, value) => sum + Math.exp(value - row[next]!), 0));
    }
  }

  isRight([source, target]: [string, string]): boolean {
    return this.translate(source).words.join(" ") === split(target).join(" ");
  }

  private attention(keys: number): number[][] {
    const { heads } = this.lesson;
    const { heads: weights, rows } = this.read;
    return Array.from({ length: rows }, (_, row) =>
      Array.from({ length: keys }, (_, key) => {
        let sum = 0;
        for (let head = 0; head < heads; head++) sum += weights[(head * rows + row) * keys + key]!;
        return sum / heads;
      }),
    );
  }

  private ids(words: readonly string[], text: string): number[] {
    return split(text).map((word) => {
      const id = words.indexOf(word);
      if (id < 0) throw new Error(`${word} is in none of the sentences`);
      return id;
    });
  }

  /** The network: encoder and decoder of one layer, norms before the blocks. */
  private run(tape: Tape, source: readonly number[], given: readonly number[]): Matrix {
    let x = this.embed(tape, "source", source, this.source.length);
    x = this.block(tape, "encoder.self", x, x, false);
    const memory = this.norm(tape, "memory", this.feed(tape, "encoder", x));
    let y = this.embed(tape, "target", given, this.target.length);
    y = this.block(tape, "decoder.self", y, y, this.lesson.mask);
    y = this.block(tape, "decoder.cross", y, memory, false, true);
    return tape.linear(this.norm(tape, "last", this.feed(tape, "decoder", y)), this.weight("output", this.target.length, this.lesson.width));
  }

  private embed(tape: Tape, name: string, ids: readonly number[], words: number): Matrix {
    const { width, positions } = this.lesson;
    const embedded = tape.embed(this.weight(name, words, width, width ** -0.5), ids);
    if (!positions) return embedded;
    const waves = matrix(ids.length, width);
    waves.data.forEach((_, at) => {
      const [q, d] = [Math.floor(at / width), at % width];
      const angle = q / 10000 ** ((d - (d % 2)) / width);
      waves.data[at] = d % 2 ? Math.cos(angle) : Math.sin(angle);
    });
    return tape.add(embedded, waves);
  }

  private block(tape: Tape, name: string, x: Matrix, other: Matrix, isCausal: boolean, isCross = false): Matrix {
    const { width, heads } = this.lesson;
    const normed = this.norm(tape, name, x);
    const read = isCross ? other : normed;
    const to = (what: string, from: Matrix) => tape.linear(from, this.weight(`${name}.${what}`, width, width), this.weight(`${name}.${what}.bias`, 1, width, 0));
    const [seen, weights] = tape.attend(to("query", normed), to("key", read), to("value", read), heads, isCausal);
    if (isCross) this.read = { heads: weights, rows: x.rows };
    return tape.add(x, to("output", seen));
  }

  private feed(tape: Tape, name: string, x: Matrix): Matrix {
    const { width } = this.lesson;
    const inner = tape.linear(this.norm(tape, `${name}.feed`, x), this.weight(`${name}.inner`, 2 * width, width), this.weight(`${name}.inner.bias`, 1, 2 * width, 0));
    return tape.add(x, tape.linear(tape.relu(inner), this.weight(`${name}.outer`, width, 2 * width), this.weight(`${name}.outer.bias`, 1, width, 0)));
  }

  private norm(tape: Tape, name: string, x: Matrix): Matrix {
    return tape.norm(x, this.weight(`${name}.gain`, 1, x.cols, 1), this.weight(`${name}.bias`, 1, x.cols, 0));
  }

  /** A weight by its name, made when it is first asked for. `spread`: 0 or 1 fill it; otherwise at random. */
  private weight(name: string, rows: number, cols: number, spread = Math.sqrt(3 / cols)): Matrix {
    let found = this.weights.get(name);
    if (!found) {
      const isPlain = rows === 1 && (spread === 0 || spread === 1);
      found = matrix(rows, cols, isPlain ? () => spread : () => spread * (2 * this.random() - 1));
      this.weights.set(name, found);
    }
    return found;
  }

  /** Adam (Kingma and Ba 2015). */
  private move(weight: Matrix): void {
    const rate = rateAt(this.lesson, this.step - 1);
    let moments = this.moments.get(weight);
    if (!moments) this.moments.set(weight, (moments = [new Float32Array(weight.data.length), new Float32Array(weight.data.length)]));
    const [first, second] = moments;
    const [one, two] = [1 - 0.9 ** this.step, 1 - 0.98 ** this.step];
    for (let n = 0; n < weight.data.length; n++) {
      const grad = weight.grad[n]!;
      first[n] = 0.9 * first[n]! + 0.1 * grad;
      second[n] = 0.98 * second[n]! + 0.02 * grad * grad;
      weight.data[n]! -= (rate * (first[n]! / one)) / (Math.sqrt(second[n]! / two) + 1e-9);
    }
    weight.grad.fill(0);
  }
}

/** The size of Adam's steps in an update, counted from 0: up in a line, and down again. */
function rateAt({ rate, updates }: Lesson, step: number): number {
  const warm = Math.ceil(WARMUP * updates);
  return rate * Math.max(0, Math.min((step + 1) / warm, (updates - step) / (updates - warm)));
}

const split = (text: string): string[] => text.trim().split(/\s+/).filter(Boolean);

/** Numbers from 0 to 1 that a seed decides (Tommy Ettinger's mulberry32). */
function makeRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}
