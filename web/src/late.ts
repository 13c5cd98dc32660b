/**
 * Hand on what comes, unless the effect that asked for it has run again or ended by then; an effect
 * returns what this returns.
 */
export function takeLate<T>(
  coming: Promise<T>,
  take: (found: T) => unknown,
  fail: (error: unknown) => unknown = () => {},
): () => void {
  let isOver = false;
  coming.then((found) => isOver || take(found)).catch((error: unknown) => isOver || fail(error));
  return () => {
    isOver = true;
  };
}

const LATEST = 500; // milliseconds

/** Do something when the page has nothing more urgent to do; what comes back forgets it. */
export function whenIdle(work: () => void): () => void {
  if (typeof requestIdleCallback === "undefined") {
    const timer = setTimeout(work);
    return () => clearTimeout(timer);
  }
  const asked = requestIdleCallback(work, { timeout: LATEST });
  return () => cancelIdleCallback(asked);
}
