/** One number as LaTeX, and as NumPy that computes it from `trace`, the recording. */

import type { Operand, Positions } from "../data/document";
import type { Trace } from "../data/trace";
import { number } from "../format";
import { waveOf, type Explanation } from "./explain";
import { LINEAR, toNumbers } from "./formula";
import { mn, toLatex } from "./maths";
import { alongOf } from "./operands";

export function writeLatex(trace: Trace, found: Explanation): string {
  const last = found.name.split(".").at(-1)!;
  const symbol = trace.entry(found.name)?.symbol ?? `\\mathrm{${last.replaceAll("_", "\\_")}}`;
  const left = `\\Big[${symbol}\\Big]_{${found.index.join(",")}}`;
  const value = toLatex(mn(number(found.recomputed)));
  return `\\begin{aligned} ${left} &= ${toLatex(toNumbers(found))} \\\\ &= ${value} \\end{aligned}`;
}

export function writeNumpy(trace: Trace, found: Explanation): string {
  const { op } = found;
  const along = alongOf(op);
  const at = new Map(op.axes.map((axis, n) => [axis.letter, found.index[n]!]));
  const inner = new Map([...at].filter(([letter]) => letter !== along?.letter));
  const lines = ["import math", "", "import numpy as np", ""];
  if (along) lines.push(`${along.letter} = np.arange(${along.size})`);
  op.operands.forEach((operand, n) => lines.push(`${"xyz"[n]} = ${fetch(trace, found, operand, inner)}`));
  if (op.mask) lines.push(`allowed = ${fetch(trace, found, op.mask, inner)} > 0`);
  if (op.bias) lines.push(`bias = ${fetch(trace, found, op.bias, inner)}`);
  return [...lines, `value = ${computation(found, at)}`, ""].join("\n");
}

/** Cells of an operand, with numbers for the letters that are fixed. */
function fetch(trace: Trace, found: Explanation, operand: Operand, at: Map<string, number>): string {
  const index = operand.index.map((text) => {
    const side = String(found.op.detail).startsWith("target") ? "target" : "source";
    const filled = text.replace("ids[q]", () => String(trace.ids(side)(at.get("q")!)));
    return filled.replace(/\b[a-z]\b/g, (letter) => String(at.get(letter) ?? letter));
  });
  return `np.float64(trace["${operand.name}"][${index.join(", ")}])`;
}

function computation(found: Explanation, at: Map<string, number>): string {
  const { op } = found;
  const bias = op.bias ? " + bias" : "";
  if (op.kind === "input" || op.kind === "parameter") return `trace["${op.name}"][${found.index.join(", ")}]`;
  if (op.kind === "position") return position(found);
  if (LINEAR.has(op.kind)) {
    const made = op.over ? "np.sum(x * y)" : [..."xyz"].slice(0, op.operands.length).join(" + ");
    return `${op.scale === 1 ? "" : `${op.scale} * `}${op.over || op.operands.length === 1 ? made : `(${made})`}${bias}`;
  }
  const powers = op.mask ? "np.where(allowed, np.exp(x), 0)" : "np.exp(x)";
  const own = at.get(op.axes.at(-1)?.letter ?? "");
  const made: Record<string, string> = {
    softmax: `(${powers} / np.sum(${powers}))[${own}]`,
    masked: "x if allowed else -np.inf",
    mask: `x != 0${op.detail ? ` and ${at.get("m")} <= ${at.get("q")}` : ""}`,
    layernorm: `(y - x.mean()) / np.sqrt(x.var() + ${op.detail}) * z${bias}`,
    mean: "x.mean()",
    deviation: `np.sqrt(x.var() + ${op.detail})`,
    argmax: "x.argmax()",
    relu: "max(x, 0)",
    silu: "x * np.exp(-np.logaddexp(0, -x))",
    gelu: "x * (1 + math.erf(x / math.sqrt(2))) / 2",
  };
  return made[op.kind] ?? "x";
}

function position(found: Explanation): string {
  const settings = found.op.detail as Positions;
  const { frequency, steps, isSine } = waveOf(settings, found.op.axes[1]!.size, found.index[1]!);
  const angle = `${found.index[0]! + settings.offset} * 10000 ** (-${frequency} / ${steps})`;
  return `${settings.amplitude} * math.${isSine ? "sin" : "cos"}(${angle})`;
}
