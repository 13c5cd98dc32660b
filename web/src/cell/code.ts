/** One number as LaTeX, and as NumPy that computes it from `trace`, the recording. */

import { parse, softmaxOf, walk, type Expression } from "../data/expression";
import type { Trace } from "../data/trace";
import { number } from "../format";
import type { Explanation } from "./explain";
import { toNumbers } from "./formula";
import { mn, toLatex } from "./maths";

export function writeLatex(trace: Trace, found: Explanation): string {
  const last = found.name.split(".").at(-1)!;
  const symbol = trace.entry(found.name)?.symbol ?? `\\mathrm{${last.replaceAll("_", "\\_")}}`;
  const left = `\\Big[${symbol}\\Big]_{${found.index.join(",")}}`;
  const value = toLatex(mn(number(found.recomputed)));
  return `\\begin{aligned} ${left} &= ${toLatex(toNumbers(found))} \\\\ &= ${value} \\end{aligned}`;
}

export function writeNumpy(found: Explanation): string {
  const { op, index } = found;
  const lines = ["import math", "", "import numpy as np", ""];
  if (!op.equation) return [...lines, `value = trace["${op.name}"][${index.join(", ")}]`, ""].join("\n");
  const equation = parse(op.equation);
  const letters = [...walk(equation)].flatMap((part) => (part.is === "reduction" ? [part.letter] : []));
  for (const letter of new Set(letters)) lines.push(`${letter} = np.arange(${op.sizes[letter]})`);
  const at = Object.fromEntries(op.axes.map((axis, n) => [axis.letter, String(index[n])]));
  lines.push('with np.errstate(over="ignore"):', `    value = ${code(equation, at)}`, "");
  return lines.join("\n");
}

type Names = Record<string, string>; // what letters are called: numbers, but for those summed over

const NUMPY: Record<string, string> = {
  sqrt: "np.sqrt", exp: "np.exp", sin: "np.sin", cos: "np.cos", erf: "math.erf", max: "np.maximum",
  sigmoid: "(lambda x: 1 / (1 + np.exp(-x)))", where: "np.where",
};

const without = (at: Names, letter: string): Names =>
  Object.fromEntries(Object.entries(at).filter(([each]) => each !== letter));

/** With parentheses around every operation: nobody has to know which sign binds more tightly. */
function code(part: Expression, at: Names): string {
  const soft = softmaxOf(part);
  if (soft) {
    const inner = code(soft.below, without(at, soft.sum.letter));
    return `np.exp(${code(soft.above, at)} - np.max(${inner})) / np.sum(np.exp(${inner} - np.max(${inner})))`;
  }
  switch (part.is) {
    case "number":
      return Number.isFinite(part.value) ? String(part.value) : "np.inf";
    case "letter":
      return at[part.name] ?? part.name;
    case "cells": {
      const cells = `trace["${part.name}"][${part.index.map((each) => code(each, at)).join(", ")}]`;
      return part.name.endsWith(".ids") ? cells : `np.float64(${cells})`;
    }
    case "operation": {
      const sign = { " ": "*", and: "&" }[part.sign] ?? part.sign;
      return `(${code(part.left, at)} ${sign} ${code(part.right, at)})`;
    }
    case "call":
      return `${NUMPY[part.name]}(${part.given.map((each) => code(each, at)).join(", ")})`;
    case "reduction":
      return `np.${part.kind}(${code(part.body, without(at, part.letter))})`;
  }
}
