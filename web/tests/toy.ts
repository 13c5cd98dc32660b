/** A recording so small that every number of it can be worked out on paper. */

import type { Axis, Op, TraceDocument } from "../src/data/document";
import { part, type Tensor } from "../src/data/tensor";
import { Trace } from "../src/data/trace";

export function axis(letter: string, size: number, dim = letter): Axis {
  return { letter, dim, size };
}

/** How far the letters of sums run. */
const OVER = [axis("i", 2), axis("k", 2), axis("d", 2), axis("m", 3)];

/** An equation for the toy; without a right side it is given. */
export function op(name: string, axes: Axis[], equation: string | null, more: Partial<Op> = {}): Op {
  const sizes = Object.fromEntries([...OVER, ...axes].map(({ letter, size }) => [letter, size]));
  return { name, kind: equation ? "window" : "input", axes, equation, sizes, module: "", derived: false, ...more };
}

export function tensor(shape: number[], ...data: number[]): Tensor {
  return { shape, data: Float32Array.from(data) };
}

export function toy(ops: Op[], tensors: Record<string, Tensor>): Trace {
  const token = (id: number) => ({ text: ` w${id}`, id, start: 0, end: 1 });
  const shapes = Object.entries(tensors).map(([name, { shape }]) => [name, { file: "", shape, dims: [] }]);
  const document = {
    source: [3, 1, 2].map(token), target: [1, 2].map(token), predicted: [2, 0].map(token), predictions: [],
    search: null, text: "", translation: "", edits: [], tensors: Object.fromEntries(shapes) as object,
    settings: { encoder_layers: 1, decoder_layers: 1, heads: 1 },
  } as unknown as TraceDocument;
  const leaves = Object.keys(tensors)
    .filter((name) => !ops.some((each) => each.name === name))
    .map((name) => op(name, [], null, { kind: "parameter" }));
  return new Trace("toy", "", document, [...leaves, ...ops], {}, {
    read: async (name, first) => {
      const found = tensors[name];
      if (!found) throw new Error(`${name} is not here`);
      return first === undefined ? found : part(found, first);
    },
    readLevel: async () => new Map(Object.entries(tensors)),
  });
}
