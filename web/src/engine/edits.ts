/** The edits of see/edit.py, and what an engine answers to them. */

export type What = "positions" | "scale" | "mask" | "residual" | "norm";

export type Edit =
  | { do: "silence" | "mean"; name: string; head?: number }
  | { do: "pin"; name: string; key: number; head?: number; query?: number }
  | { do: "row"; name: string; position: number; head?: number; values?: number[]; factor?: number }
  | { do: "swap"; name: string; position: number; sentence: string; other: number }
  | { do: "word"; word: string; by: string }
  | { do: "prefix"; text: string }
  | { do: "without"; what: What; name?: string }
  | Cut;

/** Forbid the decoder to read a source word: in all layers, heads and rows, or in one. */
export interface Cut {
  do: "cut";
  word: string;
  occurrence?: number;
  layer?: number;
  head?: number;
  query?: number;
}

/** Two translations, without edits and with them, and how far the tensors are apart. */
export interface Changes {
  before: string;
  after: string;
  tokens: { token: string; before: number; after: number; instead: string }[];
  differences: Record<string, number | null>;
}
