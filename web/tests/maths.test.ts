import { expect, it } from "vitest";
import { writeLatex, writeNumpy } from "../src/cell/code";
import { explain } from "../src/cell/explain";
import { toFormula } from "../src/cell/formula";
import { toLatex } from "../src/cell/maths";
import { axis, op, tensor, toy } from "./toy";

const scores = op(
  "a.scores", [axis("h", 1), axis("q", 1), axis("m", 2)], "sum[k] a.query[h,q,k] a.key[h,m,k] / sqrt(2)",
);
const trace = toy([scores], {
  "a.query": tensor([1, 1, 2], 1, -2), "a.key": tensor([1, 2, 2], 3, 4, 5, 6), "a.scores": tensor([1, 1, 2], -3.54, -4.95),
});

it("a formula is LaTeX too", () => {
  expect(toLatex(toFormula(scores)!)).toBe(
    "\\mathrm{scores}_{\\text{h,q,m}} = \\frac{\\sum_{k} \\mathrm{query}_{\\text{h,q,k}}  \\cdot  \\mathrm{key}_{\\text{h,m,k}}}{\\sqrt{2}}",
  );
});

it("a number is written with its numbers, in LaTeX and in NumPy", async () => {
  const found = await explain(trace, "a.scores", [0, 0, 1]);
  expect(writeLatex(trace, found)).toContain("\\frac{1  \\cdot  5 + (-2)  \\cdot  6}{\\sqrt{2}}");
  expect(writeLatex(trace, found)).toContain("&= -4.95 \\end{aligned}");
  expect(writeNumpy(found)).toContain('np.sum((np.float64(trace["a.query"][0, 0, k]) * np.float64(trace["a.key"][0, 1, k])))');
});
