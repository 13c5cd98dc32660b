/** How the cells of a tensor are made, in letters; and how one of them was, in numbers. */

import type { Op, Operand, Positions } from "../data/document";
import { number } from "../format";
import { waveOf, type Cell, type Explanation } from "./explain";
import {
  exp, inParentheses, join, mi, mn, mo, over, root, row, sub, sumOver, sup, words, type Maths,
} from "./maths";
import { alongOf } from "./operands";
import { roleOf, shorten } from "./role";
import { topOf } from "./rows";

export const LINEAR = new Set(["gather", "add", "copy", "matmul", "dot", "weighted_sum", "concat"]);
const SHOWN = 2; // terms before the dots

/** `scores[h,q,m] = 1/√8 Σ_k query[h,q,k] · key[h,m,k]`; null for what nothing makes. */
export function toFormula(op: Op): Maths | null {
  if (op.kind === "input" || op.kind === "parameter") return null;
  const own = { name: op.name, index: op.axes.map((axis) => axis.letter) };
  return row(write(own, op), mo("="), writeRight(op));
}

function write(operand: Operand, op: Op): Maths {
  const name = mi(shorten(operand.name, op.name), roleOf(operand.name));
  return operand.index.length ? sub(name, words(operand.index.join(","))) : name;
}

function writeRight(op: Op): Maths {
  const named = op.operands.map((operand) => write(operand, op));
  const [x = mi("x")] = named;
  const letter = alongOf(op)?.letter ?? "";
  const bias = op.bias ? [mo("+"), write(op.bias, op)] : [];
  if (LINEAR.has(op.kind)) {
    const joined = op.over ? sumOver(letter, join(named, "·")) : join(named, "+");
    return row(...(op.scale_formula ? [writeScale(op.scale_formula), mo("·")] : []), joined, ...bias);
  }
  const mean = (of: Maths) => row(sub(mi("mean"), mi(letter)), of);
  const spread = (of: Maths) =>
    root(row(sub(mi("var"), mi(letter)), of, mo("+"), mn(number(Number(op.detail)))));
  switch (op.kind) {
    case "position":
      return writePosition(op.detail as Positions, op.axes[1]!.size);
    case "layernorm":
      return row(over(row(named[1]!, mo("−"), mean(x)), spread(x)), mo("·"), named[2]!, ...bias);
    case "softmax": {
      const seen = op.mask ? [words(" where "), write(op.mask, op)] : [];
      return row(over(exp(x), sumOver(letter, exp(x))), ...seen);
    }
    case "masked":
      return row(x, words(" where "), write(op.mask!, op), words(", else "), mn("−∞"));
    case "mask":
      return row(x, mo("≠"), mn("0"), ...(op.detail ? [mo("∧"), mi("m"), mo("≤"), mi("q")] : []));
    case "mean":
      return mean(x);
    case "deviation":
      return spread(x);
    case "argmax":
      return row(sub(mi("argmax"), mi(letter)), x);
    default:
      return activation(op.kind, x);
  }
}

function activation(kind: string, x: Maths): Maths {
  if (kind === "relu") return row(mi("max"), inParentheses(row(x, mo(","), mn("0"))));
  if (kind === "silu") return over(x, row(mn("1"), mo("+"), exp(row(mo("−"), x))));
  return row(x, mo("·"), mi("Φ"), inParentheses(x));
}

/** "1/√8" or "√64". */
function writeScale(text: string): Maths {
  const [, isOver, inner] = /^(1\/)?√(\d+)$/.exec(text) ?? [];
  if (!inner) return mn(text);
  return isOver ? over(mn("1"), root(mn(inner))) : root(mn(inner));
}

function writePosition(settings: Positions, width: number): Maths {
  const half = Math.floor(width / 2);
  const pair = settings.layout === "interleaved" ? "⌊d/2⌋" : `d mod ${half}`;
  const steps = waveOf(settings, width, 0).steps;
  const power = sup(mn("10000"), row(mo("−"), words(pair), mo("/"), mn(String(steps))));
  const from = settings.offset ? [mo("+"), mn(String(settings.offset))] : [];
  return row(words("sin or cos of "), inParentheses(row(mi("q"), ...from)), mo("·"), power);
}

/** The right side with numbers in it; the middle of many terms is left out. */
export function toNumbers(found: Explanation): Maths {
  const { op, terms } = found;
  const add = found.bias || op.kind === "deviation" ? [mo("+"), mn(signed(found.added))] : [];
  if (op.kind === "softmax" && found.mask !== false) return soften(terms[0]!.operands);
  if (op.kind === "masked") return mn(number(found.recomputed));
  if (op.kind === "position") return wave(found);
  const [own] = terms[0]?.operands ?? [];
  if (own && ["relu", "silu", "gelu"].includes(op.kind)) return activation(op.kind, mn(signed(own.value)));
  const written = terms.map((term) => {
    const values = term.operands.map((cell) => cell.value);
    const isProduct = values.length === 2 && Math.abs(values[0]! * values[1]! - term.value) <= 1e-9 * Math.abs(term.value);
    return isProduct ? join(values.map((value) => mn(signed(value))), "·") : mn(signed(term.value));
  });
  const most = 2 * SHOWN;
  const listed = written.length > most ? [...written.slice(0, SHOWN), mo("⋯"), written.at(-1)!] : written;
  const joined = join(listed, "+");
  const scaled = found.scale === 1 ? joined : row(mn(number(found.scale)), mo("·"), inParentheses(joined));
  const all = row(scaled, ...add);
  return op.kind === "deviation" ? root(all) : all;
}

function soften(cells: readonly Cell[]): Maths {
  const top = topOf(cells);
  const power = (cell: Cell) => exp(row(mn(number(cell.value)), mo("−"), mn(signed(top))));
  const shown = cells.slice(0, SHOWN).map(power);
  const below = cells.length > SHOWN ? [...shown, mo("⋯")] : shown;
  return over(power(cells[0]!), join(below, "+"));
}

function wave(found: Explanation): Maths {
  const settings = found.op.detail as Positions;
  const { frequency, steps, isSine } = waveOf(settings, found.op.axes[1]!.size, found.index[1]!);
  const angle = (found.index[0]! + settings.offset) * 10000 ** (-frequency / steps);
  const value = row(mi(isSine ? "sin" : "cos"), inParentheses(mn(number(angle))));
  return found.scale === 1 ? value : row(mn(number(found.scale)), mo("·"), value);
}

/** As it is written after an operator. */
export function signed(value: number): string {
  return value < 0 ? `(${number(value)})` : number(value);
}
