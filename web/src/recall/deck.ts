/** The flashcards, and the files that Anki and Logseq import: the same as `glassformer flashcards` writes. */

import table from "../../../src/glassformer/extensions/flashcards/messages.json";
import { fill, type Language, type Message } from "../messages";

export interface Flashcard {
  id: string;
  card: string; // of the story, which explains it
  question: string;
  answer: string;
}

export interface Misconception {
  said: Message;
  right: Message;
}

interface Texts {
  question?: Message;
  answer?: Message;
  misconceptions?: Record<string, Misconception>;
}

const CARDS = Object.entries<Texts>(table.cards);

/** What is often told wrongly about the subject of a card; of all cards, where none is given. */
export function misconceptionsOf(card?: string): [string, Misconception][] {
  return CARDS.flatMap(([id, { misconceptions }]) => (card === undefined || card === id ? Object.entries(misconceptions ?? {}) : []));
}

/** In the order of the story: of each card its question, then misconceptions. */
export function listFlashcards(language: Language): Flashcard[] {
  return CARDS.flatMap(([card, { question, answer }]) => [
    ...(question && answer ? [{ id: card, card, question: question[language], answer: answer[language] }] : []),
    ...misconceptionsOf(card).map(([id, { said, right }]) => (
      { id, card, question: fill(table.told[language], { said: said[language] }), answer: right[language] }
    )),
  ]);
}

const HEAD = [
  "#separator:tab", "#html:false", "#deck:glassformer", "#columns:ID\tFront\tBack\tTags", "#guid column:1", "#tags column:4",
];

/** A text file for Anki's import, which knows a card again by its first column. */
export function spellForAnki(cards: readonly Flashcard[], language: Language): string {
  const rows = cards.map(({ id, card, question, answer }) =>
    [`glassformer-${id}-${language}`, question, answer, `glassformer::${card}`].join("\t"),
  );
  return [...HEAD, ...rows, ""].join("\n");
}

/** An outline for Logseq. */
export function spellForLogseq(cards: readonly Flashcard[]): string {
  return cards.map(({ question, answer }) => `- ${question} #card\n\t- ${answer}\n`).join("");
}
