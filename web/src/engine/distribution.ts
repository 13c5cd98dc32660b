/** The distribution that a token is drawn from, as `decode/sample.py` reshapes it. */

export interface Shaping {
  temperature: number;
  top_k: number; // 0: all
  top_p: number;
}

/**
 * The probability of each token: softmax(logits / temperature) over the `top_k` likeliest, and of
 * these the fewest that together have the probability `top_p`; 0 for all others.
 */
export function shapeLogits(logits: ArrayLike<number>, shaping: Shaping): Float64Array {
  const { temperature, top_k, top_p } = shaping;
  const found = soften(logits, temperature);
  if (!top_k && top_p >= 1) return found;
  const order = orderOf(logits);
  const left = order.slice(0, top_k || order.length);
  let whole = left.reduce((sum, id) => sum + found[id]!, 0);
  let before = 0;
  const kept = left.filter((id) => {
    const isKept = before / whole < top_p;
    before += found[id]!;
    return isKept;
  });
  whole = kept.reduce((sum, id) => sum + found[id]!, 0);
  const drawn = new Float64Array(found.length);
  for (const id of kept) drawn[id] = found[id]! / whole;
  return drawn;
}

/** softmax(logits / temperature); near temperature 0 all is on the likeliest. */
function soften(logits: ArrayLike<number>, temperature: number): Float64Array {
  const scaled = Float64Array.from(logits, (each) => each / Math.max(temperature, 1e-3));
  const top = scaled.reduce((most, each) => Math.max(most, each), Number.NEGATIVE_INFINITY);
  let sum = 0;
  for (let id = 0; id < scaled.length; id++) sum += scaled[id] = Math.exp(scaled[id]! - top);
  return scaled.map((each) => each / sum);
}

/** Ids from the likeliest on; of equals, the first is first. */
export function orderOf(values: ArrayLike<number>): number[] {
  return Array.from(values, (_, id) => id).sort((a, b) => values[b]! - values[a]! || a - b);
}

/** An id drawn with these probabilities; `random` is at least 0 and below 1. */
export function draw(probabilities: ArrayLike<number>, random = Math.random()): number {
  let left = random;
  let last = 0;
  for (let id = 0; id < probabilities.length; id++) {
    if (!probabilities[id]) continue;
    last = id;
    left -= probabilities[id]!;
    if (left < 0) return id;
  }
  return last;
}
