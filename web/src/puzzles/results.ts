/** What came of the puzzles of a set: kept in this browser, and told without giving anything away. */

import type { Kind } from "./kinds";

export type Result = "first" | "later" | "shown"; // right at once; after a hint or a wrong try; not found
export type Results = Partial<Record<Kind, Result>>;

const SQUARES: Record<Result, string> = { first: "🟩", later: "🟨", shown: "🟥" };
/** The same without colours. */
export const SIGNS: Record<Result, string> = { first: "✓", later: "↻", shown: "✗" };
const PLACE = "glassformer.puzzles";
const KEPT = 40; // sets

export function readResults(set: string): Results {
  return readAll()[set] ?? {};
}

export function writeResults(set: string, results: Results): void {
  const { [set]: _, ...others } = readAll();
  const kept = Object.entries({ ...others, [set]: results }).slice(-KEPT);
  try {
    localStorage.setItem(PLACE, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // then they are remembered as long as the page is open
  }
}

function readAll(): Record<string, Results> {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? (found as Record<string, Results>) : {};
  } catch {
    return {};
  }
}

/** The name of the set in an address, which may say anything; "": none. */
export function readName(view: string): string {
  const name = view.split("/")[1] ?? "";
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Where a set is, whatever its reader looked at besides: neither a sentence nor a token of a server is in it. */
export const addressOf = (set: string, model: string, href: string): string =>
  `${href.replace(/[?#].*$/, "")}#/puzzles/${encodeURIComponent(set)}${model && `?${new URLSearchParams({ model })}`}`;

/** A line to pass on: the set, how many were right at once, and a square for each puzzle. */
export function tellResults(title: string, kinds: readonly Kind[], results: Results, address: string): string {
  const squares = kinds.map((kind) => (results[kind] ? SQUARES[results[kind]] : "⬜"));
  const right = kinds.filter((kind) => results[kind] === "first" || results[kind] === "later").length;
  return `${title} ${right}/${kinds.length}\n${squares.join("")}\n${address}`;
}
