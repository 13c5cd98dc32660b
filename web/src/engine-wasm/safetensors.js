/**
 * Reading of a weights file: see https://github.com/huggingface/safetensors for its format.
 *
 * @typedef {{ dtype: string, shape: number[], data: Uint8Array }} Stored
 */

const WIDTHS = { F32: 4, F16: 2, BF16: 2, I8: 1 }; // bytes of a number

/** Names that weights had in earlier versions. */
const RENAMED = /** @type {const} */ ([
  [/_road(?=\.|$)/, "_residual"],
  [/_embedding\.places_LD$/, "_embedding.positions_LD"],
]);

/** @param {string} name */
const rename = (name) => RENAMED.reduce((now, [old, next]) => now.replace(old, next), name);

/**
 * The tensors of a file, a tied one under each of its names, and the settings of the model if they
 * are noted beside the weights.
 * @param {Uint8Array} bytes
 * @returns {{ tensors: Map<string, Stored>, settings?: Record<string, any> }}
 */
export function readWeights(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const begin = bytes.length < 8 ? Infinity : 8 + Number(view.getBigUint64(0, true));
  if (begin > bytes.length) throw new Error("the weights file is cut short");
  const { __metadata__: metadata = {}, ...listed } = parse(bytes.subarray(8, begin));
  const notes = JSON.parse(metadata.notes ?? "{}");
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets: [start, end] }] of Object.entries(listed)) {
    if (name.startsWith("factors.")) continue; // of numbers that are int8 by now
    const width = WIDTHS[/** @type {keyof WIDTHS} */ (dtype)];
    const count = shape.reduce((/** @type {number} */ product, /** @type {number} */ n) => product * n, 1);
    if (!width || end - start !== count * width || begin + end > bytes.length)
      throw new Error(`the weights file is damaged: ${name}`);
    tensors.set(rename(name), { dtype, shape, data: bytes.subarray(begin + start, begin + end) });
  }
  const aliases = notes.aliases ?? JSON.parse(metadata.aliases ?? "{}");
  for (const [name, other] of Object.entries(aliases)) tensors.set(rename(name), tensors.get(rename(String(other))));
  return { tensors, settings: notes.origin };
}

/** @param {Uint8Array} bytes */
function parse(bytes) {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new Error("the weights file is damaged: its head is no JSON");
  }
}
