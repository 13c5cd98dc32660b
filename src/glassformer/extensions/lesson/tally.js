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
function show() {
  buttons.forEach((each, n) => (each.querySelector("output").value = clicks.filter((click) => click === n).length));
  keep();
}
buttons.forEach((each, n) => each.addEventListener("click", () => show(clicks.push(n))));
document.querySelector("button.undo").addEventListener("click", () => show(clicks.pop()));
document.querySelector("button.clear").addEventListener("click", (event) => {
  if (confirm(event.currentTarget.dataset.sure)) show((clicks = []));
});
document.querySelector("button.save").addEventListener("click", () => {
  const rows = buttons.map((each) => [each.dataset.when, each.dataset.question, each.dataset.answer, each.querySelector("output").value]);
  const text = [["when", "question", "answer", "count"], ...rows].map((row) => row.join(",")).join("\n") + "\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = "answers.csv";
  link.click();
});
clicks = recall();
show();
