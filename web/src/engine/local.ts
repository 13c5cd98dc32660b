/** The engine that is a network in a worker of this page: it needs no server. */

import type { Entry, Op } from "../data/document";
import type { Candidate, Model, Models, Progress, Request } from "../data/server";
import { zeros, type Tensor } from "../data/tensor";
import { Trace, type Reader } from "../data/trace";
import type { Groups } from "../data/words";
import { messageOf } from "../format";
import type { Changes, Edit } from "./edits";
import type { Circuit, CircuitRequest, Refusal } from "./circuits";
import type { Weighed } from "./weighing";
import { answerOf, groupAnswer, type Plain } from "./answer";
import type { Answer, Engine, Outcome, Portraits } from "./engine";
import type { Early, Told } from "./host";
import { LIMITS } from "./limits";
import type { Described } from "./model";
import { bind } from "./network";
import { findUnknown } from "./unknown";
import { Lost, type Line } from "./line";

/** What a page says of the models that it carries. */
export interface Carried {
  version: string;
  models: Model[];
  first?: First | null; // of the sentence that the first of them begins with
}

/** What Python's network said of a sentence: it is on screen until the page's own has read it. */
export type First = Omit<Plain, "id" | "model" | "edits" | "attention" | "confidence"> & { attention: number[][] };

const SYMBOL = /^\p{So}$/u;
const NOTICED = 100; // milliseconds: a shorter wait is none

export class LocalEngine implements Engine {
  readonly where = "worker";
  private isSlow = true; // a draft is on screen for a while before its threads are
  private readonly opened = new Map<string, Promise<Described>>();
  private readonly known = new Map<string, ReadonlySet<string>>();

  /** `readFile` gives the file of a model and the engine in C, as letters of gzip; of the latter none where it is not there. */
  constructor(
    private readonly line: Line, private readonly carried: Carried,
    private readonly readFile: (model: string) => Promise<readonly [file: string, compiled: string]>,
  ) {}

  get listed(): Models {
    const { models, version } = this.carried;
    return { models, default: models[0]!.id, version, runs: false, limits: LIMITS };
  }

  async models(): Promise<Models> {
    return this.listed;
  }

  async vocabulary(model: string): Promise<string[]> {
    const { tokenizers } = await this.load(model);
    return tokenizers.at(-1)!.vocabulary;
  }

  async tokens(model: string, text: string): Promise<number[]> {
    await this.load(model);
    return this.line.ask("tokens", [model, text]);
  }

  async unknown(model: string, text: string): Promise<string[]> {
    const { known_words, tokenizers } = await this.load(model);
    if (!this.known.has(model)) this.known.set(model, new Set([...known_words, ...tokenizers[0]!.vocabulary.filter((each) => SYMBOL.test(each))]));
    const known = this.known.get(model)!;
    const symbols = Array.from(text).filter((each) => SYMBOL.test(each) && !known.has(each));
    const characters = new Map("characters" in tokenizers[0]! ? Object.entries(tokenizers[0].characters ?? {}) : []);
    return [...(known_words.length ? findUnknown(known, text, characters) : []), ...new Set(symbols)];
  }

  async samples(request: Request, count: number, signal?: AbortSignal): Promise<string[]> {
    const model = request.model ?? this.carried.models[0]!.id;
    await this.load(model);
    return this.line.ask("samples", [{ ...request, model }, count], signal);
  }

  async translate(request: Request, signal?: AbortSignal, tell: (early: Answer) => void = () => {}): Promise<Answer> {
    const model = request.model ?? this.carried.models[0]!.id;
    const first = this.findFirst({ ...request, model });
    if (first) tell(first);
    await this.load(model);
    let early: Promise<Answer> | undefined;
    let drafted = 0; // when
    const told = await this.line.ask<Told, Early>("translate", [{ ...request, model }], signal, ({ draft, recorded }) => {
      if (draft) {
        drafted = performance.now();
        const attention = zeros(draft.predicted.length, draft.source.length);
        if (this.isSlow && draft.translation !== first?.translation) tell(groupAnswer({ ...draft, attention })); // else threads would flicker at every key
      }
      if (recorded) {
        this.isSlow = performance.now() - drafted > NOTICED;
        early = this.answer(recorded).then((answer) => (tell(answer), answer));
      }
    });
    const before = await early;
    const { confidence = null, whole = null } = told.document;
    return before?.id === told.id ? { ...before, confidence, whole, problems: told.problems } : this.answer(told);
  }

  /** What the page knows of a sentence before its network is there. */
  private findFirst({ model, text, edits, sentence }: Request): Answer | null {
    const { first, models } = this.carried;
    if (this.opened.has(model!) || first?.text !== text || edits?.length || sentence || model !== models[0]!.id) return null;
    const attention = { shape: [first.predicted.length, first.source.length], data: Float32Array.from(first.attention.flat()) };
    return groupAnswer({ ...first, id: "", model: model!, edits: [], confidence: null, attention });
  }

  async record(request: Request, tell?: (progress: Progress) => void, signal?: AbortSignal): Promise<Trace> {
    const model = request.model ?? this.carried.models[0]!.id;
    await this.load(model);
    return this.show(await this.line.ask<Told>("record", [{ ...request, model }], signal, tell));
  }

  async open(id: string): Promise<Trace> {
    return this.show(await this.line.ask<Told>("find", [id]));
  }

  async logits(id: string, step: number): Promise<Float32Array> {
    return (await this.line.ask<Tensor>("read", [id, "logits", step])).data;
  }

  cutEach(id: string, rows: readonly number[], groups: Groups, signal?: AbortSignal): Promise<number[]> {
    return this.line.ask("cutEach", [id, rows, groups], signal);
  }

  /** The network of a page runs forwards alone. */
  async gradients(): Promise<null> {
    return null;
  }

  lens(id: string, step: number, ids: readonly number[]): Promise<Candidate[][]> {
    return this.line.ask("lens", [id, step, ids]);
  }

  pushes(id: string, step: number, token: number): Promise<Record<string, number>> {
    return this.line.ask("pushes", [id, step, token]);
  }

  async edit(trace: Trace, edits: readonly Edit[], signal?: AbortSignal): Promise<Outcome | null> {
    if (!edits.length) return null;
    const told = await this.line.ask<{ changes: Changes; base: string; forced: string; after: string }>(
      "edit", [trace.base ?? trace.id, edits], signal,
    );
    const [base, forced, after] = await Promise.all([told.base, told.forced, told.after].map((id) => this.open(id)));
    return { changes: told.changes, base: base!, forced: forced!, after: after! };
  }

  async portraits(model: string): Promise<Portraits | null> {
    return (await this.load(model)).portraits;
  }

  weigh(id: string, step: number, rival: number | null, signal?: AbortSignal): Promise<Weighed | null> {
    return this.line.ask("weigh", [id, step, rival], signal);
  }

  circuit(id: string, request: CircuitRequest, signal?: AbortSignal, tell?: (left: number) => void): Promise<Circuit | Refusal> {
    return this.line.ask("circuit", [id, request], signal, tell);
  }

  keeps(id: string, request: CircuitRequest, edges: readonly number[], signal?: AbortSignal): Promise<number> {
    return this.line.ask("keeps", [id, request, edges], signal);
  }

  private load(model: string): Promise<Described> {
    let coming = this.opened.get(model);
    if (coming) return coming;
    const lost = (error: unknown): never => {
      throw new Lost(messageOf(error));
    };
    const files = this.readFile(model).catch(lost);
    coming = files.then((both) => this.line.ask<Described>("open", [...both]));
    coming.catch(() => this.opened.delete(model));
    this.opened.set(model, coming);
    return coming;
  }

  private async answer(told: Told): Promise<Answer> {
    return answerOf(await this.show(told));
  }

  private async show(told: Told): Promise<Trace> {
    const { ops, entries } = await this.load(told.model);
    return trace(told, ops, entries, {
      read: (name, first) => this.line.ask("read", [told.id, name, first]),
      readLevel: async (level) => new Map(await this.line.ask<[string, Tensor][]>("readLevel", [told.id, level])),
    });
  }
}

function trace({ id, model, base, request, document, problems }: Told, ops: Op[], entries: Record<string, Entry>, reader: Reader): Trace {
  const bound = ops.map((op) => bind(op, document.source.length, document.target.length));
  return new Trace(id, model, document, bound, entries, reader, { base, request: { ...request }, problems });
}
