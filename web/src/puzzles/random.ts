/** Numbers that look drawn, and are the same wherever a set has the same name. */

/** A generator of numbers from 0 to 1 for a name: xmur3 spreads its letters, mulberry32 counts on. */
export function randomOf(name: string): () => number {
  let hash = 1779033703 ^ name.length;
  for (const letter of name) {
    hash = Math.imul(hash ^ letter.codePointAt(0)!, 3432918353);
    hash = (hash << 13) | (hash >>> 19);
  }
  let state = hash >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** The same things in another order (Fisher and Yates). */
export function shuffle<T>(things: readonly T[], random: () => number): T[] {
  const found = [...things];
  for (let n = found.length - 1; n > 0; n--) {
    const other = Math.floor(random() * (n + 1));
    [found[n], found[other]] = [found[other]!, found[n]!];
  }
  return found;
}

export const pick = <T>(things: readonly T[], random: () => number): T => things[Math.floor(random() * things.length)]!;

/** Whether a name is written as a day and there is no such day, as 2026-02-30. */
export function isNoDay(name: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(name)) return false;
  const day = new Date(`${name}T00:00:00Z`);
  return Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== name;
}

/** The name of the set of a day, which all who play that day have. */
export const nameOfDay = (now = new Date()): string =>
  [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((each) => String(each).padStart(2, "0")).join("-");
