// Drives Firefox over WebDriver BiDi, which it speaks itself: node firefox.mjs SOCKET PAGE [PICTURE]
// It prints as JSON what it saw on the way through the page, and what the console said.
import { writeFileSync } from "node:fs";

const [, , address, page, picture] = process.argv;
const socket = new WebSocket(`${address}/session`);
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
await ask("browsingContext.setViewport", { context, viewport: { width: 1440, height: 900 } });

async function run(expression) {
  const { result } = await ask("script.evaluate", { expression, target: { context }, awaitPromise: true });
  return result?.value;
}
async function until(condition, seconds = 120) {
  for (const end = Date.now() + seconds * 1000; !(await run(`Boolean(${condition})`)); ) {
    if (Date.now() > end) throw new Error(`never: ${condition}; ${said.join("; ")}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}
const $ = (selector) => `document.querySelector(${JSON.stringify(selector)})`;

const seen = {};
await ask("browsingContext.navigate", { context, url: `${page}#/first?language=en`, wait: "complete" });
await until(`document.title.includes("fatigué") && document.querySelectorAll("[data-thread]").length > 10`);
seen.wide = await run("document.documentElement.scrollWidth");
seen.high = await run("document.documentElement.scrollHeight");
seen.threads = await run("document.querySelectorAll('[data-thread]').length");
if (picture) {
  const { data } = await ask("browsingContext.captureScreenshot", { context });
  writeFileSync(picture, Buffer.from(data, "base64"));
}
await run(`${$("[data-scissors='10']")}.click()`);
await until(`document.title.includes("malade")`);
seen.cut = await run(`${$("[data-counter]")}.textContent`);
await run(`location.hash = "#/heads?language=en"`);
await until($("[data-guess]"));
await run(`${$("[data-guess='0']")}.click()`);
await until($("[data-portrait]"));
await run(`location.hash = "#/teach?language=en&teach.updates=75"`);
await until($("[data-train]"));
await run(`${$("[data-train]")}.click()`);
await until($("[data-done]"));
seen.loss = await run(`${$("[data-loss]")}.textContent`);
console.log(JSON.stringify({ ...seen, said }));
socket.close();
process.exit(0);
