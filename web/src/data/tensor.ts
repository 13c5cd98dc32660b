/** Numbers with a shape, and the file format that they come in. */

export interface Tensor {
  shape: number[];
  data: Float32Array;
}

interface Header {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** How far apart neighbours along each axis lie. */
export function strides(shape: readonly number[]): number[] {
  const found = new Array<number>(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    found[axis] = step;
    step *= shape[axis]!;
  }
  return found;
}

export function offset(shape: readonly number[], index: readonly number[]): number {
  let found = 0;
  for (let axis = 0; axis < shape.length; axis++) found = found * shape[axis]! + index[axis]!;
  return found;
}

export function at(tensor: Tensor, index: readonly number[]): number {
  return tensor.data[offset(tensor.shape, index)]!;
}

/** The last axes of a tensor, at these places of the first. */
export function part(tensor: Tensor, ...first: number[]): Tensor {
  const shape = tensor.shape.slice(first.length);
  const size = shape.reduce((product, each) => product * each, 1);
  const start = offset(tensor.shape.slice(0, first.length), first) * size;
  return { shape, data: tensor.data.subarray(start, start + size) };
}

export function zeros(...shape: number[]): Tensor {
  return { shape, data: new Float32Array(shape.reduce((product, each) => product * each, 1)) };
}

/** What is written at the top of a safetensors file, and where its tensors begin. */
function readHeader(bytes: ArrayBuffer): [Record<string, Header>, Record<string, string>, number] {
  const size = Number(new DataView(bytes).getBigUint64(0, true));
  const text = new TextDecoder().decode(new Uint8Array(bytes, 8, size));
  const { __metadata__: metadata = {}, ...entries } = JSON.parse(text) as Record<string, Header> & {
    __metadata__?: Record<string, string>;
  };
  return [entries, metadata, 8 + size];
}

export const readMetadata = (bytes: ArrayBuffer): Record<string, string> => readHeader(bytes)[1];

/**
 * All tensors of a safetensors file; whatever their type, in fp32. The rows of an int8 one are
 * multiplied by their scales, which stand beside it as `NAME.scale`.
 */
export function readSafetensors(bytes: ArrayBuffer): Map<string, Tensor> {
  const [entries, metadata, begin] = readHeader(bytes);
  const found = new Map<string, Tensor>();
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(entries)) {
    if (name.startsWith(FACTORS)) continue;
    const [start, end] = data_offsets;
    found.set(name, { shape, data: widen(bytes, begin + start, end - start, dtype) });
  }
  for (const [name, { dtype }] of Object.entries(entries)) {
    const scale = found.get(`${name}.scale`);
    if (dtype !== "I8" || !scale) continue;
    stretch(found.get(name)!, scale.data);
    found.delete(`${name}.scale`);
  }
  const aliases = JSON.parse(metadata["aliases"] ?? "{}") as Record<string, string>;
  for (const [name, owner] of Object.entries(aliases)) {
    const shared = found.get(owner);
    if (shared) found.set(name, shared);
  }
  return found;
}

/** How matrices of 4 bits are stored: see `extensions/site/four_bits.py`. */
const [FACTORS, GROUP, QUARTERS] = ["factors.", 64, 4];

/** Make int8 numbers of those of 4 bits in a file, in place: once. */
export function lengthen(bytes: ArrayBuffer): void {
  const [entries, , begin] = readHeader(bytes);
  for (const [name, listed] of Object.entries(entries)) {
    const shared = entries[`${FACTORS}${name}`];
    if (!shared) continue;
    const [start, end] = listed.data_offsets;
    const numbers = new Int8Array(bytes, begin + start, end - start);
    const factors = new Uint8Array(bytes, begin + shared.data_offsets[0]);
    const [width, groups] = [listed.shape[1]!, shared.shape[1]!];
    for (let place = 0; place < numbers.length; place++) {
      const row = Math.floor(place / width);
      const factor = factors[row * groups + Math.floor((place - row * width) / GROUP)]!;
      numbers[place] = Math.round((numbers[place]! * factor) / QUARTERS);
    }
  }
}

function stretch({ data }: Tensor, scale: Float32Array): void {
  const width = data.length / scale.length;
  for (let place = 0; place < data.length; place++) data[place]! *= scale[Math.floor(place / width)]!;
}

function widen(bytes: ArrayBuffer, start: number, size: number, dtype: string): Float32Array {
  const view = bytes.slice(start, start + size);
  switch (dtype) {
    case "F32":
      return new Float32Array(view);
    case "F16":
      return Float32Array.from(new Uint16Array(view), readHalf);
    case "I8":
      return Float32Array.from(new Int8Array(view));
    case "BOOL":
    case "U8":
      return Float32Array.from(new Uint8Array(view));
    default:
      throw new Error(`numbers of type ${dtype} are not read here`);
  }
}

export function readHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const power = (bits >> 10) & 31;
  const rest = bits & 1023;
  if (power === 0) return sign * rest * 2 ** -24;
  if (power === 31) return rest ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + rest / 1024) * 2 ** (power - 15);
}
