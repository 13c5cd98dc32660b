/**
 * The engine in C as WebAssembly: tokens in, translations out, in int8 on one thread.
 *
 *   const engine = await WasmEngine.open(wasm, weights, { maxPositions: 128 });
 *   const [best] = engine.translate([[17, 250, 2]], { beam: 5 });
 *   best.tokens
 *
 * `wasm` is what `python -m glassformer.extensions.wheels.targets engine.wasm` builds, `weights` the bytes of
 * a model.safetensors. Nothing here needs a page: it runs in a worker and in Node too.
 *
 * @typedef {{ beam?: number, alpha?: number, penalty?: "none" | "gnmt" | "power", stop?: "exact" | "first",
 *   minLength?: number, maxRatio?: number, maxExtra?: number, noRepeat?: number, seed?: number,
 *   temperature?: number, topK?: number, topP?: number }} Search `temperature`: draw at random
 * @typedef {{ tokens: number[], logProbs: number[], logProb: number, score: number, finished: boolean }} Translation
 */

import { readWeights } from "./safetensors.js";

const EOS = 2;
const LONGEST = 1024; // positions, if nothing else is said
const BUDGET = 512; // rows at work times the longest of them, in tokens
const TYPES = ["F32", "F16", "BF16", "I8"];
const SOURCE = "source_embedding.table.weight";
const OUTPUTS = ["source_embedding.table.weight", "target_embedding.table.weight", "output_table.weight"];
const SIZES = { settings: 88, tensor: 40, options: 64, place: 24, hypothesis: 16, reason: 300 };
const ERRORS = [
  "", "out of memory", "a token is not in the vocabulary", "more tokens than the model has positions",
  "a logit is not finite", "cancelled", "a request contradicts itself", "the model contradicts itself",
  "", "the rules of the search forbid every token",
];

export class WasmEngine {
  /**
   * @param {BufferSource | WebAssembly.Module} wasm
   * @param {Uint8Array} weights
   * @param {{ maxPositions?: number, settings?: Record<string, any> }} [more] what config.toml says of
   *   `max_positions`, and of a model whose file has no notes of its settings: these
   */
  static async open(wasm, weights, { maxPositions = LONGEST, settings } = {}) {
    const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    const instance = await WebAssembly.instantiate(module, {});
    return new WasmEngine(/** @type {any} */ (instance.exports), weights, maxPositions, settings);
  }

  /**
   * @param {any} exports
   * @param {Uint8Array} weights
   * @param {number} maxPositions
   * @param {Record<string, any>} [settings]
   */
  constructor(exports, weights, maxPositions, settings) {
    this.exports = exports;
    this.maxPositions = maxPositions;
    exports._initialize?.();
    this.model = this.load(weights, settings);
  }

  /**
   * Pack the weights.
   * @param {Uint8Array} weights
   * @param {Record<string, any>} [given]
   */
  load(weights, given) {
    const { tensors, settings = given } = readWeights(weights);
    if (!settings) throw new Error("the weights file does not say which settings it was made with");
    const room = new Room(this.exports);
    try {
      const known = room.settings(settings, tensors, this.maxPositions);
      const listed = room.tensors(tensors);
      const reason = room.take(SIZES.reason);
      const model = this.exports.open_model(known, listed, tensors.size, reason, SIZES.reason);
      if (!model) throw new Error(room.text(reason) || "there is not enough memory for the model");
      return model;
    } finally {
      room.leave();
    }
  }

  /**
   * The best translation of each source, whose ids end with EOS; and so do those of a translation
   * that is finished, but for that EOS, which is left out.
   * @param {number[][]} sources
   * @param {Search} [search]
   * @returns {Translation[]}
   */
  translate(sources, search = {}) {
    const { maxRatio = 1.5, maxExtra = 50 } = search;
    const room = new Room(this.exports);
    try {
      const starts = [0];
      for (const source of sources) {
        if (source.at(-1) !== EOS) throw new Error(`the ids of a source end with EOS (${EOS})`);
        starts.push(starts.at(-1) + source.length);
      }
      const limits = sources.map((source) =>
        Math.min(Math.ceil(maxRatio * (source.length - 1)) + maxExtra, this.maxPositions));
      const found = room.take(4);
      const code = this.exports.search(
        this.model, sources.length, room.ints(sources.flat()), room.longs(starts), room.ints(limits),
        room.longs(limits.map(() => 0)), room.options(search), BUDGET, found,
      );
      if (code) throw new Error(ERRORS[code] || `the engine failed: ${code}`);
      return room.results(room.view().getUint32(found, true), sources.length);
    } finally {
      room.leave();
    }
  }

  /** Free the memory of the model; nothing may be translated afterwards. */
  close() {
    this.exports.close_model(this.model);
    this.model = 0;
  }
}

/** What one call has in the engine's memory. A view holds until memory grows, so it is made anew. */
class Room {
  /** @param {any} exports */
  constructor(exports) {
    this.exports = exports;
    /** @type {number[]} */
    this.taken = [];
  }

  view() {
    return new DataView(this.exports.memory.buffer);
  }

  /** @param {number} bytes */
  take(bytes) {
    const at = this.exports.allocate(bytes + 8) >>> 0;
    if (!at) throw new Error("there is not enough memory for the model");
    new Uint8Array(this.exports.memory.buffer, at, bytes + 8).fill(0);
    this.taken.push(at);
    return at;
  }

  leave() {
    for (const at of this.taken) this.exports.release(at);
  }

  /** @param {Uint8Array} bytes */
  bytes(bytes) {
    const at = this.take(bytes.length);
    new Uint8Array(this.exports.memory.buffer).set(bytes, at);
    return at;
  }

  /** @param {readonly number[]} values */
  ints(values) {
    const at = this.take(4 * values.length);
    new Int32Array(this.exports.memory.buffer, at, values.length).set(values);
    return at;
  }

  /** @param {readonly number[]} values */
  longs(values) {
    const at = this.take(8 * values.length);
    new BigInt64Array(this.exports.memory.buffer, at, values.length).set(values.map(BigInt));
    return at;
  }

  /** @param {number} at */
  text(at) {
    const bytes = new Uint8Array(this.exports.memory.buffer, at, SIZES.reason);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }

  /**
   * Write `ModelSettings` of model.h.
   * @param {Record<string, any>} settings
   * @param {Map<string, import("./safetensors.js").Stored>} tensors
   * @param {number} maxPositions
   */
  settings(settings, tensors, maxPositions) {
    const tie = ["three-way", "two-way", "none"].indexOf(settings.tie);
    const [source, output] = [SOURCE, OUTPUTS[tie] ?? ""].map((name) => tensors.get(name)?.shape[0]);
    if (!source || !output) throw new Error("the weights file has no embeddings");
    const numbers = [
      1, settings.d_model, settings.d_ff, settings.heads,
      settings.head_width ?? settings.d_model / settings.heads,
      settings.encoder_layers, settings.decoder_layers, Number(settings.norm === "pre"),
      ["relu", "silu", "gelu"].indexOf(settings.activation), tie, Number(settings.output_bias),
      ["interleaved", "concatenated", "learned"].indexOf(settings.layout),
      ["paper", "tensor2tensor"].indexOf(settings.grid), settings.offset, maxPositions, source, output,
      Number(settings.decoder === "ssru"),
    ];
    const at = this.take(SIZES.settings);
    numbers.forEach((value, place) => this.view().setInt32(at + 4 * place, value, true));
    this.view().setFloat64(at + 72, settings.amplitude, true);
    this.view().setFloat64(at + 80, settings.norm_epsilon, true);
    return at;
  }

  /** Write `Tensor`s of model.h. @param {Map<string, import("./safetensors.js").Stored>} tensors */
  tensors(tensors) {
    const all = this.take(SIZES.tensor * tensors.size);
    const copies = new Map(); // a tied tensor has several names
    let at = all;
    for (const [name, { dtype, shape, data }] of tensors) {
      if (!copies.has(data)) copies.set(data, this.bytes(data));
      const places = [this.bytes(new TextEncoder().encode(`${name}\0`)), copies.get(data)];
      const view = this.view();
      places.forEach((place, i) => view.setUint32(at + 4 * i, place, true));
      view.setBigInt64(at + 8, BigInt(data.length), true);
      view.setInt32(at + 16, TYPES.indexOf(dtype), true);
      view.setInt32(at + 20, shape.length, true);
      shape.slice(0, 2).forEach((size, i) => view.setBigInt64(at + 24 + 8 * i, BigInt(size), true));
      at += SIZES.tensor;
    }
    return all;
  }

  /** Write `SearchOptions` of search.h. @param {Search} search */
  options({
    beam = 1, alpha = 0.6, penalty = "gnmt", stop = "exact", minLength = 0, noRepeat = 0,
    seed = 0, temperature, topK = 0, topP = 1,
  }) {
    const at = this.take(SIZES.options);
    const view = this.view();
    [alpha, temperature ?? 1, topP].forEach((value, i) => view.setFloat64(at + 8 * i, value, true));
    view.setBigUint64(at + 24, BigInt(seed), true);
    const kind = ["none", "gnmt", "power"].indexOf(penalty);
    const method = temperature === undefined ? Number(beam > 1) : 2;
    const rules = [method, kind, method === 1 ? beam : 1, 1, Number(stop === "first"), minLength, noRepeat, topK];
    rules.forEach((value, i) => view.setInt32(at + 32 + 4 * i, value, true));
    return at;
  }

  /**
   * Read `Results` of api.h, the best of each sentence, and free them.
   * @param {number} results
   * @param {number} count
   * @returns {Translation[]}
   */
  results(results, count) {
    const view = this.view();
    const [places, hypotheses, tokens, logProbs] = [0, 4, 8, 12].map((skip) => view.getUint32(results + skip, true));
    const found = Array.from({ length: count }, (_, i) => {
      const place = places + SIZES.place * i;
      const best = hypotheses + SIZES.hypothesis * Number(view.getBigInt64(place, true));
      const first = Number(view.getBigInt64(place + 8, true));
      const length = view.getInt32(best, true);
      const finished = view.getInt32(best + 4, true) !== 0;
      const ids = Array.from({ length }, (_, t) => view.getInt32(tokens + 4 * (first + t), true));
      return {
        tokens: finished ? ids.slice(0, -1) : ids,
        logProbs: ids.map((_, t) => view.getFloat32(logProbs + 4 * (first + t), true)),
        logProb: view.getFloat32(best + 8, true),
        score: view.getFloat32(best + 12, true),
        finished,
      };
    });
    this.exports.free_results(results);
    return found;
  }
}
