import { describe, expect, it } from "vitest";
import { at, part, readHalf, readSafetensors } from "../src/data/tensor";
import { cut, toIndex, toPlace } from "../src/parts/slice";

function pack(header: Record<string, unknown>, data: Uint8Array): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(data, 8 + text.length);
  return bytes.buffer;
}

const counting = { shape: [2, 3, 4], data: Float32Array.from({ length: 24 }, (_, n) => n) };

describe("safetensors", () => {
  it("reads fp32, fp16 and truth values, wherever they begin, and shared ones by both names", () => {
    const data = new Uint8Array(1 + 8 + 4);
    data[0] = 1;
    new Uint8Array(data.buffer).set(new Uint8Array(Float32Array.of(1.5, -2).buffer), 1);
    data.set([0x00, 0x3c, 0x00, 0xc0], 9); // 1 and -2
    const found = readSafetensors(
      pack(
        {
          __metadata__: { aliases: JSON.stringify({ twin: "wide" }) },
          mask: { dtype: "BOOL", shape: [1], data_offsets: [0, 1] },
          wide: { dtype: "F32", shape: [2], data_offsets: [1, 9] },
          half: { dtype: "F16", shape: [1, 2], data_offsets: [9, 13] },
        },
        data,
      ),
    );
    expect([...found.get("mask")!.data]).toEqual([1]);
    expect([...found.get("wide")!.data]).toEqual([1.5, -2]);
    expect(found.get("twin")).toBe(found.get("wide"));
    expect(found.get("half")).toEqual({ shape: [1, 2], data: Float32Array.of(1, -2) });
  });

  it("says which type it does not read", () => {
    const file = pack({ x: { dtype: "BF16", shape: [1], data_offsets: [0, 2] } }, new Uint8Array(2));
    expect(() => readSafetensors(file)).toThrow("BF16");
  });

  it("knows the ends of fp16", () => {
    expect([0x7bff, 0x0001, 0x8000, 0x7c00].map(readHalf)).toEqual([65504, 2 ** -24, -0, Infinity]);
  });
});

describe("a slice", () => {
  it("is where its index says", () => {
    expect(at(counting, [1, 2, 3])).toBe(23);
    expect([...part(counting, 1, 0).data]).toEqual([12, 13, 14, 15]);
  });

  it.each([
    [[1, null, null], 3, 4, (r: number, c: number) => [1, r, c]],
    [[null, 2, null], 2, 4, (r: number, c: number) => [r, 2, c]],
    [[null, null, 3], 2, 3, (r: number, c: number) => [r, c, 3]],
    [[0, 1, null], 1, 4, (_: number, c: number) => [0, 1, c]],
  ] as const)("%j shows the cells that it names", (fixed, rows, columns, index) => {
    const found = cut(counting, fixed);
    expect([found.rows, found.columns]).toEqual([rows, columns]);
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++) {
        expect(found.data[r * columns + c]).toBe(at(counting, index(r, c)));
        expect(toIndex(fixed, r, c)).toEqual(index(r, c));
        expect(toPlace(fixed, index(r, c))).toEqual([r, c]);
      }
    }
    expect(toPlace([1, null, null], [0, 1, 1])).toBeNull();
  });
});
