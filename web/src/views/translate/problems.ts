/** What looks wrong with a translation, in the reader's language; the server says it in English. */

import type { Problem } from "../../data/document";
import { here } from "../../state.svelte";
import { labelled, type Pair } from "../label";

const LABELS = {
  empty: ["{said}", "没有译文"],
  loop: ["{said}", "译文在重复"],
  copy: ["{said}", "译文几乎照抄了原文"],
  short: ["{said}", "译文比原文短得多"],
  long: ["{said}", "译文比原文长得多"],
  cut: ["{said}", "译文到达最大长度而被截断"],
  lost: ["{said}", "译文中缺少：{detail}"],
  unknown: ["{said}", "有模型不认识的内容：{detail}"],
  language: ["{said}", "看来不是这个模型的源语言"],
  unsure: ["{said}", "模型给自己的译文的概率很低"],
  parts: ["{said}", "太长，只能分段翻译"],
} satisfies Record<string, Pair>;

const label = labelled<keyof typeof LABELS>(LABELS);

/** All of them in one line; of a kind that is not known here, what the server says. */
export function tell(problems: readonly Problem[]): string {
  const told = problems.map(({ kind, said }) => {
    if (!(kind in LABELS)) return said;
    const detail = said.slice(said.indexOf(": ") + 1).trim();
    return label(kind as keyof typeof LABELS, { said, detail });
  });
  return told.join(here.language === "zh" ? "；" : "; ");
}
