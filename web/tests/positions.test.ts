import { describe, expect, it } from "vitest";
import {
  encode,
  likeness,
  rates,
  readSetting,
  rotationError,
  waveAt,
  type Wave,
} from "../src/views/positions/waves";

const PAPER: Wave = { layout: "interleaved", grid: "paper", offset: 0, amplitude: 1 };
const T2T: Wave = { layout: "concatenated", grid: "tensor2tensor", offset: 0, amplitude: 1 };

const close = (found: ArrayLike<number>, wanted: number[]) =>
  wanted.forEach((value, n) => expect(found[n]).toBeCloseTo(value, 4));

describe("the positions", () => {
  it("are those of the paper, worked by hand", () => {
    close(
      encode(PAPER, 4, 3).data,
      [0, 1, 0, 1, 0.8415, 0.5403, 0.01, 0.99995, 0.9093, -0.4161, 0.02, 0.9998],
    );
  });
  it("are those of Tensor2Tensor's picture", () => {
    close(
      encode(T2T, 4, 3).data,
      [0, 0, 1, 1, 0.8415, 0.0001, 0.5403, 1, 0.9093, 0.0002, -0.4161, 1],
    );
  });
  it("have the wavelengths of the example 20 wide", () => {
    expect((2 * Math.PI) / waveAt(PAPER, 20, 0, 4).rate).toBeCloseTo(39.6, 1);
    expect((2 * Math.PI) / waveAt(PAPER, 20, 0, 7).rate).toBeCloseTo(99.6, 1);
  });
  it("begin at the offset, as loud as the amplitude", () => {
    const moved = encode({ ...PAPER, offset: 2, amplitude: 3 }, 4, 1).data;
    close(
      moved,
      [2, 2 + Math.PI / 2, 0.02, 0.02 + Math.PI / 2].map((angle) => 3 * Math.sin(angle)),
    );
  });
});

describe("what is true of them", () => {
  it("neighbours are alike", () => {
    const whole = likeness(PAPER, 512, 0);
    expect(whole).toBeCloseTo(256, 9);
    for (const [k, cosine] of [
      [1, 0.973],
      [2, 0.905],
      [10, 0.679],
      [50, 0.512],
    ] as const) {
      expect(likeness(PAPER, 512, k) / whole).toBeCloseTo(cosine, 3);
    }
  });
  it("the product of two rows is what the formula says of their distance", () => {
    const { data } = encode(T2T, 16, 9);
    let product = 0;
    for (let j = 0; j < 16; j++) product += data[2 * 16 + j]! * data[8 * 16 + j]!;
    expect(product).toBeCloseTo(likeness(T2T, 16, 6), 5);
  });
  it("a shift turns every pair, in both layouts", () => {
    for (const wave of [PAPER, T2T]) expect(rotationError(wave, 64, 40, -7)).toBeLessThan(1e-12);
    expect(rates(PAPER, 64)).toHaveLength(32);
  });
});

describe("a setting from the address", () => {
  it("is put right", () => {
    const set = readSetting(
      { "positions.d": "7", "positions.length": "9999", "positions.pair": "99" },
      PAPER,
      64,
    );
    expect([set.d, set.length, set.pair]).toEqual([8, 200, 3]);
    expect(
      readSetting({ "positions.d": "two" }, { ...PAPER, layout: "learned" }, 64).wave.layout,
    ).toBe("interleaved");
  });
});
