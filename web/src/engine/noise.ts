/** The random numbers of sampling: those of `decode/sample.py`, so that a seed draws the same words. */

const MASK = (1n << 64n) - 1n;
const [M0, M1] = [0xd2e7470ee14c6c93n, 0xca5a826395121157n];
const [W0, W1] = [0x9e3779b97f4a7c15n, 0xbb67ae8584caa73bn];

/** A key for each position of a line: Philox 4x64 with ten rounds (Salmon et al. 2011), as NumPy has it. */
export function makeKeys(seed: number, line: number, length: number): number[] {
  const found: number[] = [];
  for (let counter = 1n; found.length < length; counter++) {
    found.push(...philox(counter, BigInt(seed), BigInt(line)).map((word) => Number(BigInt.asIntN(32, word))));
  }
  return found.slice(0, length);
}

function philox(counter: bigint, first: bigint, second: bigint): bigint[] {
  let [a, b, c, d] = [counter & MASK, 0n, 0n, 0n];
  let [k0, k1] = [first & MASK, second & MASK];
  for (let round = 0; round < 10; round++) {
    const [p0, p1] = [M0 * a, M1 * c];
    [a, b, c, d] = [(p1 >> 64n) ^ b ^ k0, p1 & MASK, (p0 >> 64n) ^ d ^ k1, p0 & MASK];
    [k0, k1] = [(k0 + W0) & MASK, (k1 + W1) & MASK];
  }
  return [a, b, c, d];
}

const GOLDEN = 0x9e3779b9 | 0; // 2 ** 32 over the golden ratio
const TINY = Math.fround(2 ** -31 * (1 - 2 ** -24));

/** Gumbel noise: -ln(-ln u) for a hash u in (0, 1) of key and token (Wellons' lowbias32). */
export function gumbel(key: number, token: number): number {
  let x = (key + Math.imul(token, GOLDEN)) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  x ^= x >>> 16;
  const rest = Math.fround(Math.fround(Math.fround(x & 0x7fffffff) + 0.5) * TINY);
  return -Math.log(-Math.log1p(-rest));
}
