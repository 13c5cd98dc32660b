/** The story in the reader's language, with the numbers of the recording in its sentences. */

import type { Trace } from "../data/trace";
import { fill, tellIn, type Fill, type Language, type Told } from "../messages";
import table from "./messages.json";

export type Words = Told<typeof table>;

export const tell = (language: Language): Words => tellIn(table, language);

/** A text of a card, filled in; a quoted sentence has a full stop of its own. */
export const fillCard = (text: string, facts: Fill): string => fill(text, facts).replace(/([.!?…。！？]”)[.。]/gu, "$1");

/** A number as it is read: 8, 5.66. */
export function short(value: number): string {
  return String(Number(value.toFixed(2)));
}

/** What stands for the braces of a card. */
export function listFacts(trace: Trace, words: Words): Record<string, string> {
  const { settings, text, translation, target_vocabulary } = trace.document;
  const { d_model: d, heads, d_ff } = settings;
  const width = settings.head_width ?? d / heads;
  return {
    source: text,
    translation,
    S: String(trace.source.length),
    T: String(trace.predicted.length),
    SS: String(trace.source.length ** 2),
    d: String(d),
    h: String(heads),
    k: String(width),
    f: String(d_ff),
    E: String(settings.encoder_layers),
    D: String(settings.decoder_layers),
    V: String(target_vocabulary),
    root: short(Math.sqrt(d)),
    rootk: short(Math.sqrt(width)),
    halfroot: short(Math.sqrt(d / 2)),
    norm: words.ui[`norm-${settings.norm}`],
    activation: { relu: "ReLU", silu: "SiLU", gelu: "GELU" }[settings.activation],
  };
}
