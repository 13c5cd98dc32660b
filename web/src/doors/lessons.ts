/** The lines that a small network is taught, those that it is asked, and what came of it. */

import type { Learnt } from "../engine/host";
import type { Lesson, Said } from "../engine/lesson";

export type Pair = [source: string, target: string];

/** A set of sentences, made so that each word that is asked for stands in some line. */
export interface Taught {
  lines: Pair[];
  unseen: Pair[];
}

const BEASTS = [["dog", "chien"], ["cat", "chat"], ["wolf", "loup"], ["fox", "renard"], ["king", "roi"]] as const;
const VERBS = [["bites", "mord"], ["sees", "voit"]] as const;
const NOUNS = [...BEASTS.slice(0, 4), ["duck", "canard"], ["rabbit", "lapin"]] as const;
const COLOURS = [["black", "noir"], ["grey", "gris"], ["green", "vert"], ["white", "blanc"]] as const;

/** Who does what to whom: without the order of the words nobody can know. */
function listBites(): Pair[] {
  return BEASTS.flatMap(([one, un]) =>
    BEASTS.filter(([other]) => other !== one).flatMap(([other, autre]) =>
      VERBS.map(([verb, said]): Pair => [`the ${one} ${verb} the ${other}`, `le ${un} ${said} le ${autre}`])));
}

/** The colour goes behind: the threads have to cross. */
function listColours(): Pair[] {
  return NOUNS.flatMap(([noun, nom]) => COLOURS.map(([colour, couleur]): Pair => [`the ${colour} ${noun}`, `le ${nom} ${couleur}`]));
}

/** Every fifth sentence is not shown to the network. */
function hold(all: readonly Pair[]): Taught {
  const isHeld = (_: Pair, n: number) => n % 5 === 1;
  return { lines: all.filter((pair, n) => !isHeld(pair, n)), unseen: all.filter(isHeld) };
}

export const LESSONS: Record<"bites" | "colours", Taught> = { bites: hold(listBites()), colours: hold(listColours()) };
export type LessonName = keyof typeof LESSONS;

const SIGN = / = /;
export const writeLines = (pairs: readonly Pair[]): string => pairs.map((pair) => pair.join(" = ")).join("\n");

/** The pairs of a text, `the dog = le chien` a line; lines without both sides are left out. */
export function readLines(text: string): Pair[] {
  return text.split("\n").flatMap((line): Pair[] => {
    const [source = "", target = ""] = line.trim().split(SIGN).map((side) => side.trim());
    return source && target ? [[source, target]] : [];
  });
}

export const wordsOf = (text: string): string[] => text.trim().split(/\s+/).filter(Boolean);

/** Of a sentence the words that stand in no line: the network has no number for them. */
export function listStrange(lines: readonly Pair[], text: string): string[] {
  const known = new Set(lines.flatMap(([source]) => wordsOf(source)));
  return wordsOf(text).filter((word) => !known.has(word));
}

/** A training, as far as it is. */
export interface Run {
  lesson: Lesson;
  losses: [step: number, loss: number][];
  learnt: Learnt | null;
  asked: Pair[]; // what was translated at each look
  isDone: boolean;
}

export const isRight = (said: Said | undefined, [, target]: Pair): boolean => target !== "" && said?.words.join(" ") === wordsOf(target).join(" ");

export const countRight = ({ learnt, asked }: Run): number => asked.filter((pair, n) => isRight(learnt?.said[n], pair)).length;

/** A sentence of the reader's own has no right answer. */
export const countAsked = ({ asked }: Run): number => asked.filter(([, target]) => target).length;

/** How many have the right words, in whatever order. */
function countWords({ learnt, asked }: Run): number {
  const sort = (words: readonly string[]) => [...words].sort().join(" ");
  return asked.filter(([, target], n) => target && sort(learnt?.said[n]?.words ?? []) === sort(wordsOf(target))).length;
}

const MOST = 0.8;
const FALLEN = 0.2; // of the first loss

/**
 * What a change of the network did: 0, it learns as before; 1, it has learnt half of it (the words
 * without their order, or to predict without being able to write); 2, nothing.
 */
export function judge(run: Run, question: "positions" | "mask"): 0 | 1 | 2 {
  const all = countAsked(run);
  if (countRight(run) >= MOST * all) return 0;
  if (question === "positions") return countWords(run) >= all / 2 ? 1 : 2;
  const [first, last] = [run.losses[0]?.[1] ?? 0, run.losses.at(-1)?.[1] ?? 0];
  return last < FALLEN * first ? 1 : 2;
}
