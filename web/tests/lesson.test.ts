import { expect, it } from "vitest";
import { Learner, type Lesson } from "../src/engine/lesson";
import { matrix, Tape, type Matrix } from "../src/engine/tape";

/** Who bites whom: of all pairs of five animals and two verbs some are held out. */
function bites(): { seen: [string, string][]; unseen: [string, string][] } {
  const nouns: Record<string, string> = { dog: "chien", king: "roi", cat: "chat", wolf: "loup", boy: "garçon" };
  const verbs: Record<string, string> = { bites: "mord", sees: "voit" };
  const all: [string, string][] = [];
  for (const [a, x] of Object.entries(nouns)) {
    for (const [b, y] of Object.entries(nouns)) {
      for (const [verb, said] of Object.entries(verbs)) if (a !== b) all.push([`the ${a} ${verb} the ${b}`, `le ${x} ${said} le ${y}`]);
    }
  }
  return { seen: all.filter((_, n) => n % 4), unseen: all.filter((_, n) => !(n % 4)) };
}

const lesson = (pairs: [string, string][], more: Partial<Lesson> = {}): Lesson => ({
  pairs, width: 32, heads: 4, positions: true, mask: true, rate: 0.004, seed: 1, updates: 251, ...more,
});

it("every gradient is what a small step says", () => {
  let seed = 7;
  const random = () => ((seed = (seed * 16807) % 2147483647) / 2147483647) - 0.5;
  const [x, other, weight, bias, gain] = [matrix(3, 4, random), matrix(3, 4, random), matrix(4, 4, random), matrix(1, 4, random), matrix(1, 4, random)];
  const run = (tape: Tape): number => {
    const normed = tape.norm(tape.add(tape.embed(x, [0, 2, 1]), other), gain, bias);
    const [seen] = tape.attend(tape.linear(normed, weight, bias), normed, tape.relu(normed), 2, true);
    return tape.loss(tape.linear(seen, weight), [1, 3, 0]);
  };
  const tape = new Tape();
  run(tape);
  tape.backward();
  for (const each of [x, other, weight, bias, gain] as Matrix[]) {
    each.data.forEach((value, n) => {
      const at = (step: number) => {
        each.data[n] = value + step;
        return run(new Tape());
      };
      const slope = (at(1e-2) - at(-1e-2)) / 2e-2;
      each.data[n] = value;
      expect(Math.abs(slope - each.grad[n]!)).toBeLessThan(3e-3 + 0.03 * Math.abs(slope));
    });
  }
});

it("learns who bites whom with positions, and cannot without", { timeout: 300_000 }, () => {
  const { seen, unseen } = bites();
  const score = (positions: boolean) => {
    const learner = new Learner(lesson(seen, { positions }));
    const first = learner.update();
    let loss = first;
    for (let n = 0; n < 250; n++) loss = learner.update();
    expect(loss).toBeLessThan(first / 2);
    return unseen.filter((pair) => learner.isRight(pair)).length / unseen.length;
  };
  expect(score(true)).toBeGreaterThan(0.89);
  expect(score(false)).toBeLessThan(0.75);
});

it("says which words it does not know, and reads every source word somewhere", () => {
  const learner = new Learner(lesson([["the cat", "le chat"], ["the dog", "le chien"]], { width: 16, heads: 2, updates: 80 }));
  for (let n = 0; n < 80; n++) learner.update();
  const { words, attention } = learner.translate("the dog");
  expect(words).toEqual(["le", "chien"]);
  for (const row of attention) expect(row.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1, 4);
  expect(learner.parameters).toBeGreaterThan(1000);
  expect(() => learner.translate("the king")).toThrow(/king is in none/);
});

it("what is left out is not learnt, and all else stays as it was", () => {
  const pairs: [string, string][] = [["red car", "voiture rouge"], ["blue car", "voiture bleue"], ["red house", "maison rouge"], ["green house", "maison verte"]];
  const learn = (more: Partial<Lesson>) => {
    const learner = new Learner(lesson(pairs, { width: 16, heads: 2, updates: 75, ...more }));
    for (let n = 0; n < 75; n++) learner.update();
    return learner;
  };
  const [whole, same, other] = [learn({}), learn({ without: [] }), learn({ without: [3] })];
  const { words, chances } = whole.translate("green house");
  expect(words).toEqual(["maison", "verte"]);
  expect(same.translate("green house").chances).toEqual(chances);
  const choice = whole.choose("green house", 1);
  expect(whole.name(choice.word)).toBe("verte");
  const lead = whole.lead(choice);
  expect(lead).toBeGreaterThan(0);
  expect(other.lead(choice)).toBeLessThan(0);
  expect(other.parameters).toBe(whole.parameters);
  expect(1 / (1 + Math.exp(-lead))).toBeGreaterThanOrEqual(chances[1]! - 1e-6); // the rival is not the only other word
});

it("the loss is that of the pairs that are learnt", () => {
  const pairs: [string, string][] = Array.from({ length: 8 }, () => ["a b", "c d"]);
  const first = (without?: number[]) => new Learner(lesson(pairs, { without })).update();
  const whole = first();
  expect(first([0, 2, 3, 5])).toBeCloseTo(whole, 5);
  expect(first([0, 1, 2, 3, 4, 5, 6, 7])).toBeCloseTo(Math.log(4), 5); // nothing is: all four words alike
});

it("a full stop is a word like others, and not the end", () => {
  const learner = new Learner(lesson([["a .", "b . c"]]));
  for (let n = 0; n < 250; n++) learner.update();
  expect(learner.translate("a .").words).toEqual(["b", ".", "c"]);
  const last = learner.choose("a .", 3);
  expect([learner.name(last.word), learner.name(learner.choose("a .", 1).word)]).toEqual([".", "."]);
});
