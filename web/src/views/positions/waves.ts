/** The positional encoding as numbers (paper 3.5), by the rule that also explains a recorded one. */

import type { Positions } from "../../data/document";
import { zeros, type Tensor } from "../../data/tensor";

export type Wave = Omit<Positions, "max_positions">;

export interface WaveCell {
  value: number;
  angle: number;
  frequency: number; // the number of the pair
  rate: number; // radians a position
  isSine: boolean;
}

function waveOf(settings: Wave, width: number, d: number) {
  const half = Math.floor(width / 2);
  const interleaved = settings.layout === "interleaved";
  return {
    frequency: interleaved ? Math.floor(d / 2) : d % half,
    isSine: interleaved ? d % 2 === 0 : d < half,
    steps: settings.grid === "paper" ? width / 2 : Math.max(half - 1, 1),
  };
}

export function waveAt(settings: Wave, d: number, position: number, column: number): WaveCell {
  const { frequency, steps, isSine } = waveOf(settings, d, column);
  const rate = 10000 ** (-frequency / steps);
  const angle = (position + settings.offset) * rate;
  const value = settings.amplitude * (isSine ? Math.sin(angle) : Math.cos(angle));
  return { value, angle, frequency, rate, isSine };
}

/** Positions as rows, dimensions as columns. */
export function encode(settings: Wave, d: number, length: number): Tensor {
  const found = zeros(length, d);
  for (let p = 0; p < length; p++) {
    for (let j = 0; j < d; j++) found.data[p * d + j] = waveAt(settings, d, p, j).value;
  }
  return found;
}

/** Radians a position of each pair. */
export function rates(settings: Wave, d: number): number[] {
  return Array.from({ length: d / 2 }, (_, i) => {
    const column = settings.layout === "interleaved" ? 2 * i : i;
    return waveAt(settings, d, 0, column).rate;
  });
}

/** PE(a) · PE(b), which depends on the distance alone. */
export function likeness(settings: Wave, d: number, distance: number): number {
  const sum = rates(settings, d).reduce((all, rate) => all + Math.cos(distance * rate), 0);
  return settings.amplitude ** 2 * sum;
}

/** What a shift does to a pair of sine and cosine: the same at every position. */
export function rotation(rate: number, shift: number): [[number, number], [number, number]] {
  const [c, s] = [Math.cos(shift * rate), Math.sin(shift * rate)];
  return [
    [c, s],
    [-s, c],
  ];
}

/** The two columns of a pair. */
export function columnsOf(settings: Wave, d: number, pair: number): [number, number] {
  return settings.layout === "interleaved" ? [2 * pair, 2 * pair + 1] : [pair, pair + d / 2];
}

/** How far R PE(p) is from PE(p + k) at most, over all pairs and these positions. */
export function rotationError(settings: Wave, d: number, length: number, shift: number): number {
  let most = 0;
  rates(settings, d).forEach((rate, pair) => {
    const [[a, b], [c, e]] = rotation(rate, shift);
    const [sine, cosine] = columnsOf(settings, d, pair);
    for (let p = 0; p < length; p++) {
      const [x, y] = [waveAt(settings, d, p, sine).value, waveAt(settings, d, p, cosine).value];
      const [u, v] = [waveAt(settings, d, p + shift, sine).value, waveAt(settings, d, p + shift, cosine).value];
      most = Math.max(most, Math.abs(a * x + b * y - u), Math.abs(c * x + e * y - v));
    }
  });
  return most;
}

/** The numbers of a lab's setting, from the address; what is wrong there is put right. */
export function readSetting(more: Record<string, string>, own: Wave, ownWidth: number) {
  const take = (key: string, other: number, least: number, most: number) => {
    const found = Number.parseFloat(more[`positions.${key}`] ?? "");
    return Number.isFinite(found) ? Math.max(least, Math.min(most, found)) : other;
  };
  const given = more["positions.layout"];
  const layout = given === "concatenated" || given === "interleaved" ? given : own.layout;
  const grid = more["positions.grid"];
  const d = Math.max(2, 2 * Math.round(take("d", ownWidth, 2, 512) / 2));
  const length = Math.round(take("length", 20, 2, 200));
  const wave: Wave = {
    layout: layout === "learned" ? "interleaved" : layout,
    grid: grid === "paper" || grid === "tensor2tensor" ? grid : own.grid,
    offset: Math.round(take("offset", own.offset, 0, 100)),
    amplitude: take("amplitude", own.amplitude, 0, 4),
  };
  return {
    wave,
    d,
    length,
    pair: Math.round(take("pair", Math.min(2, d / 2 - 1), 0, d / 2 - 1)),
    at: Math.round(take("at", 3, 0, length - 1)),
    shift: Math.round(take("shift", 5, -50, 50)),
  };
}
