import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const target = fileURLToPath(new URL("../src/glassformer/serve/static", import.meta.url));

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
