/** A tape: it computes, remembers how, and goes back over it to find the gradients. Matrices only. */

export interface Matrix {
  rows: number;
  cols: number;
  data: Float32Array;
  grad: Float32Array;
}

export function matrix(rows: number, cols: number, fill: () => number = () => 0): Matrix {
  return { rows, cols, data: Float32Array.from({ length: rows * cols }, fill), grad: new Float32Array(rows * cols) };
}

export class Tape {
  private readonly back: (() => void)[] = [];

  /** Add what each gradient owes to the ones before it, from the last step to the first. */
  backward(): void {
    for (const step of this.back.toReversed()) step();
  }

  /** x Wᵀ + b. */
  linear(x: Matrix, weight: Matrix, bias?: Matrix): Matrix {
    const y = matrix(x.rows, weight.rows);
    const depth = x.cols;
    each(y, (q, d, at) => {
      let sum = bias?.data[d] ?? 0;
      for (let i = 0; i < depth; i++) sum += x.data[q * depth + i]! * weight.data[d * depth + i]!;
      y.data[at] = sum;
    });
    this.back.push(() => each(y, (q, d, at) => {
      const grad = y.grad[at]!;
      if (!grad) return;
      if (bias) bias.grad[d]! += grad;
      for (let i = 0; i < depth; i++) {
        x.grad[q * depth + i]! += grad * weight.data[d * depth + i]!;
        weight.grad[d * depth + i]! += grad * x.data[q * depth + i]!;
      }
    }));
    return y;
  }

  add(a: Matrix, b: Matrix): Matrix {
    return this.map([a, b], (at) => a.data[at]! + b.data[at]!, () => [1, 1]);
  }

  relu(x: Matrix): Matrix {
    return this.map([x], (at) => Math.max(0, x.data[at]!), (at) => [Number(x.data[at]! > 0)]);
  }

  /** The rows of a table with these ids, times the square root of their width. */
  embed(table: Matrix, ids: readonly number[]): Matrix {
    const y = matrix(ids.length, table.cols);
    const scale = Math.sqrt(table.cols);
    each(y, (q, d, at) => (y.data[at] = scale * table.data[ids[q]! * table.cols + d]!));
    this.back.push(() => each(y, (q, d, at) => (table.grad[ids[q]! * table.cols + d]! += scale * y.grad[at]!)));
    return y;
  }

  norm(x: Matrix, gain: Matrix, bias: Matrix): Matrix {
    const y = matrix(x.rows, x.cols);
    const [normed, deviations] = [new Float32Array(x.data.length), new Float32Array(x.rows)];
    const { cols } = x;
    for (let q = 0; q < x.rows; q++) {
      const row = x.data.subarray(q * cols, (q + 1) * cols);
      const mean = row.reduce((sum, value) => sum + value, 0) / cols;
      deviations[q] = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / cols + 1e-5);
      for (let d = 0; d < cols; d++) {
        normed[q * cols + d] = (row[d]! - mean) / deviations[q]!;
        y.data[q * cols + d] = normed[q * cols + d]! * gain.data[d]! + bias.data[d]!;
      }
    }
    this.back.push(() => {
      for (let q = 0; q < x.rows; q++) {
        let [sum, along] = [0, 0];
        for (let d = 0, at = q * cols; d < cols; d++, at++) {
          const grad = y.grad[at]! * gain.data[d]!;
          sum += grad;
          along += grad * normed[at]!;
          gain.grad[d]! += y.grad[at]! * normed[at]!;
          bias.grad[d]! += y.grad[at]!;
        }
        for (let d = 0, at = q * cols; d < cols; d++, at++) {
          x.grad[at]! += (y.grad[at]! * gain.data[d]! - (sum + normed[at]! * along) / cols) / deviations[q]!;
        }
      }
    });
    return y;
  }

  /** softmax(Q Kᵀ / √d) V of all heads; the weights are heads × queries × keys. */
  attend(q: Matrix, k: Matrix, v: Matrix, heads: number, isCausal: boolean): [Matrix, Float32Array] {
    const y = matrix(q.rows, q.cols);
    const [width, keys] = [q.cols / heads, k.rows];
    const scale = 1 / Math.sqrt(width);
    const weights = new Float32Array(heads * q.rows * keys);
    const visit = (act: (head: number, row: number, at: number, seen: number) => void) => {
      for (let head = 0; head < heads; head++) {
        for (let row = 0; row < q.rows; row++) act(head, row, (head * q.rows + row) * keys, isCausal ? row + 1 : keys);
      }
    };
    const dot = (a: Float32Array, atA: number, b: Float32Array, atB: number) => {
      let sum = 0;
      for (let n = 0; n < width; n++) sum += a[atA + n]! * b[atB + n]!;
      return sum;
    };
    visit((head, row, at, seen) => {
      const [own, column] = [row * q.cols + head * width, head * width];
      let most = Number.NEGATIVE_INFINITY;
      for (let m = 0; m < seen; m++) most = Math.max(most, (weights[at + m] = scale * dot(q.data, own, k.data, m * k.cols + column)));
      let sum = 0;
      for (let m = 0; m < seen; m++) sum += weights[at + m] = Math.exp(weights[at + m]! - most);
      for (let m = 0; m < seen; m++) {
        weights[at + m]! /= sum;
        for (let n = 0; n < width; n++) y.data[own + n]! += weights[at + m]! * v.data[m * v.cols + column + n]!;
      }
    });
    this.back.push(() => visit((head, row, at, seen) => {
      const [own, column] = [row * q.cols + head * width, head * width];
      const given = Array.from({ length: seen }, (_, m) => dot(y.grad, own, v.data, m * v.cols + column));
      const mean = given.reduce((sum, value, m) => sum + value * weights[at + m]!, 0);
      for (let m = 0; m < seen; m++) {
        const weight = weights[at + m]!;
        const grad = scale * weight * (given[m]! - mean);
        for (let n = 0; n < width; n++) {
          const there = m * k.cols + column + n;
          v.grad[there]! += weight * y.grad[own + n]!;
          q.grad[own + n]! += grad * k.data[there]!;
          k.grad[there]! += grad * q.data[own + n]!;
        }
      }
    }));
    return [y, weights];
  }

  /** The mean of -ln p of the wanted tokens; its gradient is that of the whole. */
  loss(logits: Matrix, wanted: readonly number[], share = 1): number {
    let loss = 0;
    const { cols } = logits;
    const probabilities = new Float32Array(logits.data.length);
    wanted.forEach((token, q) => {
      const row = logits.data.subarray(q * cols, (q + 1) * cols);
      const most = row.reduce((best, value) => Math.max(best, value));
      const sum = row.reduce((all, value) => all + Math.exp(value - most), 0);
      row.forEach((value, d) => (probabilities[q * cols + d] = Math.exp(value - most) / sum));
      loss -= Math.log(probabilities[q * cols + token]!) / wanted.length;
    });
    this.back.push(() => each(logits, (q, d, at) => {
      logits.grad[at]! += (share * (probabilities[at]! - Number(d === wanted[q]))) / wanted.length;
    }));
    return loss;
  }

  private map(given: Matrix[], value: (at: number) => number, slopes: (at: number) => number[]): Matrix {
    const y = matrix(given[0]!.rows, given[0]!.cols);
    for (let at = 0; at < y.data.length; at++) y.data[at] = value(at);
    this.back.push(() => {
      for (let at = 0; at < y.data.length; at++) slopes(at).forEach((slope, n) => (given[n]!.grad[at]! += slope * y.grad[at]!));
    });
    return y;
  }
}

function each({ rows, cols }: Matrix, act: (row: number, column: number, at: number) => void): void {
  for (let row = 0, at = 0; row < rows; row++) for (let column = 0; column < cols; column++, at++) act(row, column, at);
}
