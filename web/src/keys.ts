/** What keys do on every screen: where Escape leads, and how arrows move the focus. */

const BOXES = "select, textarea, input:not([type=checkbox], [type=radio], [type=range])";
const [NEAR, ASIDE] = [4, 3]; // pixels that are no move; what a pixel to the side weighs

/** What a screen is about takes the focus, so that Tab goes on from there. */
export const focusView = (): void => document.getElementById("view")?.focus({ preventScroll: true });

/** Whether Escape leaves the screen; a box that takes text first lets go of the focus. */
export function isLeaving(event: KeyboardEvent): boolean {
  if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return false;
  const isBox = (event.target as Element).matches(BOXES);
  if (isBox) focusView();
  return !isBox;
}

/** Where each arrow leads: across and down. */
export const DIRECTIONS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
};

/** The button that is next in a direction, as the eye finds it. */
function findNext(from: Element, all: readonly HTMLElement[], [x, y]: readonly [number, number]): HTMLElement | undefined {
  const middle = (each: Element): [number, number] => {
    const { left, top, width, height } = each.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  };
  const own = middle(from);
  let [least, found] = [Infinity, undefined as HTMLElement | undefined];
  for (const each of all) {
    const there = middle(each);
    const [dx, dy] = [there[0] - own[0], there[1] - own[1]];
    const ahead = dx * x + dy * y;
    const far = ahead + ASIDE * Math.abs(dx * y + dy * x);
    if (ahead > NEAR && far < least) [least, found] = [far, each];
  }
  return found;
}

/** Make the buttons of a box one stop of Tab, among which arrows move: {@attach arrows}. */
export function arrows(box: HTMLElement): () => void {
  const list = () => [...box.querySelectorAll<HTMLElement>("button:not(:disabled)")];
  const stop = (at: Element | undefined) => list().forEach((each) => (each.tabIndex = each === at ? 0 : -1));
  const enter = (event: FocusEvent) => stop((event.target as Element).closest("button") ?? undefined);
  const press = (event: KeyboardEvent) => {
    const direction = DIRECTIONS[event.key];
    if (!direction || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    findNext(event.target as Element, list(), direction)?.focus();
  };
  stop(list().find((each) => each.ariaPressed === "true") ?? list()[0]);
  box.addEventListener("focusin", enter);
  box.addEventListener("keydown", press);
  return () => {
    box.removeEventListener("focusin", enter);
    box.removeEventListener("keydown", press);
  };
}
