/** Where a translation differs from the right one, word by word. */

/** The words of both that belong together in the longest common subsequence, as pairs of places. */
export function alignWords(said: readonly string[], right: readonly string[]): [number, number][] {
  const best = Array.from({ length: said.length + 1 }, () => new Array<number>(right.length + 1).fill(0));
  for (let i = said.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      best[i]![j] = said[i] === right[j] ? best[i + 1]![j + 1]! + 1 : Math.max(best[i + 1]![j]!, best[i]![j + 1]!);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < said.length && j < right.length; ) {
    if (said[i] === right[j]) pairs.push([i++, j++]);
    else if (best[i + 1]![j]! >= best[i]![j + 1]!) i++;
    else j++;
  }
  return pairs;
}

const splitWords = (text: string): string[] => text.replace(/[.,!?;:]/g, " ").split(/\s+/).filter(Boolean);

export interface Judged {
  words: { text: string; isRight: boolean }[];
  wrong: number; // words of the right translation that it does not have
  all: number;
  first: string | null; // the first of its own words that is not right
}

/** Judge a translation by the right one; marks between words do not count. */
export function judge(said: string, right: string): Judged {
  const [own, wanted] = [splitWords(said), splitWords(right)];
  const kept = new Set(alignWords(own, wanted).map(([place]) => place));
  const words = own.map((text, place) => ({ text, isRight: kept.has(place) }));
  const first = words.find(({ isRight }) => !isRight)?.text ?? null;
  return { words, wrong: wanted.length - kept.size, all: wanted.length, first };
}
