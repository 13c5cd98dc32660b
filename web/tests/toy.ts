/** A recording so small that every number of it can be worked out on paper. */

import type { Axis, Op, Operand, TraceDocument } from "../src/data/document";
import { part, type Tensor } from "../src/data/tensor";
import { Trace } from "../src/data/trace";

export function axis(letter: string, size: number, dim = letter): Axis {
  return { letter, dim, size };
}

export function operand(text: string): Operand {
  const [, name = "", index = ""] = /^([^[]+)\[(.*)\]$/.exec(text)!;
  return { name, index: index.split(",") };
}

export function op(kind: string, name: string, axes: Axis[], operands: string[], more: Partial<Op> = {}): Op {
  const nothing = { over: null, scale: 1, scale_formula: "", bias: null, mask: null, detail: null, derived: false };
  return { ...nothing, name, kind, axes, operands: operands.map(operand), ...more };
}

export function tensor(shape: number[], ...data: number[]): Tensor {
  return { shape, data: Float32Array.from(data) };
}

export function toy(ops: Op[], tensors: Record<string, Tensor>): Trace {
  const piece = (id: number) => ({ text: ` w${id}`, id, start: 0, end: 1 });
  const shapes = Object.entries(tensors).map(([name, { shape }]) => [name, { file: "", shape, dims: [] }]);
  const document = {
    source: [3, 1, 2].map(piece), target: [1, 2].map(piece), predicted: [2, 0].map(piece), predictions: [],
    search: null, text: "", translation: "", edits: [], tensors: Object.fromEntries(shapes) as object,
    settings: { encoder_layers: 1, decoder_layers: 1, heads: 1 },
  } as unknown as TraceDocument;
  const leaves = Object.keys(tensors)
    .filter((name) => !ops.some((each) => each.name === name))
    .map((name) => op("parameter", name, [], []));
  return new Trace("toy", "", document, [...leaves, ...ops], {}, {
    read: async (name, first) => {
      const found = tensors[name];
      if (!found) throw new Error(`${name} is not here`);
      return first === undefined ? found : part(found, first);
    },
    readLevel: async () => new Map(Object.entries(tensors)),
  });
}
