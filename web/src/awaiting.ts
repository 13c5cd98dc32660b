/**
 * Hand over what comes, unless the effect that asked for it has run again or is gone with its component.
 * What this returns is for the effect to return.
 */
export function whenReady<T>(
  wanted: Promise<T>,
  take: (found: T) => void,
  fail: (error: unknown) => void = () => {},
): () => void {
  let isOld = false;
  wanted.then(
    (found) => void (isOld || take(found)),
    (error: unknown) => void (isOld || fail(error)),
  );
  return () => {
    isOld = true;
  };
}
