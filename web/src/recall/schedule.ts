/** When a question comes back: kept in this browser, in days. */

export interface Kept {
  due: number; // the day, counted from 1970
  interval: number; // days between the last two times
  ease: number; // by how much a known card's interval grows
  first?: number; // the day on which it was new
}

export type Grade = "missed" | "unsure" | "knew";

/** What is asked on a day: what comes back, and then what is new. */
export interface Asked {
  again: string[];
  fresh: string[];
}

export const FRESH = 10; // new cards a day
const DAY = 86_400_000;
const [EASE, LEAST] = [2.5, 1.3];

export function today(now = Date.now(), minutesWest = new Date(now).getTimezoneOffset()): number {
  return Math.floor((now - minutesWest * 60_000) / DAY);
}

/** A day as in 2026-01-31. */
export const nameDay = (day: number): string => new Date(day * DAY).toISOString().slice(0, 10);

/** Known: 1 day, 3 days, then the interval times the ease. Missed: from the beginning. */
export function review(before: Kept | undefined, grade: Grade, day: number): Kept {
  const { interval, ease, first } = before ?? { interval: 0, ease: EASE, first: day };
  const begun = first === undefined ? {} : { first };
  if (grade === "missed") return { due: day, interval: 0, ease: Math.max(LEAST, ease - 0.2), ...begun };
  const known = interval < 1 ? 1 : interval < 3 ? 3 : Math.round(interval * ease);
  const next = grade === "knew" ? known : Math.max(1, Math.round(interval * 1.2));
  return { due: day + next, interval: next, ease: Math.max(LEAST, ease - (grade === "knew" ? 0 : 0.15)), ...begun };
}

/** What comes back on a day, the longest overdue first; and so many new ones, in their order. */
export function listDue(ids: readonly string[], kept: Record<string, Kept>, day: number, fresh = FRESH): Asked {
  const again = ids.filter((id) => kept[id] && kept[id].due <= day).sort((a, b) => kept[a]!.due - kept[b]!.due);
  const met = ids.filter((id) => kept[id]?.first === day).length;
  return { again, fresh: ids.filter((id) => !kept[id]).slice(0, Math.max(0, fresh - met)) };
}

export const PLACE = "glassformer.recall";

let unstored: Record<string, Kept> | null = null; // what no storage took: kept as long as the page is open

export function readKept(): Record<string, Kept> {
  if (unstored) return unstored;
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
    unstored = null;
  } catch {
    unstored = kept;
  }
}

/** Keep a grade, with those that other tabs have written. */
export function keepGrade(id: string, grade: Grade, day: number): Record<string, Kept> {
  const latest = readKept();
  const next = { ...latest, [id]: review(latest[id], grade, day) };
  writeKept(next);
  return next;
}

function isKept(each: Kept | null): boolean {
  return [each?.due, each?.interval, each?.ease].every((number) => Number.isFinite(number));
}
