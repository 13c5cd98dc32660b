/** What a first look at a translation needs, from its recording or from what the server says of it. */

import { attentionOf } from "../data/derive";
import type { Prediction, Problem, Token, Whole } from "../data/document";
import type { Tensor } from "../data/tensor";
import type { Trace } from "../data/trace";
import { groupWords, mergeWords, type Groups } from "../data/words";
import type { Edit } from "./edits";
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
  whole?: Whole | null;
}

export function groupAnswer(plain: Plain): Answer {
  const sourceWords = readWords(plain.source, plain.text);
  const targetWords = readWords(plain.predicted, plain.translation);
  const attention = mergeWords(plain.attention, targetWords, sourceWords);
  return { ...plain, sourceWords, targetWords, attention };
}

/** A token that spells nothing joins the next word. */
export function readWords(tokens: readonly Token[], text: string): Groups {
  const isEastern = (place: number) => /[\u2e80-\u9fff\uf900-\ufaff]/.test(tokens[place]!.text);
  const letters = Array.from(text);
  const begins = beginsOf(text);
  const groups = groupWords(tokens, text).flatMap((group) => (group.some(isEastern) ? part(group, tokens, begins) : [group]));
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

/** Words that are written without spaces: a token within one joins those before it. */
function part(group: readonly number[], tokens: readonly Token[], begins: ReadonlySet<number> | null): Groups {
  const found: Groups = [];
  for (const place of group) {
    const isWithin = found.length > 0 && begins !== null && !begins.has(tokens[place]!.start);
    if (isWithin) found.at(-1)!.push(place);
    else found.push([place]);
  }
  return found;
}

/** Where words begin, in characters, by the browser's own list; null where it has none. */
function beginsOf(text: string): Set<number> | null {
  if (!("Segmenter" in Intl)) return null;
  const language = /[\u3040-\u30ff]/.test(text) ? "ja" : "zh";
  const parts = new Intl.Segmenter(language, { granularity: "word" }).segment(text);
  const begins = new Set<number>();
  let before = 0; // characters; the segmenter counts halves of some
  for (const { segment } of parts) {
    begins.add(before);
    before += Array.from(segment).length;
  }
  return begins;
}

export async function answerOf(trace: Trace): Promise<Answer> {
  const { text, translation, edits, confidence, whole = null } = trace.document;
  const { id, model, source, predicted, predictions, problems } = trace;
  return groupAnswer({
    id, model, text, translation, source, predicted, predictions, problems, whole,
    attention: await attentionOf(trace, "cross", -1, -1),
    confidence: confidence ?? null,
    edits: edits as unknown as Edit[],
  });
}
