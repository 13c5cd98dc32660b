import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const target = fileURLToPath(new URL("../src/glassformer/extensions/serve/static", import.meta.url));

const CORE = /node_modules|src\/(first|engine|data|shell\/(Theming|Unlock|copying|theming))|src\/[\w.]+\.(ts|json)$/;

// `vite build` makes the app; `vite build --mode page` the same in one script beside it, which
// a page without a server carries within itself.
export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [svelte()],
  publicDir: mode === "page" ? false : "public",
  build: {
    outDir: target,
    emptyOutDir: mode !== "page",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What the first screen needs comes in two files, whatever else shares it.
    ...(mode !== "page" && {
      rolldownOptions: { output: { codeSplitting: { groups: [{ name: "core", test: CORE }] } } },
    }),
    ...(mode === "page" && {
      cssCodeSplit: false,
      lib: {
        entry: "src/main.ts",
        formats: ["iife" as const],
        name: "glassformer",
        fileName: () => "page.js",
        cssFileName: "page",
      },
    }),
  },
  server: { fs: { allow: [".."] }, proxy: { "/api": "http://127.0.0.1:5000" } },
  test: { include: ["tests/**/*.test.ts"] },
}));
