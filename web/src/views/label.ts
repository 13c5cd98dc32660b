/** Labels of one view, both languages side by side: they come with the view, not with the page. */

import { here } from "../state.svelte";

export type Pair = readonly [en: string, zh: string];

export function labelled<K extends string>(labels: Record<K, Pair>) {
  return (key: K, fill: Record<string, string | number> = {}): string => {
    const text = labels[key][here.language === "zh" ? 1 : 0];
    return text.replace(/\{(\w+)\}/g, (all, name: string) =>
      name in fill ? String(fill[name]) : all,
    );
  };
}
