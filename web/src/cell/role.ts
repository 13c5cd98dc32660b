/** What a tensor is in the network: a role of theme.css. */

const LAST: Record<string, string> = {
  query: "query", key: "key", value: "value", scores: "scores", masked: "scores", mask: "plain",
  weights: "weights", context: "heads", output: "attention", contributions: "heads", embedded: "embedded",
  positions: "positions", normed: "norm", mean: "norm", deviation: "norm", inner: "feed_forward",
  hidden: "feed_forward", memory: "memory", logits: "logits", probabilities: "softmax",
  choice: "softmax", ids: "plain",
};

export function roleOf(name: string): string {
  if (name === "last") return "decoder";
  const parts = name.split(".");
  const end = parts.at(-1)!;
  if (end === "sum") return name.includes("_embedding") ? "sum" : "residual";
  if (end === "output" && name.includes("feed_forward")) return "feed_forward";
  const of = /^to_(query|key|value)$/.exec(parts.at(-2) ?? "")?.[1];
  return of ?? LAST[end] ?? "linear";
}

/** Without the module that both are part of. */
export function shorten(name: string, within: string): string {
  const stem = within.slice(0, within.lastIndexOf(".") + 1);
  return stem && name.startsWith(stem) ? name.slice(stem.length) : name;
}
