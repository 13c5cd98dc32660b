/** What a first look at a translation needs, from its recording or from what the server says of it. */

import { attentionOf } from "../data/derive";
import type { Prediction, Problem, Token } from "../data/document";
import type { Tensor } from "../data/tensor";
import type { Trace } from "../data/trace";
import { groupWords, mergeWords, type Groups } from "../data/words";
import type { Edit } from "../views/whatif/edits";
import type { Answer } from "./engine";

/** An answer before its tokens are grouped to words. */
export interface Plain {
  id: string;
  model: string;
  text: string;
  translation: string;
  source: Token[];
  predicted: Token[];
  predictions: Prediction[];
  attention: Tensor; // of each of `predicted` to each of `source`
  confidence: number | null;
  problems: Problem[];
  edits: Edit[];
}

export function groupAnswer(plain: Plain): Answer {
  const sourceWords = readWords(plain.source, plain.text);
  const targetWords = readWords(plain.predicted, plain.translation);
  const attention = mergeWords(plain.attention, targetWords, sourceWords);
  return { ...plain, sourceWords, targetWords, attention };
}

/** Without spaces between words, each token is one; a token that spells nothing joins the next. */
function readWords(tokens: readonly Token[], text: string): Groups {
  const isEastern = (place: number) => /[\u2e80-\u9fff\uf900-\ufaff]/.test(tokens[place]!.text);
  const groups = groupWords(tokens, text).flatMap((group) =>
    group.some(isEastern) ? group.map((place) => [place]) : [group],
  );
  const letters = Array.from(text);
  const found: Groups = [];
  let blank: number[] = [];
  groups.forEach((group, n) => {
    const said = letters.slice(tokens[group[0]!]!.start, tokens[group.at(-1)!]!.end).join("").trim();
    if (said || n === groups.length - 1) found.push(said ? [...blank.splice(0), ...group] : group);
    else blank.push(...group);
  });
  if (blank.length) found.at(-1)!.unshift(...blank);
  return found;
}

export async function answerOf(trace: Trace): Promise<Answer> {
  const { text, translation, edits, confidence } = trace.document;
  const { id, model, source, predicted, predictions, problems } = trace;
  return groupAnswer({
    id, model, text, translation, source, predicted, predictions, problems,
    attention: await attentionOf(trace, "cross", -1, -1),
    confidence: confidence ?? null,
    edits: edits as unknown as Edit[],
  });
}
