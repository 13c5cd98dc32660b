/** A formula as a tree that becomes MathML on screen and LaTeX for papers. */

export type Tag = "mrow" | "mi" | "mn" | "mo" | "mtext" | "msub" | "msup" | "mfrac" | "msqrt" | "munder";

export interface Maths {
  tag: Tag;
  text?: string;
  role?: string; // of the tensor that it names: its colour
  kids?: Maths[];
}

export const mi = (text: string, role?: string): Maths => ({ tag: "mi", text, role });
export const mn = (text: string): Maths => ({ tag: "mn", text });
export const mo = (text: string): Maths => ({ tag: "mo", text });
/** Spaces at the ends of words would be lost in MathML, so they are hard ones. */
export const words = (text: string): Maths => ({ tag: "mtext", text: text.replaceAll(" ", "\u00a0") });
export const row = (...kids: Maths[]): Maths => ({ tag: "mrow", kids });
export const sub = (base: Maths, below: Maths): Maths => ({ tag: "msub", kids: [base, below] });
export const sup = (base: Maths, above: Maths): Maths => ({ tag: "msup", kids: [base, above] });
export const over = (above: Maths, below: Maths): Maths => ({ tag: "mfrac", kids: [above, below] });
export const root = (inner: Maths): Maths => ({ tag: "msqrt", kids: [inner] });
export const under = (base: Maths, below: Maths): Maths => ({ tag: "munder", kids: [base, below] });
export const inParentheses = (inner: Maths): Maths => row(mo("("), inner, mo(")"));
export const sumOver = (letter: string, inner: Maths): Maths => row(under(mo("Σ"), mi(letter)), inner);
export const exp = (inner: Maths): Maths => sup(mi("e"), inner);

export function join(parts: readonly Maths[], sign: string): Maths {
  return row(...parts.flatMap((part, n) => (n ? [mo(sign), part] : [part])));
}

const SIGNS: Record<string, string> = {
  "Σ": "\\sum", "·": " \\cdot ", "√": "\\sqrt", "∞": "\\infty", "−": "-", "⋯": " \\cdots ",
  "≤": " \\le ", "≠": " \\ne ", "∧": " \\land ", "Φ": "\\Phi ", "ε": "\\varepsilon ", "←": " \\leftarrow ",
};

export function toLatex({ tag, text = "", kids = [] }: Maths): string {
  const [first = "", second = ""] = kids.map(toLatex);
  switch (tag) {
    case "mrow":
      return kids.map(toLatex).join(" ");
    case "msub":
    case "munder":
      return `${first}_{${second}}`;
    case "msup":
      return `${first}^{${second}}`;
    case "mfrac":
      return `\\frac{${first}}{${second}}`;
    case "msqrt":
      return `\\sqrt{${first}}`;
    case "mtext":
      return `\\text{${escape(text)}}`;
    case "mi":
      return [...text].length > 1 ? `\\mathrm{${escape(text)}}` : (SIGNS[text] ?? text);
    default: {
      const plain = [...text].map((sign) => SIGNS[sign] ?? sign).join("");
      const [, digits, power] = /^(.+)e([+-]?\d+)$/.exec(plain) ?? [];
      return digits ? `${digits} \\times 10^{${Number(power)}}` : plain;
    }
  }
}

const escape = (text: string): string =>
  text.replaceAll("\u00a0", " ").replace(/[_%#&$]/g, (sign) => `\\${sign}`);
