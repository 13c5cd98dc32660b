/** The engine of this page. */

import type { Engine } from "./engine";
import { ServerEngine } from "./server";

export const engine: Engine = new ServerEngine();
