import type { Op } from "../../data/document";
import { here } from "../../state.svelte";
import { labelled } from "../label";

export const say = labelled({
  title: ["The map", "地图"],
  help: [
    "Click a box to zoom in, Esc to zoom out. Space: next part. ← → back and forth, ↑ ↓ one layer up or down, [ ] one decoding step, P plays.",
    "点击方框放大，Esc 缩小。空格：下一部分。← → 前后，↑ ↓ 上下一层，[ ] 前后一个解码步，P 播放。",
  ],
  path: ["Where you are", "当前位置"],
  scene: ["Inside {name}", "{name} 之内"],
  open: ["Zoom into {name}", "放大 {name}"],
  out: ["Zoom out", "缩小"],
  play: ["Play", "播放"],
  pause: ["Pause", "暂停"],
  back: ["One part back", "上一部分"],
  next: ["Next part", "下一部分"],
  scrub: ["The whole translation, operation by operation", "整个翻译过程，逐个运算"],
  encoding: ["the encoder reads", "编码器读"],
  step: [
    "step {step}: “{before}” goes in, “{after}” comes out",
    "第 {step} 步：输入“{before}”，输出“{after}”",
  ],
  reads: ["reads", "读"],
  numbers: ["{shape} numbers", "{shape} 个数"],
  derived: ["derived", "推导所得"],
  section: ["paper {section}", "论文 {section}"],
  all: ["All its numbers", "它的全部数"],
  of: ["made of", "来自"],
  head: ["Head", "头"],
  weights: ["learnt weights", "学到的权重"],
  far: [
    "Each cell of a thumbnail is the number farthest from 0 in its bin; heads stand side by side.",
    "缩略图的每一格是该区间里离 0 最远的数；各个头并排。",
  ],
  elsewhere: ["These numbers are not in this recording.", "这份记录里没有这些数。"],
  like: ["+ {count} layers like these", "还有 {count} 个同样的层"],
});

const NAMES = {
  "": ["black box", "黑盒子"],
  model: ["Transformer", "Transformer"],
  encoder: ["encoder", "编码器"],
  decoder: ["decoder", "解码器"],
  output: ["choice of a word", "选词"],
  source_embedding: ["source embedding", "源句嵌入"],
  target_embedding: ["target embedding", "译文嵌入"],
  self_attention: ["self-attention", "自注意力"],
  cross_attention: ["cross-attention", "交叉注意力"],
  feed_forward: ["feed-forward", "前馈网络"],
  ids: ["ids", "编号"],
  embedded: ["embedded", "词嵌入"],
  positions: ["positions", "位置"],
  sum: ["sum", "和"],
  normed: ["norm", "归一化"],
  query: ["queries Q", "查询 Q"],
  key: ["keys K", "键 K"],
  value: ["values V", "值 V"],
  scores: ["scores", "得分"],
  mask: ["mask", "掩码"],
  masked: ["masked scores", "掩码后的得分"],
  weights: ["weights", "权重"],
  context: ["context", "上下文"],
  inner: ["widened", "展宽"],
  hidden: ["bent", "弯折"],
  memory: ["memory", "记忆"],
  last: ["last vectors", "最后的向量"],
  logits: ["logits", "logits"],
  probabilities: ["probabilities", "概率"],
  choice: ["most probable", "最可能的"],
} as const;
const EXTRA = {
  layer: ["{side} layer {n}", "{side}第 {n} 层"],
  added: ["add {block}", "加上{block}"],
  normedResidual: ["norm around {block}", "{block}处的归一化"],
  attentionOutput: ["heads joined, times W_O", "各头相连，乘 W_O"],
  feedOutput: ["brought back", "收回"],
} as const;
const sayName = labelled(NAMES as Record<keyof typeof NAMES, readonly [string, string]>);
const sayExtra = labelled(EXTRA as Record<keyof typeof EXTRA, readonly [string, string]>);

/** A box by its name, as people say it. */
export function nameOf(id: string): string {
  const layer = /^(encoder|decoder)\.(\d+)$/.exec(id);
  if (layer) return sayExtra("layer", { side: sayName(layer[1] as "encoder"), n: layer[2]! });
  const residual = /\.(\w+)_residual\.(sum|normed)$/.exec(id);
  if (residual) {
    const block = sayName(residual[1] as "feed_forward");
    return sayExtra(residual[2] === "sum" ? "added" : "normedResidual", { block });
  }
  if (id.endsWith("_attention.output")) return sayExtra("attentionOutput");
  if (id.endsWith("feed_forward.output")) return sayExtra("feedOutput");
  const last = id.split(".").at(-1)!;
  return last in NAMES ? sayName(last as keyof typeof NAMES) : id;
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

export const isChinese = (): boolean => here.language === "zh";
