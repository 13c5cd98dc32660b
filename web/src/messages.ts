/**
 * Texts in English and in Chinese. A table is a messages.json beside the code that shows its texts:
 * each text is `{"en": "...", "zh": "..."}`, objects group them, and a key is a path with dots.
 * src/glassformer/foundation/messages.py reads the same format; tests/house/test_messages.py checks all tables.
 */

import { here, type Here } from "./state.svelte";

export type Language = Here["language"];
export type Message = Record<Language, string>;
export type Fill = Record<string, string | number>;

/** The keys of a table: `"title"`, `"cards.V01.text"`. */
export type KeyOf<T> = { [K in keyof T & string]: T[K] extends Message ? K : `${K}.${KeyOf<T[K]>}` }[keyof T & string];

/** A table in one language: the same objects, with a string for each text. */
export type Told<T> = T extends Message ? string : { [K in keyof T]: Told<T[K]> };

/** A function that says a text of the table in the reader's language, as `say("title")`. */
export function sayFrom<T extends object>(table: T) {
  const texts = new Map(listTexts(table));
  return (key: KeyOf<T>, holes: Fill = {}): string => fill(texts.get(key)?.[here.language] ?? key, holes);
}

/** The table in one language, to be read as an object. */
export function tellIn<T extends object>(table: T, language: Language): Told<T> {
  const told = Object.entries(table).map(([key, value]: [string, object]) => [
    key,
    isMessage(value) ? value[language] : tellIn(value, language),
  ]);
  return Object.fromEntries(told) as Told<T>;
}

/** Every key of a table, with its text in both languages. */
export function listTexts(table: object, above = ""): [string, Message][] {
  return Object.entries(table).flatMap(([key, value]: [string, object]): [string, Message][] =>
    isMessage(value) ? [[above + key, value]] : listTexts(value, `${above}${key}.`),
  );
}

/** `{name}` in a text is filled in; what is not known stays. */
export function fill(text: string, holes: Fill): string {
  return text.replace(/\{(\w+)\}/g, (all, name: string) => String(holes[name] ?? all));
}

/** What a text was filled with, or null if it was not made of this one: the inverse of `fill`. */
export function readFill(text: string, filled: string): Fill | null {
  const parts = text.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const names = Array.from(text.matchAll(/\{(\w+)\}/g), (found) => found[1]!);
  const found = new RegExp(`^${parts.join("(.*)")}$`, "s").exec(filled);
  return found && Object.fromEntries(names.map((name, n) => [name, found[n + 1]!]));
}

function isMessage(value: object): value is Message {
  return "en" in value && typeof value.en === "string";
}
