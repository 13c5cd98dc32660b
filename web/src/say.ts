/** The texts of the shell, and those that several views share: `say("attention.rowSum")`. */

import { sayFrom, type KeyOf } from "./messages";
import table from "./messages.json";

export type Key = KeyOf<typeof table>;
export const say = sayFrom(table);
