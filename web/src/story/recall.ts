/** When a question comes back: kept in this browser, in days; and the cards as a file. */

export interface Kept {
  due: number; // the day, counted from 1970
  interval: number; // days between the last two times
  ease: number; // by how much a known card's interval grows
}

export type Grade = "missed" | "unsure" | "knew";

const DAY = 86_400_000;
const [EASE, LEAST] = [2.5, 1.3];

export function today(now = Date.now(), minutesWest = new Date(now).getTimezoneOffset()): number {
  return Math.floor((now - minutesWest * 60_000) / DAY);
}

/** Known: 1 day, 3 days, then the interval times the ease. Missed: from the beginning. */
export function review(before: Kept | undefined, grade: Grade, day: number): Kept {
  const { interval, ease } = before ?? { interval: 0, ease: EASE };
  if (grade === "missed") return { due: day, interval: 0, ease: Math.max(LEAST, ease - 0.2) };
  const known = interval < 1 ? 1 : interval < 3 ? 3 : Math.round(interval * ease);
  const next = grade === "knew" ? known : Math.max(1, Math.round(interval * 1.2));
  return { due: day + next, interval: next, ease: Math.max(LEAST, ease - (grade === "knew" ? 0 : 0.15)) };
}

/** Those that are due, the longest overdue first; new ones last, in their order. */
export function listDue(ids: readonly string[], kept: Record<string, Kept>, day: number): string[] {
  const due = ids.filter((id) => (kept[id]?.due ?? day) <= day);
  const rank = (id: string) => kept[id]?.due ?? day + 1;
  return due.sort((a, b) => rank(a) - rank(b));
}

const PLACE = "glassformer.recall";

export function readKept(): Record<string, Kept> {
  try {
    const found = JSON.parse(localStorage.getItem(PLACE) ?? "{}") as Record<string, Kept>;
    return Object.fromEntries(Object.entries(found).filter(([, each]) => isKept(each)));
  } catch {
    return {}; // no storage, or not ours
  }
}

export function writeKept(kept: Record<string, Kept>): void {
  try {
    localStorage.setItem(PLACE, JSON.stringify(kept));
  } catch {
    // then it is remembered as long as the page is open
  }
}

function isKept(each: Kept | null): boolean {
  return [each?.due, each?.interval, each?.ease].every((number) => Number.isFinite(number));
}

interface Question {
  question: string;
  answer: string;
}

/** A text file for Anki's import, which reads its first lines as settings. */
export function writeAnki(cards: Record<string, Question>): string {
  const clean = (text: string) => text.replace(/[\t\r\n]+/g, " ");
  const head = ["#separator:tab", "#html:false", "#deck:glassformer", "#columns:Front\tBack\tTags", "#tags column:3"];
  const rows = Object.entries(cards).map(([id, { question, answer }]) =>
    [question, answer, `glassformer::${id}`].map(clean).join("\t"),
  );
  return [...head, ...rows, ""].join("\n");
}

/** The same as an outline for Logseq. */
export function writeLogseq(cards: Record<string, Question>): string {
  const rows = Object.values(cards).map(({ question, answer }) => `- ${question} #card\n\t- ${answer}\n`);
  return rows.join("");
}
