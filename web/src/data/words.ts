/** Tokens grouped to words, and attention between words. */

import type { Token } from "./document";
import { zeros, type Tensor } from "./tensor";

/** Chinese characters, kana, bopomofo, their punctuation and full-width forms, for a pattern. */
export const EAST = "\\u2e80-\\u2fff\\u3001-\\u312f\\u3190-\\u9fff\\uf900-\\ufaff\\ufe30-\\ufe4f\\uff01-\\uff9f\\u{20000}-\\u{3ffff}";
/** Thai, Lao, Burmese and Khmer. */
export const SOUTH_EAST = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff";
export const COMBINING = "\\p{M}\\u200d";
const [BEFORE, AFTER] = ["\\u0e40-\\u0e44\\u0ec0-\\u0ec4\\u1039\\u17d2", `\\u0e30-\\u0e33\\u0e45\\u0eb0-\\u0eb3${COMBINING}`];
const LETTER = `(?:(?![${EAST}${SOUTH_EAST}])[\\p{L}\\p{N}_]|[${COMBINING}])`;
const [IN_SOUTH_EAST, FIRST_LETTER] = [new RegExp(`^[${SOUTH_EAST}]`, "u"), new RegExp(`^${LETTER}`, "u")];

/** What goes on a word beyond its first or last character. */
function border(character: string, tied: string): string {
  if (IN_SOUTH_EAST.test(character)) return `[${tied}]`;
  return FIRST_LETTER.test(character) ? LETTER : "";
}

/** Finds a word wherever it is not part of another, and Chinese and marks everywhere: see text/spacing.py. */
export function wordPattern(word: string): RegExp {
  const [first, last] = [[...word][0] ?? "", [...word].at(-1) ?? ""];
  const plain = word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const [before, after] = [border(first, BEFORE), border(last, AFTER)];
  return new RegExp((before && `(?<!${before})`) + plain + (after && `(?!${after})`), "gu");
}

export type Groups = number[][];

/** A word begins at a space or gap, or where letters and digits begin or end; marks stand alone. */
export function groupWords(tokens: readonly Token[], text: string): Groups {
  const groups: Groups = [];
  // Spans count characters, as Python does; JavaScript's own places count halves of some.
  const letters = Array.from(text);
  let [before, end]: [boolean | null, number] = [null, 0];
  tokens.forEach((token, place) => {
    const said = letters.slice(token.start, token.end).join("");
    const first = said.trim().slice(0, 2);
    const kind = said ? !first || /^[\p{L}\p{N}\p{M}'’]/u.test(first) : null;
    if (before === null || kind !== before || /^\s/.test(said) || token.start > end) groups.push([]);
    groups.at(-1)!.push(place);
    [before, end] = [kind, token.end];
  });
  return groups;
}

export const single = (tokens: readonly unknown[]): Groups => tokens.map((_, place) => [place]);

export function spell(tokens: readonly Token[], group: readonly number[]): string {
  return group.map((place) => tokens[place]!.text).join("");
}

/** Summed over the tokens of a key, averaged over those of a query: rows still sum to 1. */
export function mergeWords(weights: Tensor, queries: Groups, keys: Groups): Tensor {
  const found = zeros(queries.length, keys.length);
  const width = weights.shape[1]!;
  queries.forEach((rows, q) => {
    keys.forEach((columns, m) => {
      let sum = 0;
      for (const row of rows) for (const column of columns) sum += weights.data[row * width + column]!;
      found.data[q * keys.length + m] = sum / rows.length;
    });
  });
  return found;
}

export type Pairs = [number, number][];

/** The longest common subsequence of two texts, as places in one and in the other. */
export function pairCommon(a: readonly string[], b: readonly string[]): Pairs {
  const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i]![j] = a[i] === b[j] ? best[i + 1]![j + 1]! + 1 : Math.max(best[i + 1]![j]!, best[i]![j + 1]!);
    }
  }
  const same: Pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) same.push([i++, j++]);
    else if (best[i + 1]![j]! >= best[i]![j + 1]!) i++;
    else j++;
  }
  return same;
}
