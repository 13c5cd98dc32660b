/** Sentences to begin with, and words that can stand in one another's place, by source language. */

interface Examples {
  sentences: string[]; // the first is what a newcomer sees
  swaps: string[][]; // the first list that has a word of the sentence is offered
  patterns: string[]; // of random sentences: {0} is a word of the first list below, and so on
  words: string[][];
}

const EXAMPLES: Record<string, Examples> = {
  en: {
    sentences: [
      "The animal didn't cross the street because it was too tired.",
      "The cat bites the dog.",
      "I like learning programming.",
    ],
    swaps: [
      ["tired", "wide", "hungry"],
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

const languageOf = (code: string | null | undefined): string => (code ?? "").split(/[-_]/)[0]!.toLowerCase();

/** The examples of a language; [] where there are none, as for most. */
export function sentencesOf(code: string | null | undefined): string[] {
  return EXAMPLES[languageOf(code)]?.sentences ?? [];
}

/** The word of a sentence that has alternatives, and these; null where no word has any. */
export function findSwap(code: string | null | undefined, words: readonly string[]): { place: number; by: string[] } | null {
  for (const list of EXAMPLES[languageOf(code)]?.swaps ?? []) {
    const place = words.findIndex((word) => list.includes(word));
    if (place >= 0) return { place, by: list.filter((word) => word !== words[place]) };
  }
  return null;
}

/** A sentence of the kind that the shipped models were trained on; null for other languages. */
export function drawSentence(code: string | null | undefined, random = Math.random): string | null {
  const found = EXAMPLES[languageOf(code)];
  if (!found) return null;
  const any = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const used = new Set<string>();
  return any(found.patterns).replace(/\{(\d)\}/g, (_, n: string) => {
    const word = any(found.words[Number(n)]!.filter((each) => !used.has(each)));
    used.add(word);
    return word;
  });
}
