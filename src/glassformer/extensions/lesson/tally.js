"use strict";
const buttons = [...document.querySelectorAll("button[data-answer]")];
for (const button of buttons) {
  button.addEventListener("click", () => {
    const count = button.querySelector("output");
    count.value = Number(count.value) + 1;
  });
}
document.querySelector("button.save").addEventListener("click", () => {
  const rows = buttons.map((each) => [each.dataset.when, each.dataset.question, each.dataset.answer, each.querySelector("output").value]);
  const text = [["when", "question", "answer", "count"], ...rows].map((row) => row.join(",")).join("\n") + "\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = "answers.csv";
  link.click();
});
