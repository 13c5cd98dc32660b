/** The network as boxes within boxes, made from the names of the op-graph. */

import type { Op } from "../../data/document";
import { parse, tensorsOf } from "../../data/expression";

export interface Node {
  id: string; // "" is the black box; the name of an op is its own box
  parent: string | null;
  children: string[];
  op: Op | null;
  shows: string; // the tensor that stands for it
  reads: string[]; // names of ops outside it that it is made of
}

export type Tree = Map<string, Node>;

/** From the black box to the op, the op included. */
export function chainOf(name: string): string[] {
  const inner = /^(encoder|decoder)\.(\d+)\.(\w+?)(_residual)?\.\w+$/.exec(name);
  if (inner) {
    const [, side, layer, block, residual] = inner as unknown as string[];
    const above = ["", "model", side!, `${side}.${layer}`];
    return residual ? [...above, name] : [...above, `${side}.${layer}.${block}`, name];
  }
  const [first = ""] = name.split(".");
  const embedding = { source: "source_embedding", target: "target_embedding" }[first] ?? first;
  if (embedding === "source_embedding") return ["", "model", "encoder", embedding, name];
  if (embedding === "target_embedding") return ["", "model", "decoder", embedding, name];
  if (first === "memory") return ["", "model", "encoder", name];
  if (first === "last") return ["", "model", "decoder", name];
  return ["", "model", "output", name];
}

/** Not on the way of a translation: read off beside it. */
const ASIDE = /\.(contributions|mean|deviation|angle)$/;

export function isOnTheWay(op: Op): boolean {
  return op.kind !== "parameter" && !ASIDE.test(op.name);
}

export function makeTree(ops: Iterable<Op>): Tree {
  const tree: Tree = new Map();
  const all = [...ops].filter(isOnTheWay);
  for (const op of all) {
    chainOf(op.name).forEach((id, place, chain) => {
      let node = tree.get(id);
      if (!node) {
        const parent = chain[place - 1] ?? null;
        node = { id, parent, children: [], op: id === op.name ? op : null, shows: "", reads: [] };
        tree.set(id, node);
        if (parent !== null) tree.get(parent)!.children.push(id);
      }
      if (!op.derived || id === op.name) node.shows = op.name;
      for (const name of op.equation ? tensorsOf(parse(op.equation)) : []) {
        const isOutside = !chainOf(name).includes(id);
        if (isOutside && isThere(name, all) && !node.reads.includes(name)) node.reads.push(name);
      }
    });
  }
  const output = tree.get("output");
  if (output?.children.includes("probabilities")) output.shows = "probabilities";
  return tree;
}

const isThere = (name: string, ops: readonly Op[]) => ops.some((op) => op.name === name);

export const depthOf = (tree: Tree, id: string): number => listAbove(tree, id).length - 1;

/** The boxes around one, from the black box to itself. */
export function listAbove(tree: Tree, id: string): string[] {
  const found: string[] = [];
  for (let at: string | null = id; at !== null; at = tree.get(at)?.parent ?? null) found.unshift(at);
  return found;
}

/** Which boxes of a scene stand in one row: first those that need none of the others. */
export function rankChildren(tree: Tree, id: string): { rows: string[][]; edges: [string, string][] } {
  const { children } = tree.get(id)!;
  const edges: [string, string][] = [];
  const ranks = new Map<string, number>();
  for (const child of children) {
    let rank = 0;
    for (const name of tree.get(child)!.reads) {
      const from = chainOf(name).find((above) => children.includes(above));
      if (!from || from === child || edges.some(([a, b]) => a === from && b === child)) continue;
      edges.push([from, child]);
      rank = Math.max(rank, (ranks.get(from) ?? 0) + 1);
    }
    ranks.set(child, rank);
  }
  const rows: string[][] = [];
  for (const child of children) (rows[ranks.get(child)!] ??= []).push(child);
  return { rows, edges };
}

const ROLES: Record<string, string> = {
  query: "query",
  key: "key",
  value: "value",
  scores: "scores",
  masked: "scores",
  mask: "plain",
  weights: "weights",
  context: "heads",
  output: "linear",
  embedded: "embedded",
  positions: "positions",
  normed: "norm",
  inner: "feed_forward",
  hidden: "feed_forward",
  memory: "memory",
  last: "residual",
  logits: "logits",
  probabilities: "softmax",
  choice: "softmax",
  ids: "plain",
  encoder: "encoder",
  decoder: "decoder",
  model: "model",
  feed_forward: "feed_forward",
  self_attention: "attention",
  ssru: "linear",
  cross_attention: "attention",
  source_embedding: "embedded",
  target_embedding: "embedded",
};

/** The role of theme.css that gives a box its colours. */
export function roleOf(id: string): string {
  if (id.endsWith("embedding.sum")) return "sum";
  if (id.endsWith(".sum")) return "residual";
  if (/^(encoder|decoder)\.\d+$/.test(id)) return id.slice(0, 7);
  return ROLES[id.split(".").at(-1) ?? ""] ?? "plain";
}
