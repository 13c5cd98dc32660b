/** The indices of an op: `h*8+k`, `j//8`, `j%8`, `ids[q]`. Evaluated, never run as code. */

export type Scope = (letter: string) => number;
export type Lookup = (place: number) => number;
export type Evaluate = (scope: Scope, ids: Lookup) => number;

const parsed = new Map<string, Evaluate>();

export function evaluate(text: string, scope: Scope, ids: Lookup): number {
  let found = parsed.get(text);
  if (!found) parsed.set(text, (found = parse(text)));
  return found(scope, ids);
}

/** The letters that an index depends on. */
export function letters(texts: readonly string[]): Set<string> {
  return new Set(texts.join(" ").match(/\b[a-z]\b/g));
}

function parse(text: string): Evaluate {
  const tokens = text.match(/ids\[|\/\/|[a-z]|\d+|[\]+*%()]/g) ?? [];
  if (tokens.join("") !== text.replaceAll(" ", "")) throw new Error(`no index: ${text}`);
  let next = 0;

  function sum(): Evaluate {
    let left = product();
    while (tokens[next] === "+") {
      next++;
      const [a, b] = [left, product()];
      left = (scope, ids) => a(scope, ids) + b(scope, ids);
    }
    return left;
  }

  function product(): Evaluate {
    let left = atom();
    for (let sign = tokens[next]; sign === "*" || sign === "//" || sign === "%"; sign = tokens[next]) {
      next++;
      const [a, b, apply] = [left, atom(), OPERATORS[sign]];
      left = (scope, ids) => apply(a(scope, ids), b(scope, ids));
    }
    return left;
  }

  function atom(): Evaluate {
    const token = tokens[next++] ?? "";
    if (/^\d+$/.test(token)) {
      const number = Number(token);
      return () => number;
    }
    if (/^[a-z]$/.test(token)) return (scope) => scope(token);
    if (token === "ids[" || token === "(") {
      const inner = sum();
      if (tokens[next++] !== (token === "(" ? ")" : "]")) throw new Error(`no index: ${text}`);
      return token === "(" ? inner : (scope, ids) => ids(inner(scope, ids));
    }
    throw new Error(`no index: ${text}`);
  }

  const found = sum();
  if (next !== tokens.length) throw new Error(`no index: ${text}`);
  return found;
}

const OPERATORS = {
  "*": (a: number, b: number) => a * b,
  "//": (a: number, b: number) => Math.floor(a / b),
  "%": (a: number, b: number) => a % b,
};
