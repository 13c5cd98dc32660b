import { describe, expect, it, vi } from "vitest";
import { courseCommand, lessonCommand } from "../src/learn/commands";
import { listFlashcards, misconceptionsOf, spellForAnki, spellForLogseq } from "../src/recall/deck";
import { FRESH, keepGrade, listDue, nameDay, readKept, review, today, writeKept, type Kept } from "../src/recall/schedule";
import { CARDS } from "../src/story/cards";

describe("when a card comes back", () => {
  const know = (kept: Kept | undefined, day: number) => review(kept, "knew", day);

  it("is later and later if it is known, at once if it was missed", () => {
    let kept = know(undefined, 100);
    expect(kept.due).toBe(101);
    kept = know(kept, 101);
    expect(kept.due).toBe(104);
    kept = know(kept, 104);
    expect(kept.due).toBe(104 + Math.round(3 * 2.5));
    const missed = review(kept, "missed", 112);
    expect([missed.due, missed.interval, missed.ease < kept.ease]).toEqual([112, 0, true]);
    expect(review(kept, "unsure", 112).due).toBeLessThan(know(kept, 112).due);
    expect(missed.first).toBe(100);
  });

  it("never comes closer, however often it is missed", () => {
    let kept: Kept | undefined;
    for (let n = 0; n < 20; n++) kept = review(kept, "missed", n);
    expect(kept!.ease).toBe(1.3);
  });

  it("is before what is new, the most overdue first", () => {
    const kept = {
      a: { due: 9, interval: 1, ease: 2 },
      b: { due: 12, interval: 1, ease: 2 },
      c: { due: 5, interval: 1, ease: 2 },
    };
    expect(listDue(["new", "a", "b", "c"], kept, 10)).toEqual({ again: ["c", "a"], fresh: ["new"] });
  });

  it("is one of a few new ones a day; the next day brings others", () => {
    const ids = Array.from({ length: 25 }, (_, n) => `card ${n}`);
    let kept: Record<string, Kept> = {};
    for (const id of ids.slice(0, 3)) kept = { ...kept, [id]: review(kept[id], "knew", 50) };
    expect(listDue(ids, kept, 50).fresh).toEqual(ids.slice(3, FRESH));
    const { again, fresh } = listDue(ids, kept, 51);
    expect([again, fresh.length]).toEqual([ids.slice(0, 3), FRESH]);
  });

  it("learns all cards within as many days as there are tens, and asks ever less", () => {
    const ids = listFlashcards("en").map((each) => each.id);
    let kept: Record<string, Kept> = {};
    const asked = Array.from({ length: 120 }, (_, day) => {
      const { again, fresh } = listDue(ids, kept, day);
      for (const id of [...again, ...fresh]) kept = { ...kept, [id]: review(kept[id], "knew", day) };
      return again.length + fresh.length;
    });
    expect(Object.values(kept).filter((each) => each.first! < 10)).toHaveLength(ids.length);
    const sum = (from: number) => asked.slice(from, from + 30).reduce((one, other) => one + other);
    expect(sum(0)).toBeGreaterThan(2 * sum(30));
    expect(Math.max(...asked)).toBeLessThanOrEqual(4 * FRESH);
  });

  it("counts days as the reader's clock does", () => {
    const late = Date.UTC(2026, 0, 1, 23, 30);
    expect(today(late, 0) + 1).toBe(today(late, -60)); // an hour east it is tomorrow already
    expect(nameDay(today(late, 0))).toBe("2026-01-01");
  });
});

describe("a grade", () => {
  const store = (setItem: (key: string, value: string) => void, getItem: (key: string) => string | null) =>
    vi.stubGlobal("localStorage", { setItem, getItem });

  it("is kept with those of other tabs, and what another tab has forgotten stays so", () => {
    const items = new Map<string, string>();
    store((key, value) => void items.set(key, value), (key) => items.get(key) ?? null);
    keepGrade("a", "knew", 5);
    const own = keepGrade("b", "knew", 5);
    expect([Object.keys(own), readKept()]).toEqual([["a", "b"], own]);
    writeKept({});
    expect(Object.keys(keepGrade("c", "knew", 5))).toEqual(["c"]);
    vi.unstubAllGlobals();
  });

  it("is kept as long as the page is open where nothing can be stored", () => {
    store(() => { throw new Error("full"); }, () => null);
    keepGrade("a", "knew", 5);
    expect(Object.keys(keepGrade("b", "knew", 5))).toEqual(["a", "b"]);
    expect(Object.keys(readKept())).toEqual(["a", "b"]);
    vi.unstubAllGlobals();
  });
});

describe("the deck", () => {
  it("has 95 cards in both languages, each of a card of the story, none twice", () => {
    for (const language of ["en", "zh"] as const) {
      const cards = listFlashcards(language);
      expect(cards).toHaveLength(95);
      expect(new Set(cards.map((each) => each.id)).size).toBe(95);
      expect(new Set(cards.map((each) => each.question)).size).toBe(95);
      const places = cards.map((each) => CARDS.findIndex(({ id }) => id === each.card));
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(places[0]).toBeGreaterThanOrEqual(0);
    }
  });

  it("asks about each misconception", () => {
    const asked = listFlashcards("en").filter((each) => each.question.startsWith("It is often told"));
    expect(asked.map((each) => each.id)).toEqual(misconceptionsOf().map(([id]) => id));
    expect(asked.length).toBeGreaterThanOrEqual(15);
    expect(misconceptionsOf("V24").map(([id]) => id)).toEqual(["two-exponents", "second-is-two"]);
  });

  it("is a table for Anki: a line a card, as many columns as are named", () => {
    const lines = spellForAnki(listFlashcards("en"), "en").trimEnd().split("\n");
    const columns = lines.find((line) => line.startsWith("#columns:"))!.split("\t").length;
    const rows = lines.filter((line) => !line.startsWith("#"));
    expect(rows.map((row) => row.split("\t").length)).toEqual(rows.map(() => columns));
    expect(rows).toHaveLength(95);
    expect(spellForLogseq([{ id: "a", card: "V01", question: "q", answer: "r" }])).toBe("- q #card\n\t- r\n");
  });
});

describe("a command to type", () => {
  it("is quoted for a shell", () => {
    expect(courseCommand("zh")).toBe("glassformer course start --lang zh");
    expect(lessonCommand("demo", "It didn't.", "en")).toBe("glassformer lesson demo 'It didn'\\''t.' -o lesson");
  });
});
