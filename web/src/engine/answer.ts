/** What a first look at a translation needs, from its recording. */

import { attentionOf } from "../data/derive";
import type { Trace } from "../data/trace";
import { groupWords, mergeWords } from "../data/words";
import type { Edit } from "../views/whatif/edits";
import type { Answer } from "./engine";

export async function answerOf(trace: Trace): Promise<Answer> {
  const { text, translation, edits, confidence } = trace.document;
  const sourceWords = groupWords(trace.source, text);
  const targetWords = groupWords(trace.predicted, translation);
  const attention = await attentionOf(trace, "cross", -1, -1);
  return {
    id: trace.id,
    model: trace.model,
    text,
    translation,
    source: trace.source,
    predicted: trace.predicted,
    predictions: trace.predictions,
    sourceWords,
    targetWords,
    attention: mergeWords(attention, targetWords, sourceWords),
    confidence: confidence ?? null,
    problems: trace.problems,
    edits: edits as unknown as Edit[],
  };
}
