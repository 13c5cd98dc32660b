/** Cuts of source words as edits, and what they did to a translation. */

import type { Answer } from "../engine/engine";
import { at } from "../data/tensor";
import { pairCommon, wordPattern } from "../data/words";
import type { Cut, Edit } from "../engine/edits";

type Side = "source" | "target";

/** What is asked of an answer again and again is worked out once. */
function remember<T>(find: (answer: Answer, place: number, side: Side) => T): typeof find {
  const known = new WeakMap<Answer, Map<string, T>>();
  return (answer, place, side) => {
    let own = known.get(answer);
    if (!own) known.set(answer, (own = new Map<string, T>()));
    const key = `${side} ${place}`;
    if (!own.has(key)) own.set(key, find(answer, place, side));
    return own.get(key)!;
  };
}

/** What a group of tokens spells in its text. */
export function wordAt(answer: Answer, side: "source" | "target", place: number): string {
  const [tokens, text, groups] =
    side === "source"
      ? [answer.source, answer.text, answer.sourceWords]
      : [answer.predicted, answer.translation, answer.targetWords];
  const group = groups[place] ?? [];
  if (!group.length) return "";
  const letters = Array.from(text); // spans count characters, not halves of them
  return letters.slice(tokens[group[0]!]!.start, tokens[group.at(-1)!]!.end).join("").trim();
}

/** The words of one side, the end mark left out, which is always the last. */
export const listWords = (answer: Answer, side: Side): readonly string[] => wordsOf(answer, 0, side);

const wordsOf = remember((answer, _, side): readonly string[] => {
  const groups = side === "source" ? answer.sourceWords : answer.targetWords;
  const words = groups.map((_, place) => wordAt(answer, side, place));
  return words.at(-1) ? words : words.slice(0, -1);
});

/** Where the words of one side begin, in characters. */
export const wordsFrom = (answer: Answer, side: Side): readonly number[] => startsOf(answer, 0, side);

const startsOf = remember((answer, _, side): readonly number[] => {
  const [tokens, text, groups] =
    side === "source"
      ? [answer.source, answer.text, answer.sourceWords]
      : [answer.predicted, answer.translation, answer.targetWords];
  const letters = Array.from(text);
  return listWords(answer, side).map((_, place) => {
    let { start } = tokens[groups[place]![0]!]!;
    while (/^\s$/.test(letters[start] ?? "")) start++;
    return start;
  });
});

/** Whether a space stands before a word. */
export function isApart(answer: Answer, side: "source" | "target", place: number): boolean {
  const start = wordsFrom(answer, side)[place] ?? 0;
  return /\s/.test(Array.from(side === "source" ? answer.text : answer.translation)[start - 1] ?? "");
}

/** The cut of one word of a sentence; `rows` of the translation, if it is cut for these alone. */
export function makeCuts(answer: Answer, place: number, rows: readonly number[] = []): Cut[] {
  const cut = cutOf(answer, place, "source");
  return rows.length ? rows.map((query) => ({ ...cut, query })) : [{ ...cut }];
}

const cutOf = remember((answer, place): Cut => {
  const word = wordAt(answer, "source", place);
  const group = answer.sourceWords[place]!;
  const start = answer.source[group[0]!]!.start;
  const places = Array.from(answer.text.matchAll(wordPattern(word)), (found) =>
    Array.from(answer.text.slice(0, found.index)).length);
  const occurrence = places.findIndex((each) => each >= start);
  return { do: "cut", word, ...(places.length > 1 && { occurrence }) };
});

const isSame = (one: Cut, other: Edit): boolean =>
  other.do === "cut" && one.word === other.word && one.occurrence === other.occurrence;

/** Whether a word of the sentence is cut, for all of the translation or for some of it. */
export function isCut(answer: Answer, place: number, edits: readonly Edit[]): boolean {
  if (!edits.length) return false;
  const own = cutOf(answer, place, "source");
  return edits.some((edit) => isSame(own, edit) || (edit.do === "cut" && edit.word === own.word && edit.occurrence === undefined));
}

/** Without the cuts of one word. */
export function mendWord(answer: Answer, place: number, edits: readonly Edit[]): Edit[] {
  const [own] = makeCuts(answer, place);
  return edits.filter((edit) => !isSame(own!, edit) && !(edit.do === "cut" && edit.word === own!.word && edit.occurrence === undefined));
}

/** A word of the translation as it is now, and what was there before. */
export interface Said {
  place: number; // among the words now; -1: nothing is there any more
  ghost: string; // what was there before; "": the same
  isNew: boolean;
  was: number; // its place among the words before; -1: it was not there
}

/** The words now, beside those before: a longest common subsequence stays, all else is new or gone. */
export function compareWords(before: readonly string[], now: readonly string[]): Said[] {
  const found: Said[] = [];
  let [i, j] = [0, 0];
  for (const [p, q] of [...pairCommon(before, now), [before.length, now.length] as const]) {
    const ghost = before.slice(i, p).join(" ");
    for (let place = j; place < q; place++) found.push({ place, ghost: place === j ? ghost : "", isNew: true, was: -1 });
    if (ghost && j === q) found.push({ place: -1, ghost, isNew: false, was: -1 });
    if (p < before.length) found.push({ place: q, ghost: "", isNew: false, was: p });
    [i, j] = [p + 1, q + 1];
  }
  return found;
}

/** What stood there before beside what stands there now, for each place that changed. */
export function listChanges(said: readonly Said[], words: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  said.forEach(({ ghost, isNew, place }, n) => {
    if (isNew && !ghost && said[n - 1]?.isNew) found.at(-1)![1] += ` ${words[place]!}`;
    else if (isNew || ghost) found.push([ghost, place < 0 ? "" : words[place]!]);
  });
  return found;
}

/** The probability of a word: of all its tokens, one after the other. */
export function probabilityOf(answer: Answer, place: number): number {
  const group = answer.targetWords[place] ?? [];
  return Math.exp(group.reduce((sum, row) => sum + answer.predictions[row]!.log_prob, 0));
}

/** Why a cut did what it did: who read the word, what it reads now, how sure it is. */
export interface Reason {
  cut: string;
  word: string; // of the translation before: it read the cut word most
  share: number;
  sure: number; // its probability before
  said: string; // what stands in its place now; "": nothing
  then: number; // the probability of that
  instead: string; // the source word whose share grew most, where the word is still the same
  before: number;
  after: number;
}

export function findReason(before: Answer, now: Answer, place: number): Reason | null {
  const columns = before.attention.shape[1]!;
  if (place >= columns) return null;
  const words = listWords(before, "target");
  const shares = words.map((_, q) => at(before.attention, [q, place]));
  const q = shares.indexOf(Math.max(...shares));
  if (q < 0) return null;
  const said = compareWords(words, listWords(now, "target"));
  const kept = said.find((each) => each.was === q);
  const ghost = said.find((each) => each.ghost.split(" ").includes(words[q]!) && each.place >= 0);
  const there = kept?.place ?? ghost?.place ?? -1;
  let instead = -1;
  let gain = 0;
  if (kept)
    for (let m = 0; m < columns; m++) {
      const more = m === place ? 0 : at(now.attention, [kept.place, m]) - at(before.attention, [q, m]);
      if (more > gain) [instead, gain] = [m, more];
    }
  return {
    cut: wordAt(before, "source", place),
    word: words[q]!,
    share: shares[q]!,
    sure: probabilityOf(before, q),
    said: there < 0 ? "" : wordAt(now, "target", there),
    then: there < 0 ? 0 : probabilityOf(now, there),
    instead: instead < 0 ? "" : wordAt(before, "source", instead) || before.source.at(-1)!.text,
    before: instead < 0 ? 0 : at(before.attention, [q, instead]),
    after: instead < 0 || !kept ? 0 : at(now.attention, [kept.place, instead]),
  };
}
