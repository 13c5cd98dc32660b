/** What looks wrong with a translation, in the reader's language; the server says it in English. */

import type { Problem } from "../../data/document";
import { readFill, sayFrom } from "../../messages";
import { say } from "../../say";
import table from "../../../../src/glassformer/foundation/messages.json";

const sayProblem = sayFrom(table);
const KINDS = table.problem;

/** All of them in one line; of a kind that is not known here, what the server says. */
export function tell(problems: readonly Problem[]): string {
  const told = problems.map(({ kind, said }) => {
    const known = kind in KINDS ? (kind as keyof typeof KINDS) : null;
    const filled = known && readFill(KINDS[known].en, said);
    return filled ? sayProblem(`problem.${known!}`, filled) : said;
  });
  return told.join(say("semicolon"));
}
