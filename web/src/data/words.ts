/** Pieces grouped to words, and attention between words. */

import type { Piece } from "./document";
import { zeros, type Tensor } from "./tensor";

export type Groups = number[][];

/** A word begins at a space, or where letters and digits begin or end; marks stand alone. */
export function groupWords(pieces: readonly Piece[], text: string): Groups {
  const groups: Groups = [];
  // Spans count characters, as Python does; JavaScript's own places count halves of some.
  const letters = Array.from(text);
  let before: boolean | null = null;
  pieces.forEach((piece, place) => {
    const said = letters.slice(piece.start, piece.end).join("");
    const first = said.trim().slice(0, 2);
    const kind = said ? /^[\p{L}\p{N}\p{M}'’]/u.test(first) : null;
    if (before === null || kind !== before || /^\s/.test(said)) groups.push([]);
    groups.at(-1)!.push(place);
    before = kind;
  });
  return groups;
}

export const single = (pieces: readonly unknown[]): Groups => pieces.map((_, place) => [place]);

export function spell(pieces: readonly Piece[], group: readonly number[]): string {
  return group.map((place) => pieces[place]!.text).join("");
}

/** Summed over the pieces of a key, averaged over those of a query: rows still sum to 1. */
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
