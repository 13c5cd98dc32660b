/** The line from one box to another, as a path; coordinates are those of the scene. */

const APART = 22; // pixels between the boxes and a line that goes around them

/** `leftmost`: of all boxes, where a line goes around them; null: the boxes stand side by side. */
export function bend(a: DOMRect, b: DOMRect, base: DOMRect, leftmost: number | null): string {
  const [ya, yb] = [middle(a) - base.top, middle(b) - base.top];
  if (leftmost === null && b.left > a.right) {
    const [x1, x2] = [a.right - base.left, b.left - base.left];
    const half = (x1 + x2) / 2;
    return `M${x1} ${ya}C${half} ${ya} ${half} ${yb} ${x2 - 3} ${yb}`;
  }
  const [x1, y1] = [a.left + a.width / 2 - base.left, a.top - base.top];
  const [x2, y2] = [b.left + b.width / 2 - base.left, b.bottom - base.top];
  const hasOthersBetween = y1 - y2 > 120 && Math.abs(x1 - x2) < 40;
  if (leftmost === null || !hasOthersBetween) {
    const half = (y1 + y2) / 2;
    return `M${x1} ${y1}C${x1} ${half} ${x2} ${half} ${x2} ${y2 + 3}`;
  }
  const side = leftmost - base.left - APART;
  const [from, to] = [a.left - base.left, b.left - base.left - 3];
  return `M${from} ${ya}C${side} ${ya} ${side} ${yb} ${to} ${yb}`;
}

const middle = (box: DOMRect): number => box.top + box.height / 2;
