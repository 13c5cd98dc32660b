// Drives Firefox over WebDriver BiDi, which it speaks itself: node firefox.mjs SOCKET < STEPS
// STEPS is JSON: {"width", "height", "steps": [[what, ...]]}. It prints as JSON what `see` read, and
// what the console said.
import { readFileSync, writeFileSync } from "node:fs";

const { width, height, steps } = JSON.parse(readFileSync(0, "utf8"));
const socket = new WebSocket(`${process.argv[2]}/session`);
const waiting = new Map();
const said = [];
socket.onmessage = ({ data }) => {
  const { id, method, params, result, error, message } = JSON.parse(data);
  if (method === "log.entryAdded") said.push(`${params.level}: ${params.text}`);
  waiting.get(id)?.(error ? Promise.reject(new Error(`${error}: ${message}`)) : result);
};
await new Promise((done) => (socket.onopen = done));
let asked = 0;
const ask = (method, params = {}) =>
  new Promise((done) => {
    waiting.set(++asked, done);
    socket.send(JSON.stringify({ id: asked, method, params }));
  });

await ask("session.new", { capabilities: {} });
await ask("session.subscribe", { events: ["log.entryAdded"] });
const { context } = await ask("browsingContext.create", { type: "tab" });
await ask("browsingContext.setViewport", { context, viewport: { width, height } });

async function run(expression) {
  const target = { context };
  const { result } = await ask("script.evaluate", { expression, target, awaitPromise: true });
  return result?.value;
}

const seen = {};
const actions = {
  open: (url) => ask("browsingContext.navigate", { context, url, wait: "complete" }),
  until: async (condition, seconds = 120) => {
    for (const end = Date.now() + seconds * 1000; !(await run(`Boolean(${condition})`)); ) {
      if (Date.now() > end) {
        const title = await run("document.title");
        throw new Error(`never: ${condition}; the title is ${title}; ${said.join("; ")}`);
      }
      await new Promise((done) => setTimeout(done, 100));
    }
  },
  click: (selector) => run(`document.querySelector(${JSON.stringify(selector)}).click()`),
  do: (expression) => run(expression),
  see: async (name, expression) => (seen[name] = await run(expression)),
  picture: async (path) => {
    const { data } = await ask("browsingContext.captureScreenshot", { context });
    writeFileSync(path, Buffer.from(data, "base64"));
  },
};
for (const [what, ...rest] of steps) await actions[what](...rest);
console.log(JSON.stringify({ ...seen, said }));
socket.close();
process.exit(0);
