/** The edits that the address holds, what was undone, and what became of the translation. */

import type { Trace } from "../../data/trace";
import { engine } from "../../engine";
import type { Outcome } from "../../engine/engine";
import { messageOf } from "../../format";
import { session } from "../../session.svelte";
import { here } from "../../state.svelte";
import { readEdits, writeEdits } from "./edits";
import type { Edit } from "../../engine/edits";

export class Lab {
  done: string[] = $state.raw([]);
  undone: string[] = $state.raw([]);
  working = $state(false);
  trouble = $state("");
  found: Outcome | null = $state.raw(null);
  private running: AbortController | null = null;

  get written(): string {
    return here.more["whatif.edits"] ?? "";
  }

  get edits(): Edit[] {
    try {
      return readEdits(this.written);
    } catch {
      return [];
    }
  }

  change(to: readonly Edit[]): void {
    this.done = [...this.done, this.written];
    this.undone = [];
    here.more["whatif.edits"] = writeEdits(to);
  }

  undo(): void {
    this.undone = [this.written, ...this.undone];
    here.more["whatif.edits"] = this.done.at(-1) ?? "";
    this.done = this.done.slice(0, -1);
  }

  redo(): void {
    this.done = [...this.done, this.written];
    here.more["whatif.edits"] = this.undone[0] ?? "";
    this.undone = this.undone.slice(1);
  }

  stop(): void {
    this.running?.abort();
    this.running = null;
    this.working = false;
  }

  /** What is on screen would be of other edits than those that are written. */
  cancel(): void {
    this.stop();
    this.found = null;
  }

  /** Ask the engine; a newer question ends an older one. */
  async perform(trace: Trace, edits: readonly Edit[]): Promise<void> {
    this.stop();
    this.trouble = "";
    if (!edits.length || session.embedded) return void (this.found = null);
    const own = (this.running = new AbortController());
    this.working = true;
    try {
      const found = await engine.edit(trace, edits, own.signal);
      if (this.running === own) this.found = found;
    } catch (error) {
      if (this.running !== own) return;
      this.found = null;
      this.trouble = messageOf(error);
    } finally {
      if (this.running === own) this.working = false;
    }
  }
}
