/** A search as a tree: which candidate continues which, and where each is drawn. */

import type { Considered, Fate, Search } from "../../data/document";

export interface Node extends Considered {
  key: string;
  step: number;
  rank: number; // among the candidates of its step, from 0
  up: Node | null; // what it continues
  down: Node[];
  isChosen: boolean; // on the way to the translation on screen
  ending: number | null; // which of the hypotheses ended here
}

export interface Tree {
  steps: Node[][];
  chosen: Node[];
}

const ENDED: readonly Fate[] = ["FINISHED", "CUT"];

/** All candidates, linked; the n-th kept one of a step is row n of the next. */
export function grow(search: Search): Tree {
  const steps: Node[][] = [];
  let rows = new Map<number, Node>();
  search.steps.forEach((candidates, step) => {
    const nodes = candidates.map((each, rank): Node => ({
      ...each, key: `${step}.${rank}`, step, rank,
      up: rows.get(each.parent) ?? null, down: [], isChosen: false, ending: null,
    }));
    for (const node of nodes) node.up?.down.push(node);
    rows = new Map(nodes.flatMap((node) => (node.row === null ? [] : [[node.row, node]])));
    steps.push(nodes);
  });
  const endings = find(steps, search);
  endings.forEach((node, place) => (node.ending = place));
  const last = endings.get(search.chosen ?? 0);
  const chosen = last ? path(last) : [];
  for (const node of chosen) node.isChosen = true;
  return { steps, chosen };
}

/** The tokens from the beginning to a node. */
export function path(node: Node): Node[] {
  const found: Node[] = [];
  for (let at: Node | null = node; at; at = at.up) found.unshift(at);
  return found;
}

/** Where each hypothesis ended. */
function find(steps: Node[][], search: Search): Map<number, Node> {
  const ended = new Map<string, Node>();
  for (const node of steps.flat()) {
    if (!ENDED.includes(node.fate)) continue;
    const ids = path(node).map((each) => each.id);
    ended.set(name(node.fate === "FINISHED" ? ids.slice(0, -1) : ids, node.fate === "FINISHED"), node);
  }
  return new Map(
    search.hypotheses.flatMap(({ ids, finished }, place) => {
      const node = ended.get(name(ids.slice(search.prefix), finished));
      return node ? [[place, node] as const] : [];
    }),
  );
}

const name = (ids: number[], finished: boolean): string => `${ids.join()}${finished ? "." : ""}`;

/** Where arrows lead from a node. */
export function walk(tree: Tree, node: Node, key: string): Node | null {
  const column = tree.steps[node.step]!;
  switch (key) {
    case "ArrowLeft":
      return node.up;
    case "ArrowRight":
      return node.down.find((each) => each.isChosen) ?? node.down[0] ?? null;
    case "ArrowUp":
      return column[node.rank - 1] ?? null;
    case "ArrowDown":
      return column[node.rank + 1] ?? null;
    case "Home":
      return tree.steps[0]?.[0] ?? null;
    case "End":
      return tree.chosen.at(-1) ?? null;
    default:
      return null;
  }
}
