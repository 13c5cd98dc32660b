/** The package's own lines, cut out of its files. */

import attention from "../../../src/glassformer/model/attention.py?raw";
import embedding from "../../../src/glassformer/model/embedding.py?raw";
import feed_forward from "../../../src/glassformer/model/feed_forward.py?raw";
import layers from "../../../src/glassformer/model/layers.py?raw";
import masks from "../../../src/glassformer/model/masks.py?raw";
import positions from "../../../src/glassformer/model/positions.py?raw";
import type { Source } from "./cards";

export const SOURCES: Record<Source, string> = { attention, embedding, feed_forward, layers, masks, positions };

/** A function, without what it says of itself: from its `def` to the next line as far left. */
export function cutFunction(source: string, name: string): string {
  const lines = source.split("\n");
  const first = lines.findIndex((line) => line.trimStart().startsWith(`def ${name}(`));
  if (first < 0) throw new Error(`there is no ${name}`);
  const margin = lines[first]!.search(/\S/);
  let head = first;
  while (lines[head]!.trimEnd().endsWith(":") === false) head++;
  let end = head + 1;
  const isInside = (line: string) => !line.trim() || line.search(/\S/) > margin;
  while (end < lines.length && isInside(lines[end]!)) end++;
  const body = lines
    .slice(head + 1, end)
    .join("\n")
    .replace(/^\s*"""[^]*?"""\n/, "");
  const found = [...lines.slice(first, head + 1), ...body.split("\n")];
  return found
    .map((line) => line.slice(margin))
    .join("\n")
    .trimEnd();
}
