/** The most probable segmentation of a text under a unigram language model (Kudo 2018). */

const UNKNOWN_PENALTY = 10; // ln p of a character without a token, below that of the rarest token

export class Viterbi {
  private readonly longest = new Map<string, number>(); // of the tokens that begin with a character
  private readonly unknown: number;

  /**
   * `scores`: ln p of each token. `rarest`: that of the rarest. `round`: how sums are rounded, by which
   * of two ways that are equally probable one is taken.
   */
  constructor(private readonly scores: ReadonlyMap<string, number>, rarest: number, private readonly round: (sum: number) => number) {
    this.unknown = rarest - UNKNOWN_PENALTY;
    for (const token of scores.keys()) {
      const letters = Array.from(token);
      this.longest.set(letters[0]!, Math.max(this.longest.get(letters[0]!) ?? 0, letters.length));
    }
  }

  /** Where each token ends, in characters; a character without a token is one. */
  segment(letters: readonly string[]): number[] {
    const size = letters.length;
    const text = letters.join("");
    const places = [0]; // of each character in `text`
    for (const letter of letters) places.push(places.at(-1)! + letter.length);
    const best = new Float64Array(size + 1);
    const starts = new Int32Array(size + 1).fill(-1);
    const extend = (start: number, end: number, score: number) => {
      const sum = this.round(best[start]! + score);
      if (starts[end]! < 0 || sum > best[end]!) [best[end], starts[end]] = [sum, start];
    };
    for (let start = 0; start < size; start++) {
      const limit = Math.min(size, start + (this.longest.get(letters[start]!) ?? 0));
      for (let end = start + 1; end <= limit; end++) {
        const score = this.scores.get(text.slice(places[start], places[end]));
        if (score !== undefined) extend(start, end, score);
      }
      if (!this.scores.has(letters[start]!)) extend(start, start + 1, this.unknown);
    }
    const ends: number[] = [];
    for (let end = size; end > 0; end = starts[end]!) ends.push(end);
    return ends.reverse();
  }
}
