/** All tensors of a recording by the part of the network that they pass. */

import type { Trace } from "../../data/trace";

export function groupTensors(trace: Trace): [string, string[]][] {
  const groups = new Map<string, string[]>();
  for (const op of trace.ops.values()) {
    if (op.kind === "parameter") continue;
    const isHere = op.derived || op.kind === "input" || op.name in trace.document.tensors;
    if (!isHere) continue;
    const [, layer] = /^((?:encoder|decoder)\.\d+)\./.exec(op.name) ?? [];
    const group = layer ?? op.name.split(/[._]/)[0]!;
    groups.set(group, [...(groups.get(group) ?? []), op.name]);
  }
  return [...groups];
}
