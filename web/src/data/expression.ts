/**
 * The grammar of equations, as `see/expression.py` has it: `sum[k] query[h,q,k] key[h,m,k] / 8`.
 * Parsed once, evaluated by hand: nothing of it ever runs as code.
 */

export type Expression =
  | { is: "number"; value: number }
  | { is: "letter"; name: string }
  | { is: "cells"; name: string; index: Expression[] }
  | { is: "operation"; sign: string; left: Expression; right: Expression }
  | { is: "call"; name: string; given: Expression[] }
  | { is: "reduction"; kind: string; letter: string; body: Expression };

export type Cells = Extract<Expression, { is: "cells" }>;
export type Reduction = Extract<Expression, { is: "reduction" }>;

const FUNCTIONS = new Set(["sqrt", "exp", "sin", "cos", "erf", "max", "sigmoid", "where"]);
const REDUCTIONS = new Set(["sum", "argmax"]);
const TOKEN = /\d+\.?\d*(?:e[+-]?\d+)?|[A-Za-z_]\w*(?:\.\w+)*|\/\/|\*\*|<=|[!=]=|\S/g;
const LEVELS = [["and"], ["<", "<=", "==", "!="], ["+", "-"], ["*", "/", "//", "%"]];

const parsed = new Map<string, Expression>();

/** The tree of an expression. Throws where it is none. */
export function parse(text: string): Expression {
  let found = parsed.get(text);
  if (!found) parsed.set(text, (found = read(text)));
  return found;
}

function read(text: string): Expression {
  const tokens = text.match(TOKEN) ?? [];
  let place = 0;

  const peek = (): string => tokens[place] ?? "";
  function next(wanted?: string): string {
    const token = tokens[place++] ?? "";
    if (!token || (wanted && token !== wanted)) throw new Error(`no equation: ${text}`);
    return token;
  }

  function operation(level: number): Expression {
    const below = level === LEVELS.length - 1 ? product : () => operation(level + 1);
    let left = below();
    while (LEVELS[level]!.includes(peek())) left = { is: "operation", sign: next(), left, right: below() };
    return left;
  }

  /** Factors side by side. */
  function product(): Expression {
    if (peek() === "-") {
      next();
      return { is: "operation", sign: "-", left: { is: "number", value: 0 }, right: product() };
    }
    let left = power();
    while (/^[\w(]/.test(peek()) && peek() !== "and") {
      left = { is: "operation", sign: " ", left, right: power() };
    }
    return left;
  }

  function power(): Expression {
    const left = atom();
    if (peek() !== "**") return left;
    next();
    return { is: "operation", sign: "**", left, right: atom() };
  }

  function list(begin: string, end: string): Expression[] {
    next(begin);
    const found = [operation(0)];
    while (peek() === ",") {
      next();
      found.push(operation(0));
    }
    next(end);
    return found;
  }

  function atom(): Expression {
    const token = next();
    if (token === "(") {
      const inner = operation(0);
      next(")");
      return inner;
    }
    if (/^\d/.test(token)) return { is: "number", value: Number(token) };
    if (token === "inf") return { is: "number", value: Number.POSITIVE_INFINITY };
    if (peek() === "[") {
      const index = list("[", "]");
      const [first] = index;
      if (REDUCTIONS.has(token) && index.length === 1 && first!.is === "letter") {
        return { is: "reduction", kind: token, letter: first.name, body: product() };
      }
      return { is: "cells", name: token, index };
    }
    if (FUNCTIONS.has(token)) return { is: "call", name: token, given: list("(", ")") };
    if (!/^[a-z]$/.test(token)) throw new Error(`no equation: ${text}`);
    return { is: "letter", name: token };
  }

  const found = operation(0);
  if (place < tokens.length) throw new Error(`no equation: ${text}`);
  return found;
}

/** The expressions directly below one. */
export function childrenOf(part: Expression): Expression[] {
  switch (part.is) {
    case "operation":
      return [part.left, part.right];
    case "cells":
      return part.index;
    case "call":
      return part.given;
    case "reduction":
      return [part.body];
    default:
      return [];
  }
}

/** An expression and all that it is made of, from left to right. */
export function* walk(part: Expression): Generator<Expression> {
  yield part;
  for (const child of childrenOf(part)) yield* walk(child);
}

/** The tensors that an expression names, each once. */
export function tensorsOf(part: Expression): string[] {
  const names = [...walk(part)].flatMap((each) => (each.is === "cells" ? [each.name] : []));
  return [...new Set(names)];
}

/** What is added up, each with its sign. */
export function addendsOf(part: Expression): [number, Expression][] {
  if (part.is !== "operation" || (part.sign !== "+" && part.sign !== "-")) return [[1, part]];
  const { sign, left, right } = part;
  const first = left.is === "number" && left.value === 0 ? [] : addendsOf(left);
  const second = addendsOf(right);
  return [...first, ...(sign === "+" ? second : second.map(([s, x]): [number, Expression] => [-s, x]))];
}

/** What is multiplied, and whether it stands above the fraction's bar. */
export function factorsOf(part: Expression): [boolean, Expression][] {
  if (part.is !== "operation") return [[true, part]];
  const { sign, left, right } = part;
  if (sign === " " || sign === "*") return [...factorsOf(left), ...factorsOf(right)];
  if (sign !== "/") return [[true, part]];
  const below = factorsOf(right).map(([isAbove, x]): [boolean, Expression] => [!isAbove, x]);
  return [...factorsOf(left), ...below];
}

/** exp(a) / sum exp(b): what is divided so is computed without overflow. */
export function softmaxOf(part: Expression): { above: Expression; sum: Reduction; below: Expression } | null {
  if (part.is !== "operation" || part.sign !== "/") return null;
  const { left, right } = part;
  if (left.is !== "call" || left.name !== "exp" || right.is !== "reduction" || right.kind !== "sum") return null;
  const { body } = right;
  if (body.is !== "call" || body.name !== "exp") return null;
  return { above: left.given[0]!, sum: right, below: body.given[0]! };
}

export const OPERATIONS: Record<string, (a: number, b: number) => number> = {
  " ": (a, b) => a * b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => a - b * Math.floor(a / b),
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "**": (a, b) => a ** b,
  "<": (a, b) => Number(a < b),
  "<=": (a, b) => Number(a <= b),
  "==": (a, b) => Number(a === b),
  "!=": (a, b) => Number(a !== b),
  and: (a, b) => Number(a !== 0 && b !== 0),
};

export const CALLS: Record<string, (...given: number[]) => number> = {
  sqrt: Math.sqrt,
  exp: Math.exp,
  sin: Math.sin,
  cos: Math.cos,
  erf,
  max: Math.max,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  where: (condition, yes, no) => (condition ? yes! : no!),
};

/** By its series near 0, and by a continued fraction beyond 3; both to 1e-15. */
export function erf(x: number): number {
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  if (size > 3) {
    let tail = 0;
    for (let n = 60; n > 0; n--) tail = n / 2 / (size + tail);
    return Math.sign(x) * (1 - Math.exp(-size * size) / (Math.sqrt(Math.PI) * (size + tail)));
  }
  let [total, power] = [x, x];
  for (let n = 1; n < 80; n++) {
    power *= (-x * x) / n;
    total += power / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * total;
}

/** Neumaier's: what each addition loses is added at the end. */
export function sum(values: readonly number[]): number {
  let total = 0;
  let lost = 0;
  for (const value of values) {
    const next = total + value;
    lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total;
    total = next;
  }
  return Number.isFinite(lost) ? total + lost : total;
}
