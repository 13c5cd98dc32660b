/** The models and recordings of a worker, and what it is asked about them. */

import type { Candidate, Progress, Request } from "../data/server";
import type { Tensor } from "../data/tensor";
import { readLetters } from "../data/letters";
import { part } from "../data/tensor";
import { messageOf } from "../format";
import type { Changes as Effect, Edit } from "./edits";
import type { Weighed } from "./weighing";
import type { Groups } from "../data/words";
import type { Plain } from "./answer";
import type { Changes } from "./changes";
import { ask, readMean, search as searchCircuit, type Asked, type Circuit, type CircuitRequest, type Refusal } from "./circuits";
import { openDrafter } from "./drafts";
import { Learner, type Lesson, type Said } from "./lesson";
import { Gone } from "./line";
import { openModel, type Opened } from "./model";
import type { Edits } from "./network";
import { listPushes, readLens } from "./pushes";
import { draft, levelOf, readChangesOf, readTensor, record, restore, write, type Known, type Recorded } from "./recording";
import { EOS, findTop, logSumExp } from "./search";

const KEPT = 24; // recordings in memory
const LIKELIEST = 3; // tokens of each layer that the logit lens names
const LOOK = 5; // updates of a lesson between looks at it
const TURN = 12; // milliseconds that are computed before a message is looked for
const ASKED = 4; // circuits that are held
const LONGEST_REST = 600; // milliseconds from a draft to its recording

/** Who asks: hears how far it is, and may want it no longer. */
export interface Asking<T = Progress> {
  tell: (progress: T) => void;
  signal?: AbortSignal;
}

/** How far a lesson is, and what the sentences that are watched become. */
export interface Learnt {
  step: number;
  loss: number;
  parameters: number;
  said: Said[];
}

/** A word that was asked about and its rival, and by how much it leads. */
export interface Named {
  lead: number;
  names: [word: string, rival: string];
}

/** What a line taught: by how much the word leads less without it. */
export interface Left extends Named {
  line: number;
  taught: number;
}

/** What is known of a translation before its search is done. */
export interface Early {
  draft?: Omit<Plain, "attention">;
  recorded?: Told; // the draft as the network computes it, without a search
}

/** What is known of a recording without its tensors. */
export type Told = Pick<Recorded, "id" | "base" | "request" | "document" | "problems"> & { model: string };

export class Host {
  private readonly models = new Map<string, Opened>();
  private readonly recordings = new Map<string, Recorded>();
  private made = 0;
  private asked: { key: string; found: Asked | Refusal }[] = []; // the last circuits
  private pass = 0; // milliseconds that the network took for its last draft, in one piece

  /** Hold a model that comes as letters of gzip, and so the engine in C; its settings, tokens and equations. */
  async open(_: Asking, text: string, engine = ""): Promise<Opened["about"]> {
    const file = await unpack(text);
    const opened = openModel(file);
    if (engine && opened.about.is_native) {
      // Where it may not run, or knows too little, the equations translate alone.
      opened.draft = await openDrafter(await unpack(engine), file, opened.about).catch(() => undefined);
    }
    this.models.set(opened.about.id, opened);
    return opened.about;
  }

  /**
   * Translate and record; a draft is told at once, then its recording, and what the search finds is the answer.
   * While the network reads a draft, no message comes in: it begins after a pause as long as it takes itself,
   * so that somebody who types sees a draft of the newest text.
   */
  async translate({ tell, signal }: Asking<Early>, request: Request): Promise<Told> {
    const asking: Asking = { tell: () => {}, ...(signal && { signal }) };
    await rest(0, signal);
    const drafted = draft(this.model(request.model), request);
    if (!drafted) return this.record(asking, { ...request, base: false });
    tell({ draft: drafted.plain });
    await rest(this.pass, signal);
    const begun = performance.now();
    const early = await this.make(asking, request, { target: drafted.target, whole: drafted.plain.whole });
    this.pass = Math.min(performance.now() - begun, LONGEST_REST);
    tell({ recorded: describe(early) });
    const found = await this.make(asking, request, { like: early });
    if (found.state.tokens.join() !== early.state.tokens.join()) return describe(found);
    this.recordings.delete(found.id);
    return describe(this.keep({ ...found, id: early.id }));
  }

  async record(asking: Asking, request: Request): Promise<Told> {
    const { edits, base: isWanted = true, ...plain } = request;
    if (!edits?.length) return describe(await this.make(asking, plain));
    const base = this.recall(plain) ?? (isWanted ? await this.make(asking, plain) : undefined);
    return describe(await this.make(asking, { ...plain, edits }, { like: base }));
  }

  /** Translations drawn with this seed, the next, and so on. */
  async samples(asking: Asking, request: Request, count: number): Promise<string[]> {
    const opened = this.model(request.model);
    const turn = new Turn(asking.signal);
    const found: string[] = [];
    for (let n = 0; n < count; n++) {
      const decode = { ...request.decode, search: "sample" as const };
      const one = { ...request, decode, seed: (request.seed ?? 0) + n };
      const drafted = draft(opened, one)?.target.filter((id) => id !== EOS);
      found.push(drafted ? restore(opened, one.text, drafted) : (await run(write(opened, one), turn)).translation);
      await turn.pass();
    }
    return found;
  }

  find(_: Asking, id: string): Told {
    return describe(this.get(id));
  }

  read(_: Asking, id: string, name: string, first?: number): Tensor {
    const tensor = readTensor(this.get(id), name);
    return copy(first === undefined ? tensor : part(tensor, first));
  }

  readLevel(_: Asking, id: string, level: string): [string, Tensor][] {
    const found = this.get(id);
    const names = Object.keys(found.document.tensors).filter((name) => levelOf(name) === level);
    return names.map((name) => [name, copy(readTensor(found, name))]);
  }

  tokens(_: Asking, model: string, text: string): number[] {
    return this.model(model).target.encode(text);
  }

  lens(_: Asking, id: string, step: number, ids: readonly number[]): Candidate[][] {
    const found = this.get(id);
    return readLens(found, step).map((logits) => {
      const whole = logSumExp(logits);
      return [...findTop(logits, LIKELIEST), ...ids].map((token) => ({
        id: token, text: found.opened.target.vocabulary[token]!, log_prob: logits[token]! - whole,
      }));
    });
  }

  pushes(_: Asking, id: string, step: number, token: number): Record<string, number> {
    return listPushes(this.get(id), step, token);
  }

  /** The old translation under edits, and a new one. */
  async edit(asking: Asking, id: string, edits: Edit[]): Promise<{ changes: Effect; base: string; forced: string; after: string }> {
    const kept = this.get(id);
    const base = kept.document.edits.length ? await this.make(asking, { ...kept.request, edits: [] }) : kept;
    const request = { ...base.request, text: base.document.text, sentence: 0, edits };
    const target = base.document.predicted.map((token) => token.id);
    const forced = await this.make(asking, request, { like: base, target });
    const after = await this.make(asking, { ...base.request, edits }, { like: base });
    return { changes: compare(base, forced, after), base: base.id, forced: forced.id, after: after.id };
  }

  /** The log-probability of the tokens of `rows` together, with each group of source tokens cut. */
  async cutEach({ signal }: Asking, id: string, rows: readonly number[], groups: Groups): Promise<number[]> {
    const { opened: { network }, document, state } = this.get(id);
    const [source, given] = [document.source, document.target].map((side) => side.map((each) => each.id));
    const turn = new Turn(signal);
    const found: number[] = [];
    for (const keys of groups) {
      const edits = this.changesOf(id);
      edits.hide(keys);
      const { data } = network.pass(source!, given!, edits, state).tensors.get("logits")!;
      const lines = rows.map((row) => data.subarray(row * network.vocabulary, (row + 1) * network.vocabulary));
      found.push(lines.reduce((sum, line, n) => sum + line[document.predicted[rows[n]!]!.id]! - logSumExp(line), 0));
      await turn.pass();
    }
    return found;
  }

  /** Silence each head on its own, and score the same translation up to one token again. */
  async weigh({ signal }: Asking, id: string, step: number, rival: number | null): Promise<Weighed> {
    const { opened, document } = this.get(id);
    const { network, target } = opened;
    const at = step < 0 ? step + document.predicted.length : step;
    const token = document.predicted[at]!.id;
    const [source, given] = [document.source, document.target.slice(0, at + 1)].map((side) => side.map((each) => each.id));
    const without = (more: Edit[]) => this.changesOf(id, more);
    const read = (edits: Edits, like?: ReturnType<typeof network.pass>) => {
      const state = network.pass(source!, given!, edits, like);
      return { state, logits: state.tensors.get("logits")!.data.slice(at * network.vocabulary) };
    };
    const plain = read(without([]));
    const other = rival ?? findTop(plain.logits, 2).find((each) => each !== token)!;
    const turn = new Turn(signal);
    const leads: Record<string, number[]> = {};
    for (const { op } of network.plans) {
      if (!op.name.endsWith(".context")) continue;
      const name = op.name.replace(/\.context$/, "");
      leads[name] = [];
      for (let head = 0; head < document.settings.heads; head++) {
        const { logits } = read(without([{ do: "silence", name, head }]), plain.state);
        leads[name].push(logits[token]! - logits[other]!);
        await turn.pass();
      }
    }
    const tell = (each: number) => ({ id: each, text: target.vocabulary[each]! });
    return { step: at, token: tell(token), rival: tell(other), lead: plain.logits[token]! - plain.logits[other]!, leads };
  }

  /** The circuit of a token, or why there is none; tells how many edges are left. */
  async circuit({ tell, signal }: Asking<number>, id: string, request: CircuitRequest): Promise<Circuit | Refusal> {
    const turn = new Turn(signal);
    const asked = await this.ask(id, request, turn);
    if ("refused" in asked) return asked;
    let left = 0;
    return run(searchCircuit(this.get(id), asked), turn, (now) => now !== left && tell((left = now)));
  }

  /** What edges keep of a lead, all others being cut. */
  async keeps({ signal }: Asking, id: string, request: CircuitRequest, edges: readonly number[]): Promise<number> {
    const asked = await this.ask(id, request, new Turn(signal));
    return "refused" in asked ? Number.NaN : asked.own.measure(edges);
  }

  /** Teach a small network of its own, telling how it goes. */
  async teach({ tell, signal }: Asking<Learnt>, lesson: Lesson, watched: string[]): Promise<Learnt> {
    const learner = new Learner(lesson);
    const turn = new Turn(signal);
    const look = (loss: number): Learnt => ({
      step: learner.step, loss, parameters: learner.parameters, said: watched.map((text) => learner.translate(text)),
    });
    let loss = learner.update();
    tell(look(loss));
    while (learner.step < lesson.updates) {
      loss = learner.update();
      if (learner.step % LOOK === 0) tell(look(loss));
      await turn.pass();
    }
    return look(loss);
  }

  /** Learn a lesson again without each of these lines in turn, telling by how much a word of a translation then leads. */
  async leaveOut({ tell, signal }: Asking<Left>, lesson: Lesson, text: string, at: number, lines: number[]): Promise<Named> {
    const turn = new Turn(signal);
    const learn = async (without: number[]) => {
      const learner = new Learner({ ...lesson, without });
      while (learner.step < lesson.updates) {
        learner.update();
        await turn.pass();
      }
      return learner;
    };
    const without = lesson.without ?? [];
    const plain = await learn(without);
    const choice = plain.choose(text, at);
    const lead = plain.lead(choice);
    const named: Named = { lead, names: [plain.name(choice.word), plain.name(choice.rival)] };
    for (const line of lines) tell({ line, taught: lead - (await learn([...without, line])).lead(choice), ...named });
    return named;
  }

  private async ask(id: string, request: CircuitRequest, turn: Turn): Promise<Asked | Refusal> {
    const key = JSON.stringify([id, request]);
    const known = this.asked.find((each) => each.key === key);
    if (known) return known.found;
    const recorded = this.get(id);
    const mean = request.counterpart === null ? await run(readMean(recorded.opened, request.by_head), turn) : null;
    const found = ask(recorded, request, mean);
    this.asked = [{ key, found }, ...this.asked].slice(0, ASKED);
    return found;
  }

  private async make({ tell, signal }: Asking, request: Request, known: Known = {}): Promise<Recorded> {
    const opened = this.model(request.model);
    const id = String(++this.made);
    const steps = record(opened, { ...request, model: opened.about.id }, id, known);
    const turn = new Turn(signal);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return this.keep({ ...value, base: (request.edits?.length && known.like?.id) || null });
      tell(value);
      await turn.pass();
    }
  }

  /** The edits of a recording, and more; what they changed in its text stands there already. */
  private changesOf(id: string, more: Edit[] = []): Changes {
    const { opened, document } = this.get(id);
    const edits = (document.edits as unknown as Edit[]).filter(({ do: kind }) => kind !== "word" && kind !== "prefix");
    return readChangesOf(opened, [...edits, ...more], document.source, document.text);
  }

  /** The recording of this request and its search, if it is still here. */
  private recall(request: Request): Recorded | undefined {
    const wanted = JSON.stringify({ ...request, model: this.model(request.model).about.id });
    return [...this.recordings.values()].find(
      ({ request: own, document }) => document.search && !own.edits && JSON.stringify(own) === wanted,
    );
  }

  private model(id: string | undefined): Opened {
    const [first] = this.models.values();
    const found = id ? this.models.get(id) : first;
    if (!found) throw new Error(`there is no model ${id ?? ""}`);
    return found;
  }

  private get(id: string): Recorded {
    const found = this.recordings.get(id);
    if (!found) throw new Gone(`recording ${id} is no longer in memory: translate again`);
    return this.keep(found);
  }

  /** As the one that was used last; the one that nobody asked for longest goes. */
  private keep(found: Recorded): Recorded {
    this.recordings.delete(found.id);
    this.recordings.set(found.id, found);
    for (const id of this.recordings.keys()) {
      if (this.recordings.size <= KEPT) break;
      this.recordings.delete(id);
    }
    return found;
  }
}

async function unpack(text: string): Promise<ArrayBuffer> {
  return new Response(new Blob([readLetters(text)]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** A computation that lets messages in now and then, and ends when it is no longer wanted. */
class Turn {
  private begun = performance.now();

  constructor(private readonly signal?: AbortSignal) {}

  async pass(): Promise<void> {
    if (performance.now() - this.begun > TURN) {
      await rest(0);
      this.begun = performance.now();
    }
    this.signal?.throwIfAborted();
  }
}

/** Let messages in for some milliseconds, and throw if one of them says that nobody waits any longer. */
async function rest(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  signal?.throwIfAborted();
}

async function run<T, P>(steps: Generator<P, T>, turn: Turn, tell: (progress: P) => unknown = () => {}): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    tell(value);
    await turn.pass();
  }
}

const describe = ({ id, base, request, document, problems, opened }: Recorded): Told => ({
  id, base, request, document, problems, model: opened.about.id,
});

const copy = ({ shape, data }: Tensor): Tensor => ({ shape, data: data.slice() });

function compare(base: Recorded, forced: Recorded, after: Recorded): Effect {
  const tokens = base.document.predicted.map(({ text }, row) => {
    const [before, now] = [base.document.predictions[row]!, forced.document.predictions[row]!];
    return { token: text, before: Math.exp(before.log_prob), after: Math.exp(now.log_prob), instead: now.texts[0]! };
  });
  const names = Object.keys(base.document.tensors);
  const differences = Object.fromEntries(names.map((name) => [name, apart(readTensor(base, name), readTensor(forced, name))]));
  return { before: base.document.translation, after: after.document.translation, tokens, differences };
}

/** The largest difference; null where the shapes differ. */
function apart(one: Tensor, other: Tensor): number | null {
  if (one.shape.join() !== other.shape.join()) return null;
  let most = 0;
  if (one.data.buffer === other.data.buffer) return most;
  for (let n = 0; n < one.data.length; n++) {
    const found = Math.abs(one.data[n]! - other.data[n]!);
    if (found > most) most = found;
  }
  return most;
}

/** A function that answers calls of a host by name, and tells how far each is. */
export function listen(reply: (message: Reply) => void): (call: Call) => Promise<void> {
  const host = new Host();
  const running = new Map<number, AbortController>();
  return async ({ id, method, args = [] }) => {
    if (!method) return running.get(id)?.abort();
    const own = new AbortController();
    running.set(id, own);
    try {
      const call = host[method] as (...given: unknown[]) => unknown;
      const asking: Asking<unknown> = { tell: (progress) => reply({ id, progress }), signal: own.signal };
      reply({ id, done: await call.call(host, asking, ...args) });
    } catch (error) {
      reply({ id, error: messageOf(error), isGone: error instanceof Gone });
    } finally {
      running.delete(id);
    }
  };
}

export type Method = Exclude<keyof Host, symbol>;

export interface Call {
  id: number;
  method?: Method; // none: the call of this id is no longer wanted
  args?: unknown[];
}

export interface Reply {
  id: number;
  progress?: unknown;
  done?: unknown;
  error?: string;
  isGone?: boolean; // the error is that a recording is no longer kept
}
