/** The cards of the story in their order: where each one points, and what stands beside it. */

import type { Here } from "../state.svelte";

export type Go = Partial<Omit<Here, "more">> & { view: string; more?: Record<string, string> };
export type Source = "positions" | "embedding" | "attention" | "masks" | "feed_forward" | "layers";

export interface Card {
  id: string;
  go: Go; // where to do what it asks for
  tensor?: string; // numbers of the recording, shown with the card
  worked?: true; // its picture is an example computed by hand, not the reader's sentence
  measured?: true; // nor is this one's: it shows what was measured
  code?: [Source, string][]; // functions of the package
  without?: true; // it has no picture of its own
  network?: "demo-rnn" | "demo-rnn-attention"; // of which its picture is drawn, if not of the reader's
}

const [CROSS, ENCODER, DECODER] = ["cross_attention", "self_attention", "self_attention"];
const LOOK = `encoder.0.${ENCODER}`;

const translate = { view: "translate" };
const positions = (more: Record<string, string> = {}): Go => ({ view: "positions", more });
const map = (at = "", play = ""): Go => ({ view: "map", more: { "map.at": at, "map.play": play } });
const whatif = (without = ""): Go => ({ view: "whatif", more: { "whatif.try": without } });
const training = (show = ""): Go => ({ view: "training", more: { "training.show": show } });
const networks: Go = { view: "networks" };
const cell = (name: string): Go => ({ view: "cell", cell: name });
const attention = (kind: Here["kind"], show: string, head = 0, layer = 0): Go => ({
  view: "attention", kind, head, layer, more: { "attention.form": show === "lines" ? "" : show },
});

export const CHAPTERS: Record<string, Card[]> = {
  box: [
    { id: "V01", go: translate },
    { id: "V02", go: translate },
    { id: "V03", go: map("") },
    { id: "V04", go: map("decoder") },
    { id: "V05", go: map("encoder.0") },
    { id: "V06", go: map("decoder.0") },
    { id: "V07", go: map("") },
    { id: "V08", go: map("encoder.0"), tensor: `${LOOK}_residual.sum` },
    { id: "V09", go: map("", "1") },
  ],
  words: [
    { id: "V10", go: translate },
    { id: "V11", go: translate },
    { id: "V12", go: cell("source.ids[0]"), worked: true },
    { id: "V13", go: cell("source.ids[0]"), worked: true },
    {
      id: "V14", go: cell("source_embedding.embedded[0,0]"), tensor: "source_embedding.embedded",
      code: [["embedding", "forward"]],
    },
    { id: "V15", go: cell("source_embedding.embedded[0,0]") },
    { id: "V16", go: whatif("word") },
    { id: "V17", go: cell("source_embedding.sum[0,0]") },
    { id: "V18", go: whatif("sentence"), tensor: "memory" },
  ],
  positions: [
    {
      id: "V19", go: cell("source_embedding.sum[0,0]"), tensor: "source_embedding.sum",
    },
    { id: "V20", go: positions({ "positions.d": "4" }), worked: true },
    {
      id: "V21", worked: true,
      go: positions({ "positions.layout": "concatenated", "positions.grid": "tensor2tensor" }),
    },
    { id: "V22", go: positions(), worked: true },
    { id: "V23", go: positions({ "positions.d": "20" }), worked: true },
    {
      id: "V24", go: positions({ "positions.d": "4" }), worked: true,
    },
    { id: "V25", go: positions(), worked: true },
    {
      id: "V26", go: positions(), worked: true,
    },
    {
      id: "V27", go: positions(), worked: true,
      code: [["positions", "rates"], ["positions", "sinusoids"]],
    },
    { id: "V28", go: whatif("positions") },
    { id: "V29", go: whatif("row") },
  ],
  vectors: [
    { id: "V30", go: map("encoder.0") },
    { id: "V31", go: map("encoder.0") },
    {
      id: "V32", go: cell(`${LOOK}.query[0,0,0]`), tensor: `${LOOK}.query`,
    },
    { id: "V33", go: cell(`${LOOK}.scores[0,0,0]`), tensor: `${LOOK}.scores` },
    { id: "V34", go: whatif("scale") },
    { id: "V35", go: attention("encoder", "matrix"), tensor: `${LOOK}.weights` },
    { id: "V36", go: attention("encoder", "stages") },
    {
      id: "V37", go: cell(`${LOOK}.context[0,0,0]`), tensor: `${LOOK}.context`,
    },
    { id: "V38", go: cell(`${LOOK}.context[0,0,0]`) },
  ],
  matrices: [
    { id: "V39", go: cell(`${LOOK}.key[0,0,0]`), tensor: `${LOOK}.key` },
    { id: "V40", go: attention("encoder", "stages"), code: [["attention", "attend"]] },
    { id: "V41", go: attention("encoder", "matrix") },
  ],
  heads: [
    { id: "V42", go: attention("encoder", "matrix") },
    { id: "V43", go: attention("encoder", "matrix", -1) },
    {
      id: "V44", go: whatif("head"), tensor: `${LOOK}.contributions`,
      code: [["attention", "attend_to"]],
    },
    { id: "V45", go: map(`encoder.0.${ENCODER}`) },
    { id: "V46", go: attention("encoder", "matrix") },
    {
      id: "V47", go: cell(`${LOOK}.query[-1,0,0]`), code: [["attention", "_split"]],
    },
    { id: "V48", go: map(`encoder.0.${ENCODER}`) },
  ],
  sentence: [
    { id: "V49", go: attention("encoder", "lines") },
    { id: "V50", go: attention("encoder", "lines") },
    { id: "V51", go: attention("encoder", "lines", -1) },
    { id: "V52", go: attention("cross", "lines") },
    { id: "V53", go: attention("encoder", "derived") },
    { id: "V54", go: attention("cross", "matrix", -1) },
    { id: "V55", go: translate, tensor: `decoder.0.${CROSS}.weights` },
  ],
  masks: [
    {
      id: "V56", go: cell(`decoder.0.${DECODER}.mask[0,0,0]`), tensor: `decoder.0.${DECODER}.mask`,
      code: [["masks", "causal_mask"]],
    },
    { id: "V57", go: attention("decoder", "stages"), worked: true },
    {
      id: "V58", go: attention("decoder", "stages"), tensor: `decoder.0.${DECODER}.masked`,
    },
    {
      id: "V59", go: cell(`${LOOK}.mask[0,0,0]`), code: [["masks", "padding_mask"]],
    },
    { id: "V60", go: translate },
    { id: "V61", go: translate },
    { id: "V62", go: attention("decoder", "stages") },
  ],
  parts: [
    {
      id: "V63", go: cell("encoder.0.feed_forward.inner[0,0]"),
      tensor: "encoder.0.feed_forward.inner", code: [["feed_forward", "forward"]],
    },
    {
      id: "V64", go: cell("encoder.0.feed_forward.hidden[0,0]"),
      tensor: "encoder.0.feed_forward.hidden",
    },
    { id: "V65", go: whatif("residual"), code: [["layers", "forward"]] },
    { id: "V66", go: cell(`${LOOK}_residual.normed[0,0]`), tensor: `${LOOK}_residual.normed` },
    { id: "V67", go: whatif("norm") },
    { id: "V68", go: cell(`${LOOK}_residual.normed[0,0]`) },
    { id: "V69", go: map("encoder") },
  ],
  stacks: [
    { id: "V70", go: map("encoder.0") },
    { id: "V71", go: map("encoder", "1") },
    { id: "V72", go: translate },
    { id: "V73", go: attention("encoder", "matrix") },
  ],
  decoder: [
    { id: "V74", go: map("decoder.0") },
    { id: "V75", go: translate },
    { id: "V76", go: attention("decoder", "matrix") },
    { id: "V77", go: translate, tensor: `decoder.0.${CROSS}.weights` },
    { id: "V78", go: cell(`decoder.0.${CROSS}.key[0,0,0]`), tensor: "memory" },
    { id: "V79", go: map("", "1") },
    {
      id: "V80", go: cell("probabilities[0,0]"), tensor: "last",
    },
    { id: "V81", go: { view: "translate", search: "greedy" } },
    { id: "V82", go: { view: "translate", search: "beam" } },
    { id: "V83", go: { view: "translate", search: "sample" } },
  ],
  training: [
    { id: "V84", go: training("rows"), worked: true },
    { id: "V85", go: training("rows"), worked: true },
    { id: "V86", go: training("rows"), worked: true },
    { id: "V87", go: training("rows"), worked: true },
    { id: "V88", go: training("rows") },
    { id: "V89", go: training("curves"), worked: true },
    { id: "V90", go: translate },
    { id: "V91", go: training("curves"), worked: true },
  ],
  before: [
    { id: "V92", go: networks, network: "demo-rnn" },
    { id: "V93", go: networks, network: "demo-rnn" },
    { id: "V94", go: networks, network: "demo-rnn" },
    { id: "V95", go: networks, network: "demo-rnn" },
    { id: "V96", go: networks, network: "demo-rnn" },
    { id: "V97", go: networks, network: "demo-rnn-attention" },
    { id: "V98", go: networks, network: "demo-rnn-attention" },
    { id: "V99", go: networks, network: "demo-rnn-attention" },
    { id: "V100", go: networks, network: "demo-rnn-attention" },
    { id: "V101", go: attention("cross", "matrix", -1), network: "demo-rnn-attention" },
    { id: "V102", go: networks, measured: true },
    { id: "V117", go: networks, measured: true },
  ],
  questions: [
    { id: "V107", go: positions(), measured: true },
    { id: "V108", go: positions(), measured: true },
    { id: "V109", go: whatif("head"), measured: true },
    { id: "V110", go: map("encoder.0"), measured: true },
    { id: "V111", go: whatif("positions"), measured: true },
  ],
  learn: [
    { id: "V103", go: { view: "story" }, without: true },
    { id: "V104", go: { view: "story" }, without: true },
    {
      id: "V105", go: cell("source_embedding.positions[0,0]"),
      code: [
        ["positions", "sinusoids"], ["attention", "attend"], ["feed_forward", "forward"],
        ["layers", "forward"],
      ],
    },
    { id: "V106", go: { view: "story" }, without: true },
  ],
};

export const CARDS: Card[] = Object.values(CHAPTERS).flat();

export function findCard(id: string): Card {
  return CARDS.find((card) => card.id === id) ?? CARDS[0]!;
}

export function chapterOf(card: Card): string {
  return Object.entries(CHAPTERS).find(([, cards]) => cards.includes(card))![0];
}

/** Where others explain it; without the scheme, for nothing here is fetched. */
export const POINTERS: Record<string, string> = {
  paper: "arxiv.org/abs/1706.03762",
  illustrated: "jalammar.github.io/illustrated-transformer/",
  seq2seq:
    "jalammar.github.io/visualizing-neural-machine-translation-mechanics-of-seq2seq-models-with-attention/",
  annotated: "nlp.seas.harvard.edu/annotated-transformer/",
  t2t: "github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/notebooks/hello_t2t.ipynb",
  "llm-viz": "bbycroft.net/llm",
};
