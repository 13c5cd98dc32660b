import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const target = fileURLToPath(new URL("../src/glassformer/extensions/serve/static", import.meta.url));

const CORE =
  /node_modules|src\/(first|engine\/(?!worker)|data|networks\/record|shell\/(Theming|Unlock|copying|theming))|src\/[\w.]+\.(ts|json)$|src\/App\.svelte$/;
const FIRST = { name: "core", test: CORE, priority: 1 };
const WORKER = { name: "worker", test: /engine\/worker/, priority: 1 };

/**
 * The app as scripts that are no modules, which a page that is opened from disk could not load: `page.js`
 * is what the first screen needs, `worker.js` what translates, `rest.js` all else. A page has them all, or
 * has `glassformerLoad` fetch the others when they are wanted.
 */
function writeScripts(): Plugin {
  return {
    name: "scripts",
    enforce: "post",
    generateBundle(_, bundle) {
      const parts = Object.values(bundle).filter((each) => each.type === "chunk");
      const late = parts.filter((each) => LATE.includes(each.name));
      const early = parts.filter((each) => !late.includes(each));
      const isLate = (name: string) => late.some((each) => each.fileName === name);
      if (early.some((each) => each.imports.some(isLate))) {
        this.error("the first screen needs more than its own script: see CORE in vite.config.ts");
      }
      const spell = ({ fileName, code }: { fileName: string; code: string }) =>
        `"./${fileName}":((module,exports,require)=>{${code}\n})`; // in brackets it is read once, not twice
      for (const each of parts) delete bundle[each.fileName];
      const entry = early.find((each) => each.isEntry)!.fileName;
      const page = `{const parts={${early.map(spell).join(",")}};${LOADER}require("./${entry}")}`;
      this.emitFile({ type: "asset", fileName: "page.js", source: page });
      for (const each of late) {
        const source = `globalThis.glassformerParts={...globalThis.glassformerParts,${spell(each)}};`;
        this.emitFile({ type: "asset", fileName: each.fileName, source });
      }
    },
  };
}
const LATE = ["worker", "rest"];
const LOADER = `const made={},require=(name)=>{
  const part=parts[name]??globalThis.glassformerParts?.[name];
  if(!part)return globalThis.glassformerLoad(name.slice(2,-3)).then(()=>require(name));
  if(!made[name]){made[name]={exports:{}};part(made[name],made[name].exports,require)}
  return made[name].exports};`;

// `vite build` makes the app; `vite build --mode page` the same in three scripts beside it, which
// a page without a server carries within itself.
export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [svelte(), mode === "page" && writeScripts()],
  publicDir: mode === "page" ? false : "public",
  build: {
    outDir: target,
    emptyOutDir: mode !== "page",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What the first screen needs comes in two files, whatever else shares it.
    ...(mode !== "page" && { rolldownOptions: { output: { codeSplitting: { groups: [FIRST] } } } }),
    ...(mode === "page" && {
      cssCodeSplit: false,
      lib: { entry: "src/main.ts", formats: ["cjs" as const], fileName: () => "main.js", cssFileName: "page" },
      rolldownOptions: {
        output: {
          chunkFileNames: "[name].js",
          codeSplitting: { groups: [FIRST, WORKER, { name: "rest", test: /./, priority: 0 }] },
        },
      },
    }),
  },
  server: { fs: { allow: [".."] }, proxy: { "/api": "http://127.0.0.1:5000" } },
  test: { include: ["tests/**/*.test.ts"] },
}));
