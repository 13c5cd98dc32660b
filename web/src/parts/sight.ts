/** What of a box that scrolls can be seen. */

const MANY = 40; // up to so many, all of them
const SPARE = 3;

/**
 * Of a long row of columns only those in sight are made, and a few beside them: the first of them,
 * and the one after the last. `width`, `left`, `room`: pixels.
 */
export function inSight(many: number, width: number, left: number, room: number): [number, number] {
  if (many <= MANY) return [0, many];
  const first = Math.min(Math.floor(left / width), many - 1);
  return [Math.max(0, first - SPARE), Math.min(many, Math.ceil((left + room) / width) + SPARE)];
}

/** Scroll a box, and not the page, to what is in it. */
export function bringIntoSight(box: HTMLElement, selector: string): void {
  const [own, line] = [box, box.querySelector(selector)].map((each) => each?.getBoundingClientRect());
  if (!own || !line || (line.top >= own.top && line.bottom <= own.bottom)) return;
  box.scrollTop += line.top - own.top - own.height / 3;
}
