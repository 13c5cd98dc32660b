/** How the map calls its boxes, and the sign on each. */

import type { Op } from "../../data/document";
import { sayFrom } from "../../messages";
import table from "./messages.json";

export const say = sayFrom(table);

type Name = keyof typeof table.name;

/** A box by its name, as people say it. */
export function nameOf(id: string): string {
  const layer = /^(encoder|decoder)\.(\d+)$/.exec(id);
  if (layer) {
    const side = say(`name.${layer[1] as "encoder" | "decoder"}`);
    return say("around.layer", { side, n: layer[2]! });
  }
  const residual = /\.(\w+)_residual\.(sum|normed)$/.exec(id);
  if (residual) {
    const block = say(`name.${residual[1] as Name}`);
    return say(residual[2] === "sum" ? "around.added" : "around.normedResidual", { block });
  }
  if (id.endsWith("_attention.output")) return say("around.attentionOutput");
  if (id.endsWith("feed_forward.output")) return say("around.feedOutput");
  const last = id.split(".").at(-1) || "box";
  return last in table.name ? say(`name.${last as Name}`) : id;
}

const SIGNS: Record<string, string> = {
  ids: "id", embedded: "E[id]", positions: "sin cos", sum: "+", query: "x·W", key: "x·W", value: "x·W", scores: "q·k",
  mask: "0/1", masked: "−∞", weights: "softmax", context: "Σ α·v", output: "[h]·W", inner: "x·W", logits: "x·W",
  probabilities: "softmax", choice: "argmax",
};

/** What an op does, as a sign on its box. */
export function signOf(op: Op | null): string {
  if (!op) return "";
  if (op.module) return op.module.endsWith("Norm") ? "(x−μ)/σ" : "=";
  if (op.name.endsWith("feed_forward.output")) return "x·W";
  const [, max] = /^\(*(max|.*erf|.*exp)/.exec(op.equation ?? "") ?? [];
  if (op.name.endsWith(".hidden")) return max === "max" ? "max(0,x)" : max?.endsWith("erf") ? "gelu" : "silu";
  return SIGNS[op.name.split(".").at(-1)!] ?? "";
}
