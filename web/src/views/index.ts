/** The views, in the order of the rail. Each is loaded when it is first opened. */

import type { Component } from "svelte";
import type { Trace } from "../data/trace";
import type { Key } from "../say";

/** What every view is given: the recording on screen. */
export interface ViewProps {
  trace: Trace;
}

export interface View {
  id: string; // in the address: #/id
  label: Key;
  icon: string; // path of an SVG, in a box of 24
  load: () => Promise<{ default: Component<ViewProps> }>;
}

/** A page without a server carries no test set. */
const WORST: View = {
  id: "worst",
  label: "view.worst",
  icon: "M4 6h16M4 11h11M4 16h6M16 14l5 5M21 14l-5 5",
  load: () => import("./worst/Worst.svelte"),
};

export const VIEWS: View[] = [
  {
    id: "translate",
    label: "view.translate",
    icon: "M4 7h10M4 12h16M4 17h7M17 14l3 3-3 3",
    load: () => import("./translate/Translate.svelte"),
  },
  {
    id: "attention",
    label: "view.attention",
    icon: "M5 5v14M19 5v14M5 6l14 12M5 12l14-5M5 18l14-6",
    load: () => import("./attention/Attention.svelte"),
  },
  {
    id: "cell",
    label: "view.cell",
    icon: "M4 4h16v16H4zM4 9.3h16M4 14.6h16M9.3 4v16M14.6 4v16",
    load: () => import("./cell/Numbers.svelte"),
  },
  {
    id: "map",
    label: "view.map",
    icon: "M3 6l6-3 6 3 6-3v15l-6 3-6-3-6 3zM9 3v15M15 6v15",
    load: () => import("./map/Map.svelte"),
  },
  {
    id: "positions",
    label: "view.positions",
    icon: "M3 12c3-10 6-10 9 0s6 10 9 0M3 20h18",
    load: () => import("./positions/Positions.svelte"),
  },
  {
    id: "whatif",
    label: "view.whatif",
    icon: "M6 3v18M6 9c0 5 12 2 12 8M15 14l3 4 3-4",
    load: () => import("./whatif/WhatIf.svelte"),
  },
  {
    id: "training",
    label: "view.training",
    icon: "M4 4v16h16M6 7c3 8 6 9 13 9",
    load: () => import("./training/Training.svelte"),
  },
  ...(import.meta.env.MODE === "page" ? [] : [WORST]),
  {
    id: "story",
    label: "view.story",
    icon: "M4 5c3-1 6-1 8 1 2-2 5-2 8-1v14c-3-1-6-1-8 1-2-2-5-2-8-1zM12 6v14",
    load: () => import("./story/Story.svelte"),
  },
];
