/** Where the reader is: everything that the address keeps, so that a link shows the same again. */

export interface Here {
  view: string;
  text: string;
  model: string;
  trace: string; // a recording that the server keeps, as an uploaded one; "": made from text
  search: string; // "": as the model has it, like the empty ones below
  beam: string;
  alpha: string;
  length_penalty: string;
  temperature: string;
  top_k: string;
  top_p: string;
  seed: string;
  prefix: string; // ids of tokens that the translation has to begin with: "12,7"
  hypothesis: string; // which of those that ended is shown; "": the best
  sentence: number; // of the text, which one is looked into
  edits: string; // changes to the network that all views show, as JSON; "": none
  kind: "encoder" | "decoder" | "cross";
  layer: number; // -1: the last
  head: number; // -1: all of them, as one
  query: number; // the row that reads; -1: none
  step: number; // of the translation; -1: the last
  cell: string; // the number that is explained: "memory[3,0]"
  words: boolean; // whole words instead of tokens
  language: "en" | "zh";
  theme: "auto" | "light" | "dark";
  lecture: boolean;
  more: Record<string, string>; // what a view keeps of its own, as "map.zoom"
}

const DEFAULTS: Here = {
  view: "first", text: "", model: "", trace: "", search: "", beam: "", alpha: "", length_penalty: "",
  temperature: "", top_k: "", top_p: "", seed: "", prefix: "", hypothesis: "", sentence: 0, edits: "", kind: "cross", layer: -1, head: -1,
  query: -1, step: -1, cell: "", words: false, language: "en", theme: "auto", lecture: false,
  more: {},
};

type Plain = Exclude<keyof Here, "view" | "more">;
const KEYS = (Object.keys(DEFAULTS) as (keyof Here)[]).filter(
  (key): key is Plain => key !== "view" && key !== "more",
);
const KEPT = ["language", "theme"] as const; // in this browser, if the address has none

export function readHash(hash: string, start: Here = DEFAULTS): Here {
  const [, view = "", query = ""] = /^#\/?([^?]*)\??(.*)$/.exec(hash) ?? [];
  const given = new URLSearchParams(query);
  const found: Record<string, unknown> = { ...start, more: {}, view: view || start.view };
  for (const key of KEYS) {
    const text = given.get(key);
    if (text === null) continue;
    const like = DEFAULTS[key];
    const number = Number.parseInt(text, 10);
    if (typeof like === "number") found[key] = Number.isFinite(number) ? number : like;
    else found[key] = typeof like === "boolean" ? text === "1" : text;
  }
  found["more"] = Object.fromEntries([...given].filter(([key]) => key.includes(".")));
  return mend(found as unknown as Here);
}

/** A link may say anything. */
function mend(found: Here): Here {
  if (!["encoder", "decoder", "cross"].includes(found.kind)) found.kind = DEFAULTS.kind;
  if (!["en", "zh"].includes(found.language)) found.language = DEFAULTS.language;
  if (!["auto", "light", "dark"].includes(found.theme)) found.theme = DEFAULTS.theme;
  found.sentence = Math.max(0, found.sentence);
  return found;
}

export function writeHash(state: Here): string {
  const found = new URLSearchParams();
  for (const key of KEYS) {
    const value = state[key];
    if (value !== DEFAULTS[key]) found.set(key, value === true ? "1" : String(value));
  }
  for (const [key, value] of Object.entries(state.more)) if (value) found.set(key, value);
  const query = found.toString();
  return `#/${state.view}${query ? `?${query}` : ""}`;
}

function start(): Here {
  const kept: Partial<Here> = navigator.language.startsWith("zh") ? { language: "zh" } : {};
  for (const key of KEPT) {
    const value = remember(key);
    if (value) Object.assign(kept, { [key]: value });
  }
  return readHash(location.hash, { ...DEFAULTS, ...kept, ...readStart() });
}

/** What this page carries to begin with, if its address does not say otherwise. */
function readStart(): Partial<Here> {
  const carried = document.getElementById("start")?.textContent;
  return carried ? (JSON.parse(carried) as Partial<Here>) : {};
}

function remember(key: string, value?: string): string | null {
  try {
    if (value !== undefined) localStorage.setItem(`glassformer.${key}`, value);
    return localStorage.getItem(`glassformer.${key}`);
  } catch {
    return null; // a page opened from a file may have no storage
  }
}

export const here: Here = $state(typeof location === "undefined" ? { ...DEFAULTS } : start());

const REQUEST = [
  "text", "model", "trace", "search", "beam", "alpha", "length_penalty", "temperature", "top_k", "top_p",
  "seed", "prefix", "hypothesis", "sentence", "edits",
] as const;

/** Keep the address and the state in step, both ways; `ask` where it wants another recording. */
export function keepAddress(ask: () => void): () => void {
  const follow = () => {
    if (location.hash === writeHash(here)) return;
    const { language, theme } = here;
    const next = readHash(location.hash, { ...DEFAULTS, language, theme });
    const isOther = REQUEST.some((key) => next[key] !== here[key]);
    Object.assign(here, next);
    if (isOther) ask();
  };
  addEventListener("hashchange", follow);
  const stop = $effect.root(() => {
    let view = here.view;
    $effect(() => {
      const hash = writeHash(here);
      for (const key of KEPT) remember(key, here[key]);
      if (hash === location.hash) return;
      const isSame = view === here.view;
      view = here.view;
      try {
        if (isSame) history.replaceState(null, "", hash);
        else history.pushState(null, "", hash);
      } catch {
        return; // a frame in a notebook has no address of its own
      }
    });
  });
  return () => {
    removeEventListener("hashchange", follow);
    stop();
  };
}

export const asksForCalm = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;
