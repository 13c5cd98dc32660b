"use strict";
const buttons = [...document.querySelectorAll("button[data-answer]")];
const place = `glassformer.lesson:${location.pathname}:${document.title}`;
let clicks = []; // the places of the buttons, in their order

function keep() {
  try {
    localStorage.setItem(place, JSON.stringify(clicks));
  } catch { /* a page opened from a file may have no storage */ }
}
function recall() {
  try {
    const kept = JSON.parse(localStorage.getItem(place) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => Number.isInteger(each) && each in buttons) : [];
  } catch {
    return [];
  }
}
const count = (n) => clicks.filter((click) => click === n).length;
function show() {
  buttons.forEach((each, n) => (each.querySelector("output").value = count(n)));
  keep();
}
buttons.forEach((each, n) => each.addEventListener("click", () => show(clicks.push(n))));
document.querySelector("button.undo").addEventListener("click", () => show(clicks.pop()));
document.querySelector("button.clear").addEventListener("click", (event) => {
  if (confirm(event.currentTarget.dataset.sure)) show((clicks = []));
});
document.querySelector("button.save").addEventListener("click", () => {
  const rows = buttons.map(({ dataset }, n) => [
    dataset.when, dataset.question, dataset.text, dataset.answer, dataset.words, dataset.right ?? "0", count(n),
  ]);
  const head = ["when", "question", "text", "answer", "words", "right", "count"];
  const quote = (cell) => (/[",]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell);
  const text = [head, ...rows].map((row) => row.map(quote).join(",")).join("\r\n") + "\r\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
  link.download = `${document.title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60)}-${new Date().toISOString().slice(0, 10)}.csv`;
  link.click();
});
clicks = recall();
show();
