/** Light or dark, as the reader or the machine has it; `look.turn` counts the changes. */

import { forgetTables } from "../theme";
import { here } from "../state.svelte";

class Look {
  turn = $state(0); // what paints reads it, to paint again
}

export const look = new Look();

export function keepLook(): () => void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const apply = () => {
    const isDark = here.theme === "auto" ? dark.matches : here.theme === "dark";
    root.dataset["theme"] = isDark ? "dark" : "light";
    root.dataset["lecture"] = String(here.lecture || here.view.startsWith("lecture"));
    root.lang = here.language === "zh" ? "zh-CN" : "en";
    forgetTables();
    look.turn = performance.now();
  };
  dark.addEventListener("change", apply);
  const stop = $effect.root(() => {
    $effect.pre(apply);
  });
  return () => {
    dark.removeEventListener("change", apply);
    stop();
  };
}
