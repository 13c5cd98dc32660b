/** The line from one box to another, as a path; coordinates are those of the scene. */

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const APART = 18; // pixels between the boxes and a line that goes around them
const LANE = 9; // between two such lines
const CORNER = 10;
const TIP = 3; // the head of the arrow

const centre = (box: Box) => ({ x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 });

/** Straight up, if nothing is between; else around the others, in a lane of its own. */
export function bend(a: Box, b: Box, others: readonly Box[], lane: number): string {
  const [from, to] = [centre(a), centre(b)];
  if (b.left > a.right && Math.abs(from.y - to.y) < (a.bottom - a.top) / 2) return across(a, b);
  const start = { x: from.x, y: a.top };
  const end = { x: to.x, y: b.bottom };
  if (!others.some((other) => crosses(start, end, other))) return rise(start, end);
  const right = from.x > to.x + 20;
  const passed = others.filter((other) => other.bottom > b.top && other.top < a.bottom);
  const all = [a, b, ...passed];
  const side = right
    ? Math.max(...all.map((box) => box.right)) + APART + LANE * lane
    : Math.min(...all.map((box) => box.left)) - APART - LANE * lane;
  const out = right ? a.right : a.left;
  const into = right ? b.right + TIP : b.left - TIP;
  const inWay = passed.some(
    (other) =>
      (other.top < to.y && other.bottom > to.y && isBetween(centre(other).x, into, side)) ||
      (other.top < from.y && other.bottom > from.y && isBetween(centre(other).x, out, side)),
  );
  if (inWay) return rise(start, end);
  const [x, y] = [right ? -CORNER : CORNER, to.y < from.y ? -CORNER : CORNER];
  return (
    `M${out} ${from.y}H${side + x}Q${side} ${from.y} ${side} ${from.y + y}` +
    `V${to.y - y}Q${side} ${to.y} ${side + x} ${to.y}H${into}`
  );
}

/** The lane of each line: those from one box share theirs. */
export function shareLanes(edges: readonly (readonly [string, string])[]): number[] {
  const sources = [...new Set(edges.map(([from]) => from))];
  return edges.map(([from]) => sources.indexOf(from) % 4);
}

function across(a: Box, b: Box): string {
  const [ya, yb] = [centre(a).y, centre(b).y];
  const half = (a.right + b.left) / 2;
  return `M${a.right} ${ya}C${half} ${ya} ${half} ${yb} ${b.left - TIP} ${yb}`;
}

function rise(start: { x: number; y: number }, end: { x: number; y: number }): string {
  const half = (start.y + end.y) / 2;
  return `M${start.x} ${start.y}C${start.x} ${half} ${end.x} ${half} ${end.x} ${end.y + TIP}`;
}

const isBetween = (value: number, one: number, other: number) =>
  value > Math.min(one, other) && value < Math.max(one, other);

/** Whether a box is in the way of a line that goes up; sampled, as the line is a curve. */
function crosses(start: { x: number; y: number }, end: { x: number; y: number }, box: Box): boolean {
  for (let share = 0.05; share < 1; share += 0.05) {
    const y = start.y + (end.y - start.y) * share;
    const ease = share * share * (3 - 2 * share);
    const x = start.x + (end.x - start.x) * ease;
    if (x > box.left && x < box.right && y > box.top && y < box.bottom) return true;
  }
  return false;
}
