/** What a head is called: its number, and what it was found to read over many sentences. */

import type { TraceDocument } from "../data/document";
import { sayFrom } from "../messages";
import { say } from "../say";
import table from "../../../src/glassformer/see/messages.json";

const tell = sayFrom(table);
type Own = keyof (typeof table)["habit"]["own"];
type Cross = keyof (typeof table)["habit"]["cross"];

/** A kind of key in words, as it is called in self- or in cross-attention. */
export const nameHabit = (block: string, habit: string): string =>
  block.includes("cross") ? tell(`habit.cross.${habit as Cross}`) : tell(`habit.own.${habit as Own}`);

/** With its habit, whatever is said of a head. `name`: of its block, or of a tensor in it. */
export function addHabit(habits: TraceDocument["habits"], name: string, head: number, said: string): string {
  const [block = ""] = /^\w+\.\d+\.(self|cross)_attention/.exec(name) ?? [];
  const habit = habits?.[block]?.[head];
  return habit ? say("attention.named", { head: said, habit: nameHabit(block, habit) }) : said;
}

export const callHead = ({ habits }: TraceDocument, name: string, head: number): string =>
  addHabit(habits, name, head, say("attention.head", { head }));

/** All heads of a tensor, to choose from. */
export const listHeads = ({ habits }: TraceDocument, name: string, many: number) =>
  Array.from({ length: many }, (_, head) => [head, addHabit(habits, name, head, String(head))] as const);
