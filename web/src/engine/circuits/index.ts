/** The circuit of a word of a recording, against the sentence that it is compared with. */

import { findTop } from "../search";
import { strides } from "../../data/tensor";
import { nameStandIns, type Opened } from "../model";
import type { State } from "../network";
import { readSource, record, type Recorded } from "../recording";
import { strip } from "../tables";
import { average, findObstacle, Graph, SIDES, type Contrast, type Embedded, type Side, type Written } from "./graph";
import type { Rows } from "./parts";
import { Faithfulness, findCircuit, judge, type Found, type Steps } from "./search";

/** Which word is asked about, and what it is compared with. */
export interface CircuitRequest {
  step: number; // of the translation
  rival: number | null; // a token; null: the likeliest other
  counterpart: string | null; // a sentence of as many tokens, whose values all other edges carry; null: the mean over examples
  by_head?: boolean; // heads are told apart, and the query, key and value of each
}

/** What an edge joins: `node` and `reader` as `circuits/edges.py` names them. */
export interface CircuitEdge {
  node: string;
  reader: string;
  side: Side;
  position: number;
}

export interface Circuit {
  word: string;
  rival: string;
  lead: number; // ln of how many times likelier the word is than its rival
  there: number; // the same in the counterpart
  foretold: number | null; // what an exact sum, with attention, norms and gates held, says of that; null of a mean
  mean_of: number; // sentences; 0: a counterpart
  answers: readonly [number, number]; // the ids of both words
  layers: Record<Side, number>;
  found: (Found & { edges: CircuitEdge[] }) | null; // null: no few edges keep it, or there is nothing to keep
}

/** Why there is no circuit, and the numbers of its message. */
export interface Refusal {
  refused: "recurrent" | "unknown" | "edited" | "same" | "longer" | "long" | "alone";
  numbers: number[];
}

const MOST_EDGES = 20_000; // so that an answer takes seconds
const MOST_BY_HEAD = 400_000; // and a minute or two

/** A step, ready to be measured. */
export interface Asked {
  own: Faithfulness;
  contrast: Contrast;
  meanOf: number;
}

const refuse = (refused: Refusal["refused"], ...numbers: number[]): Refusal => ({ refused, numbers });

const examples = new WeakMap<Opened["network"], { contrast: Contrast; own: Embedded }[]>();

/** The examples of a model, translated once; none if it has none or no circuits. */
function* readExamples(opened: Opened): Steps<{ contrast: Contrast; own: Embedded }[]> {
  const known = examples.get(opened.network);
  if (known) return known;
  const found: { contrast: Contrast; own: Embedded }[] = [];
  for (const text of findObstacle(opened.about.settings.model) ? [] : (opened.about.examples ?? [])) {
    const steps = record(opened, { text }, "");
    let next = steps.next();
    for (; !next.done; next = steps.next()) yield 0;
    const { state, document } = next.value;
    const [source, given] = [document.source, document.target].map((side) => side.map(({ id }) => id)) as [number[], number[]];
    found.push({ contrast: { source, given, answers: [0, 1] }, own: embed(state) });
    yield 0;
  }
  examples.set(opened.network, found);
  return found;
}

/** The mean over the examples of a model. */
export function* readMean(opened: Opened, isByHead = false): Steps<Written | null> {
  const all: Written[] = [];
  for (const { contrast, own } of yield* readExamples(opened)) {
    all.push(new Graph(opened.about.settings.model, opened.network.weights, contrast, own, own, isByHead).written);
    yield 0;
  }
  return all.length ? average(all) : null;
}

/** `mean`: what all other edges carry if the request names no counterpart. */
export function ask(recorded: Recorded, request: CircuitRequest, mean: Written | null = null): Asked | Refusal {
  const { document, opened } = recorded;
  const obstacle = findObstacle(document.settings);
  if (obstacle) return refuse(obstacle);
  if (document.edits.some(({ do: kind }) => kind !== "word" && kind !== "prefix")) return refuse("edited");
  const ids = document.source.map(({ id }) => id);
  const { step, counterpart } = request;
  const other = counterpart === null ? null : readIds(opened, counterpart);
  if (!other && !mean) return refuse("alone");
  if (other && other.length !== ids.length) return refuse("longer", other.length, ids.length);
  if (other?.join() === ids.join()) return refuse("same");
  const token = document.predicted[step]!.id;
  const given = document.target.slice(0, step + 1).map(({ id }) => id);
  const { network } = opened;
  const here = network.pass(ids, given);
  const there = other ? network.pass(other, given) : null;
  const rival = request.rival ?? findRival(network.vocabulary, token, there ?? here, here);
  const contrast: Contrast = { source: ids, given, answers: [token, rival] };
  const graph = new Graph(document.settings, network.weights, contrast, embed(here), there ? embed(there) : mean!, request.by_head);
  const most = request.by_head ? MOST_BY_HEAD : MOST_EDGES;
  if (graph.edges.length > most) return refuse("long", graph.edges.length, most);
  return { own: new Faithfulness(graph), contrast, meanOf: there ? 0 : opened.about.examples.length };
}

function readIds(opened: Opened, text: string): number[] {
  const read = nameStandIns(opened, opened.adapter?.adapt(strip(text)));
  return readSource(read, text).map(({ id }) => id);
}

export function* search(recorded: Recorded, { own, contrast: { answers }, meanOf }: Asked): Steps<Circuit> {
  const { vocabulary } = recorded.opened.target;
  const { encoder_layers, decoder_layers } = recorded.document.settings;
  const { graph } = own;
  const [token, rival] = answers;
  const numbers = own.span > 0 ? yield* findCircuit(own) : null;
  const found = numbers && (yield* judge(own, numbers));
  return {
    word: vocabulary[token]!, rival: vocabulary[rival]!, lead: own.whole, there: graph.nothing, foretold: meanOf ? null : graph.foretell(),
    mean_of: meanOf, answers,
    layers: { source: encoder_layers, target: decoder_layers },
    found: found && { ...found, edges: own.edges(found.numbers).map(({ site, node, place }) => ({
      node: graph.nodes[node]!, reader: graph.sites[site]!.name, side: graph.sites[site]!.side, position: place,
    })) },
  };
}

/** What the network says of the counterpart or, if that is the token itself, the likeliest other here. */
function findRival(size: number, token: number, ...states: State[]): number {
  const tops = states.flatMap(({ tensors }) => {
    const { data } = tensors.get("logits")!;
    return [findTop(data.subarray(data.length - size), 2)];
  });
  return tops[0]![0] === token ? tops[1]!.find((each) => each !== token)! : tops[0]![0]!;
}

function embed({ tensors }: State): Embedded {
  const read = (side: Side, name: string): Rows => {
    const { shape: [rows, width], data, steps = strides([rows!, width!]) } = tensors.get(`${side}_embedding.${name}`)!;
    return Array.from({ length: rows! }, (_, row) => Float64Array.from({ length: width! }, (_, d) => data[row * steps[0]! + d * steps[1]!]!));
  };
  return Object.fromEntries(SIDES.map((side) => [side, [read(side, "embedded"), read(side, "positions")]])) as Embedded;
}
