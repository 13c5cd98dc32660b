/** What each head matters to one token of the translation, against a token that could have come. */

import type { Weighed } from "../../engine/weighing";

/** How far any head moves the lead, at most: where the colours end. */
export const reach = (found: Weighed): number =>
  Math.max(1e-6, ...Object.values(found.leads).flat().map((lead) => Math.abs(found.lead - lead)));

export interface Head {
  block: string;
  head: number;
  pull: number; // what the lead loses without it
}

/** The heads that the token hangs on most, those that already are silent left out. */
export function rank(found: Weighed, most: number, isOut: (block: string, head: number) => boolean): Head[] {
  return Object.entries(found.leads)
    .flatMap(([block, leads]) => leads.map((lead, head) => ({ block, head, pull: found.lead - lead })))
    .filter(({ block, head, pull }) => pull > 0 && !isOut(block, head))
    .sort((a, b) => b.pull - a.pull)
    .slice(0, most);
}
