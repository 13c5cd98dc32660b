/** Sentences to begin with, and words that can stand in one another's place, by source language. */

import type { Model } from "../data/server";

type Known = Pick<Model, "source" | "words"> | null | undefined;

interface Examples {
  sentences: string[]; // the first is what a newcomer sees
  swaps: string[][]; // the first list that has a word of the sentence is offered
  patterns: string[]; // of random sentences: {0} is a word of the first list below, and so on
  words: string[][];
}

const EXAMPLES: Record<string, Examples> = {
  en: {
    sentences: [
      "The animal didn't cross the street because it was too wide.",
      "The cat bites the dog.",
      "I like learning programming.",
    ],
    swaps: [
      ["wide", "tired", "hungry"],
      ["bites", "scares", "pushes"],
      ["learning", "teaching"],
      ["red", "small", "big"],
      ["cat", "dog", "frog"],
    ],
    patterns: [
      "The {0} didn't cross the {1} because it was too {2}.",
      "My {0} bites the {0}.",
      "The small {0} is in the {1}.",
      "The {0} didn't eat the {3} because it was too {4}.",
    ],
    words: [
      ["animal", "dog", "cat", "frog", "fox", "duck", "spider", "hen"],
      ["street", "road", "bridge", "garden", "square"],
      ["tired", "wide", "sad", "long", "hungry"],
      ["apple", "potato", "salad", "tomato"],
      ["salty", "hungry", "spicy", "sad"],
    ],
  },
  fr: {
    sentences: [
      "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
      "Le chat mord le chien.",
      "J'aime apprendre la programmation.",
    ],
    swaps: [["fatigué", "triste", "malade"], ["mord", "pousse"], ["chat", "chien"]],
    patterns: ["Le {0} mord le {0}.", "Le petit {0} est dans le jardin."],
    words: [["chat", "chien", "renard", "canard"]],
  },
};

const MANY = 3000; // words that a model of everyday language knows at least
const EVERYDAY: Record<string, Examples> = {
  en: {
    sentences: ["My sister is happy because she won.", "The old man lives alone.", "You look tired today."],
    swaps: [["sister", "brother", "mother"], ["man", "woman"], ["tired", "sad", "happy"], ["boy", "girl"]],
    patterns: ["My {0} is {1} and {2}.", "The {3} {4} is looking for the {5}.", "The {4} is afraid of the {6}."],
    words: [
      ["sister", "brother", "mother", "father", "uncle", "aunt"],
      ["tall", "small", "young", "old"],
      ["strong", "happy", "tired", "sad"],
      ["old", "young"],
      ["man", "woman", "boy", "girl"],
      ["keys", "dog", "doctor", "book"],
      ["dark", "dog", "water", "cat"],
    ],
  },
};

const languageOf = (code: string | null | undefined): string => (code ?? "").split(/[-_]/)[0]!.toLowerCase();

/** What suits the language of a model and how many words it knows; undefined for most languages. */
function examplesOf(model: Known): Examples | undefined {
  const language = languageOf(model?.source);
  return ((model?.words ?? 0) >= MANY ? EVERYDAY[language] : undefined) ?? EXAMPLES[language];
}

/** The examples for a model; [] where there are none. */
export function sentencesOf(model: Known): string[] {
  return examplesOf(model)?.sentences ?? [];
}

/** The word of a sentence that has alternatives, and these; null where no word has any. */
export function findSwap(model: Known, words: readonly string[]): { place: number; by: string[] } | null {
  for (const list of examplesOf(model)?.swaps ?? []) {
    const place = words.findIndex((word) => list.includes(word));
    if (place >= 0) return { place, by: list.filter((word) => word !== words[place]) };
  }
  return null;
}

/** A sentence of the kind that the shipped models were trained on; null for other languages. */
export function drawSentence(model: Known, random = Math.random): string | null {
  const found = examplesOf(model);
  if (!found) return null;
  const any = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const used = new Set<string>();
  return any(found.patterns).replace(/\{(\d)\}/g, (_, n: string) => {
    const word = any(found.words[Number(n)]!.filter((each) => !used.has(each)));
    used.add(word);
    return word;
  });
}
