/** How the cells of a tensor are made, in letters; and how one of them was, in numbers. */

import type { Op } from "../data/document";
import { parse, type Cells, type Expression } from "../data/expression";
import { number } from "../format";
import type { Explanation, Reader } from "./explain";
import {
  exp, inParentheses, join, mi, mn, mo, over, root, row, sub, sumOver, sup, words, type Maths,
} from "./maths";
import { roleOf, shorten } from "./role";

const SHOWN = 2; // terms before the dots
const ATOM = 6;
const TIGHTNESS: Record<string, number> = {
  and: 0, "<": 1, "<=": 1, "==": 1, "!=": 1, "+": 2, "-": 2, "*": 3, "%": 3, "//": 3, " ": 4,
};
const SIGNS: Record<string, string> = {
  " ": "·", "*": "·", "<=": "≤", "!=": "≠", "==": "=", "-": "−", and: "∧", "%": "mod", "//": "÷",
};

interface Writer {
  cells(part: Cells): Maths;
  letter(name: string): Maths;
  sum(letter: string, body: Expression, writer: Writer): [Maths, number];
}

/** `scores[h,q,m] = Σ_k query[h,q,k] · key[h,m,k] / √8`; null for what nothing makes. */
export function toFormula(op: Op): Maths | null {
  if (!op.equation) return null;
  const own = write(op.name, op.axes.map((axis) => axis.letter).join(","), op);
  const writer: Writer = {
    cells: (part) => write(part.name, part.index.map(writeIndex).join(","), op),
    letter: (name) => mi(name),
    sum: (letter, body, self) => [sumOver(letter, writeIn(body, self, 4)), 4],
  };
  return row(own, mo("="), writeIn(parse(op.equation), writer));
}

function write(name: string, index: string, op: Op): Maths {
  const written = mi(shorten(name, op.name), roleOf(name));
  return index ? sub(written, words(index)) : written;
}

function writeIndex(part: Expression): string {
  switch (part.is) {
    case "number":
      return String(part.value);
    case "letter":
      return part.name;
    case "cells":
      return `${part.name}[${part.index.map(writeIndex).join(",")}]`;
    case "operation":
      return `${writeIndex(part.left)}${part.sign}${writeIndex(part.right)}`;
    default:
      return "…";
  }
}

/** The right side with numbers in it; the middle of many terms is left out. */
export function toNumbers(found: Explanation): Maths {
  const { op, reader } = found;
  if (!reader || /(^|\.)masked$/.test(op.name)) return mn(number(found.recomputed));
  return writeIn(parse(op.equation!), numbersOf(reader));
}

function numbersOf(reader: Reader): Writer {
  return {
    cells: (part) => mn(signed(reader.value(part))),
    letter: (name) => mn(String(reader.at[name])),
    sum: (letter, body) => {
      const all = reader.along(letter);
      const written = (list: Reader[]) => list.map((each) => writeIn(body, numbersOf(each), 3));
      const isLong = all.length > 2 * SHOWN;
      const first = written(isLong ? all.slice(0, SHOWN) : all);
      return [join(isLong ? [...first, mo("⋯"), ...written(all.slice(-1))] : first, "+"), 2];
    },
  };
}

function writeIn(part: Expression, writer: Writer, around = 0): Maths {
  const [written, tightness] = writeBare(part, writer);
  return tightness < around ? inParentheses(written) : written;
}

/** The formula, and how tightly it holds together. */
function writeBare(part: Expression, writer: Writer): [Maths, number] {
  switch (part.is) {
    case "number":
      return [mn(number(part.value)), ATOM];
    case "letter":
      return [writer.letter(part.name), ATOM];
    case "cells":
      return [writer.cells(part), ATOM];
    case "reduction":
      if (part.kind === "sum") return writer.sum(part.letter, part.body, writer);
      return [row(sub(mi(part.kind), mi(part.letter)), writeIn(part.body, writer, 4)), 4];
    case "operation":
      return writeOperation(part.sign, part.left, part.right, writer);
    case "call":
      return writeCall(part.name, part.given, writer);
  }
}

function writeOperation(sign: string, left: Expression, right: Expression, writer: Writer): [Maths, number] {
  if (sign === "/") return [over(writeIn(left, writer), writeIn(right, writer)), ATOM];
  if (sign === "**") return [sup(writeIn(left, writer, ATOM), writeIn(right, writer)), 5];
  if (sign === "-" && left.is === "number" && left.value === 0) return [row(mo("−"), writeIn(right, writer, 3)), 2];
  const tight = TIGHTNESS[sign]!;
  const after = tight + ("+* and".includes(sign) ? 0 : 1);
  return [row(writeIn(left, writer, tight), mo(SIGNS[sign] ?? sign), writeIn(right, writer, after)), tight];
}

function writeCall(name: string, given: Expression[], writer: Writer): [Maths, number] {
  const written = given.map((each) => writeIn(each, writer));
  if (name === "sqrt") return [root(written[0]!), ATOM];
  if (name === "exp") return [exp(written[0]!), 5];
  if (name === "where") {
    return [row(written[1]!, words(" where "), written[0]!, words(", else "), written[2]!), 0];
  }
  return [row(mi(name), inParentheses(join(written, ","))), ATOM];
}

function signed(value: number): string {
  return value < 0 ? `(${number(value)})` : number(value);
}
