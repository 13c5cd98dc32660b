/** What a block's mask hides. */

import type { Tensor } from "../../data/tensor";
import type { Trace } from "../../data/trace";

export function masking(trace: () => Trace, block: () => string) {
  let mask: Tensor | null = $state.raw(null);
  $effect(() => {
    const name = `${block()}.mask`;
    trace().tensor(name).then((found) => (mask = found), () => (mask = null));
  });
  const hides = $derived.by(() => {
    if (!mask || mask.data.every((each) => each !== 0)) return undefined;
    const [, rows = 1, columns = 1] = mask.shape;
    const { data } = mask;
    return (row: number, column: number) =>
      data[(rows === 1 ? 0 : row) * columns + column] === 0;
  });
  return {
    /** undefined: nothing is hidden */
    get isHidden() {
      return hides;
    },
  };
}
