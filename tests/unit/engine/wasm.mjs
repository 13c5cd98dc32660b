/** Translate in Node: wasm.mjs LOADER WASM WEIGHTS, and `{positions, sources, search}` on stdin. */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [loader, wasm, weights] = process.argv.slice(2);
const { WasmEngine } = await import(pathToFileURL(loader));
const { positions, sources, search } = JSON.parse(readFileSync(0, "utf8"));
try {
  const engine = await WasmEngine.open(readFileSync(wasm), readFileSync(weights), { maxPositions: positions });
  const found = engine.translate(sources, search);
  console.log(JSON.stringify({ found, pages: engine.exports.memory.buffer.byteLength / 65536 }));
  engine.close();
} catch (error) {
  console.log(JSON.stringify({ error: error.message }));
}
