/** Every label of the app, in the reader's language: `say("attention.rows")`. */

import { here } from "../state.svelte";
import en, { type Words } from "./en";
import zh from "./zh";

export type Key = keyof Words;

const LANGUAGES: Record<string, Words> = { en, zh };

/** `{name}` in a label is filled in. */
export function say(key: Key, fill: Record<string, string | number> = {}): string {
  return (LANGUAGES[here.language]![key] ?? key).replace(/\{(\w+)\}/g, (all, name: string) =>
    name in fill ? String(fill[name]) : all,
  );
}
