/** A recording that the page itself carries: it opens from a file, without any server. */

import type { Entry, Op, TraceDocument } from "./document";
import { part, readSafetensors, type Tensor } from "./tensor";
import { Trace, type Reader } from "./trace";

export interface Embedded {
  document: TraceDocument;
  ops: Op[];
  entries: Record<string, Entry>;
  files: Record<string, string>; // safetensors, as base64, by name
}

export const PLACE = "recording";

/** The recording in this page, if there is one. */
export function readEmbedded(): Trace | null {
  const text = document.getElementById(PLACE)?.textContent;
  return text ? unpack(JSON.parse(text) as Embedded) : null;
}

export function unpack({ document, ops, entries, files }: Embedded): Trace {
  return new Trace("embedded", "", document, ops, entries, new FileReader(files));
}

class FileReader implements Reader {
  private readonly opened = new Map<string, Map<string, Tensor>>();

  constructor(private readonly files: Record<string, string>) {}

  async read(name: string, first?: number): Promise<Tensor> {
    for (const file of Object.keys(this.files)) {
      const tensor = this.open(file).get(name);
      if (tensor) return first === undefined ? tensor : part(tensor, first);
    }
    throw new Error(`${name} is not in this recording`);
  }

  async readLevel(level: string): Promise<Map<string, Tensor>> {
    return this.open(`${level}.safetensors`);
  }

  private open(file: string): Map<string, Tensor> {
    let found = this.opened.get(file);
    if (!found) {
      const text = atob(this.files[file] ?? "");
      const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
      found = bytes.length ? readSafetensors(bytes.buffer) : new Map<string, Tensor>();
      this.opened.set(file, found);
    }
    return found;
  }
}
