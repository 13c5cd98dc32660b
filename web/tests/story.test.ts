import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CARDS, CHAPTERS, chapterOf, POINTERS } from "../src/story/cards";
import { cutFunction, SOURCES } from "../src/story/code";
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

  it("have a pointer for each text of one", () => {
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

describe("a card", () => {
  it("has no second full stop behind a sentence that it quotes", () => {
    expect(fillCard("“{a}” became “{b}”. Then", { a: "Hi!", b: "Salut !" })).toBe("“Hi!” became “Salut !” Then");
    expect(fillCard("变成了“{b}”。", { b: "Salut." })).toBe("变成了“Salut.”");
    expect(fillCard("became “{b}”.", { b: "Salut" })).toBe("became “Salut”.");
  });
});
