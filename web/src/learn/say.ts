import { sayFrom } from "../messages";
import table from "./messages.json";

export const say = sayFrom(table);
