import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ANSWERS, CARDS, CHAPTERS, chapterOf, POINTERS } from "../src/story/cards";
import { cutFunction, SOURCES } from "../src/story/code";
import { listDue, review, today, writeAnki, writeLogseq, type Kept } from "../src/story/recall";
import { fill, listTexts } from "../src/messages";
import table from "../src/story/messages.json";
import { fillCard, tell } from "../src/story/tell";
import { VIEWS } from "../src/views";

const [en, zh] = [tell("en"), tell("zh")];
const holes = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort();

describe("the texts", () => {
  it("have nothing to fill in that a recording does not know", () => {
    const known =
      "source translation S T SS d h k f E D V root rootk halfroot norm activation".split(" ");
    const used = listTexts(table.cards).flatMap(([, { en }]) => holes(en));
    expect(used.filter((hole) => !known.includes(hole.slice(1, -1)))).toEqual([]);
  });

  it("are short: one to four sentences a card", () => {
    for (const [id, card] of Object.entries(en.cards)) {
      const sentences = card.text
        .replace(/[“”].*?[“”]/g, "it")
        .split(/[.?](?=\s|$)/)
        .filter(Boolean);
      expect([id, sentences.length <= 4]).toEqual([id, true]);
      expect([id, card.do.length > 0]).toEqual([id, true]);
    }
  });
});

describe("the cards", () => {
  it("go from V01 to V111 without a gap, and show what a network reads from the source", () => {
    const wanted = [...Array.from({ length: 111 }, (_, n) => `V${String(n + 1).padStart(2, "0")}`), "V117"];
    const inOrder = (ids: string[]) => ids.sort((one, other) => Number(one.slice(1)) - Number(other.slice(1)));
    expect(inOrder(CARDS.map((card) => card.id))).toEqual(wanted);
    expect(inOrder(Object.keys(en.cards))).toEqual(wanted);
    expect(Object.keys(CHAPTERS)).toEqual(Object.keys(en.chapters));
    expect(chapterOf(CARDS[9]!)).toBe("words");
  });

  it("point at views that there are", () => {
    const views = [...VIEWS.map((view) => view.id), "networks"]; // which has a screen of its own
    for (const { id, go } of CARDS) expect([id, views.includes(go.view)]).toEqual([id, true]);
  });

  it("point at tensors that there are", () => {
    const toml = readFileSync("../src/glassformer/see/catalogue.toml", "utf-8");
    const names = new Set([...toml.matchAll(/^\["(.+)"\]$/gm)].map((match) => match[1]));
    const derived = /\.(masked|contributions|mean|deviation|ids)$|^probabilities$/;
    const cells = CARDS.flatMap((card) => (card.go.cell ? [card.go.cell.split("[")[0]!] : []));
    for (const name of [...CARDS.flatMap((card) => card.tensor ?? []), ...cells]) {
      expect([name, names.has(name.replace(".0.", ".*.")) || derived.test(name)]).toEqual([
        name,
        true,
      ]);
    }
  });

  it("put each slip on one card, and at least fifteen of them", () => {
    const placed = CARDS.flatMap((card) => card.wrong ?? []);
    expect([...placed].sort()).toEqual(Object.keys(en.misconceptions).sort());
    expect(placed.length).toBeGreaterThanOrEqual(15);
  });

  it("answer every question with a picture", () => {
    expect(Object.keys(ANSWERS)).toEqual(Object.keys(en.recall));
    for (const id of Object.values(ANSWERS)) expect(CARDS.map((card) => card.id)).toContain(id);
    expect(Object.keys(POINTERS)).toEqual(Object.keys(en.pointers));
  });

  it("show code that the package has", () => {
    for (const [file, name] of CARDS.flatMap((card) => card.code ?? [])) {
      const found = cutFunction(SOURCES[file], name);
      expect(found).toMatch(new RegExp(`^def ${name}\\(`));
      expect(found).not.toContain('"""');
      expect(found).toContain("return");
    }
    expect(cutFunction(SOURCES.attention, "attend").split("\n").at(-1)).toContain("@ v_BHMK");
  });
});

describe("the numbers of the cards", () => {
  const soften = (scores: number[]) => {
    const powers = scores.map((score) => Math.exp(score - Math.max(...scores)));
    return powers.map((power) => power / powers.reduce((sum, each) => sum + each));
  };
  const norm = [1, 2, 3, 4].map((x) => (x - 2.5) / Math.sqrt(1.25));
  const alike = (distance: number) => {
    let total = 0;
    for (let i = 0; i < 256; i++) total += Math.cos(distance * 10000 ** (-i / 256));
    return total / 256;
  };
  const masked = soften([0.588 / Math.sqrt(3), 1.215 / Math.sqrt(3)]);
  const facts: [string, number, number][] = [
    ["V20", Math.sin(1), 2],
    ["V20", Math.cos(1), 2],
    ["V20", Math.sin(1e-4), 4],
    ["V23", 2 * Math.PI * 10000 ** (4 / 20), 1],
    ["V23", 2 * Math.PI * 10000 ** (6 / 20), 1],
    ["V24", Math.sin(1), 4],
    ["V24", Math.cos(1), 4],
    ["V24", Math.sin(0.01), 4],
    ["V24", Math.cos(0.01), 5],
    ["V26", alike(1), 3],
    ["V26", alike(10), 3],
    ["V34", 112 / 8, 0],
    ["V34", 96 / 8, 0],
    ["V34", soften([14, 12])[0]!, 2],
    ["V34", soften([112, 96])[0]!, 7],
    ["V34", soften([112, 96])[1]!, 7],
    ["V57", masked[0]!, 4],
    ["V57", masked[1]!, 4],
    ["V68", norm[3]!, 3],
    ["V68", norm[2]!, 3],
    ["V84", -Math.log(0.2), 3],
  ];

  it.each(facts)("%s says %f", (id, value, digits) => {
    for (const { cards } of [en, zh])
      expect(cards[id as "V20"].text).toContain(value.toFixed(digits));
  });

  it("are filled in", () => {
    expect(fill("{S}×{d}, {other}", { S: 3, d: 64 })).toBe("3×64, {other}");
  });
});

describe("recall", () => {
  const know = (kept: Kept | undefined, day: number) => review(kept, "knew", day);

  it("brings a known card back later and later, a missed one at once", () => {
    let kept = know(undefined, 100);
    expect(kept.due).toBe(101);
    kept = know(kept, 101);
    expect(kept.due).toBe(104);
    kept = know(kept, 104);
    expect(kept.due).toBe(104 + Math.round(3 * 2.5));
    const missed = review(kept, "missed", 112);
    expect([missed.due, missed.interval, missed.ease < kept.ease]).toEqual([112, 0, true]);
    expect(review(kept, "unsure", 112).due).toBeLessThan(know(kept, 112).due);
  });

  it("never lets the ease fall so far that intervals shrink", () => {
    let kept: Kept | undefined;
    for (let n = 0; n < 20; n++) kept = review(kept, "missed", n);
    expect(kept!.ease).toBe(1.3);
  });

  it("asks what is due, the most overdue first, then what is new", () => {
    const kept = {
      a: { due: 9, interval: 1, ease: 2 },
      b: { due: 12, interval: 1, ease: 2 },
      c: { due: 5, interval: 1, ease: 2 },
    };
    expect(listDue(["new", "a", "b", "c"], kept, 10)).toEqual(["c", "a", "new"]);
  });

  it("counts days as the reader's clock does", () => {
    const late = Date.UTC(2026, 0, 1, 23, 30);
    expect(today(late, 0) + 1).toBe(today(late, -60)); // an hour east it is tomorrow already
  });

  it("writes what Anki reads: one line a card, three columns", () => {
    const lines = writeAnki({ a: { question: "one\ttwo", answer: "three\nfour" } })
      .trimEnd()
      .split("\n");
    expect(lines.slice(0, 2)).toEqual(["#separator:tab", "#html:false"]);
    expect(lines.at(-1)).toBe("one two\tthree four\tglassformer::a");
    expect(writeLogseq({ a: { question: "q", answer: "r" } })).toBe("- q #card\n\t- r\n");
  });
});

describe("a card", () => {
  it("has no second full stop behind a sentence that it quotes", () => {
    expect(fillCard("“{a}” became “{b}”. Then", { a: "Hi!", b: "Salut !" })).toBe("“Hi!” became “Salut !” Then");
    expect(fillCard("变成了“{b}”。", { b: "Salut." })).toBe("变成了“Salut.”");
    expect(fillCard("became “{b}”.", { b: "Salut" })).toBe("became “Salut”.");
  });
});
