/** A model as a page carries it: the file that `extensions/site/portable.py` writes. */

import type { Decode, Entry, ModelSettings, Op } from "../data/document";
import type { Model } from "../data/server";
import { lengthen, readMetadata, readSafetensors } from "../data/tensor";
import { Adapter, type Adapted } from "./adapting";
import type { Drafter } from "./drafts";
import type { Portraits } from "./engine";
import { Judge, type JudgingTables } from "./judging";
import { Network } from "./network";
import type { Head } from "./placement";
import { Splitter, type SplittingTables } from "./sentences";
import type { AdaptingTables } from "./tables";
import { Tokenizer, type Characters, type Merges } from "./tokenizer";
import { LearnedUnigram, Unigram, type UnigramTables } from "./unigram";

/** A tokenizer, by the name of its kind in `text/layout.py`. */
type TokenizerTables =
  | { kind: "bpe"; vocabulary: string[]; merges: Merges; characters?: Characters }
  | { kind: "learned_unigram"; vocabulary: string[]; scores: number[]; characters?: Characters }
  | ({ kind: "unigram" } & UnigramTables);

export interface Described extends Omit<Model, "loaded"> {
  settings: { model: ModelSettings; decode: Decode };
  is_native: boolean; // the engine in C computes this network
  unspaced: boolean; // the source is written without spaces
  tags: number[]; // tokens before each source: that of the target language
  known_words: string[]; // of the training text's source side, lower-cased; [] where they are not listed
  adapting: AdaptingTables | null; // null: sentences are read as they are typed
  splitting: SplittingTables;
  alignment: Head | null; // where the words of a translation are aligned; null: nowhere
  judging: JudgingTables;
  portraits: Portraits | null;
  examples: string[]; // sentences that the model keeps, whose mean a circuit is compared with
  usual: number | null; // the confidence of a translation of what it was trained on
  tokenizers: TokenizerTables[]; // the source's first
  ops: Op[];
  entries: Record<string, Entry>;
}

export interface Opened {
  about: Described;
  network: Network;
  source: Tokenizer;
  target: Tokenizer;
  adapter: Adapter | null;
  splitter: Splitter;
  judge: Judge;
  draft?: Drafter | undefined; // where WebAssembly may run
}

/** A model of its file, whose numbers of 4 bits become int8. */
export function openModel(bytes: ArrayBuffer): Opened {
  const about = JSON.parse(readMetadata(bytes)["model"] ?? "null") as Described | null;
  if (!about) throw new Error("this file is no model for a page");
  lengthen(bytes);
  const [source, target = source] = about.tokenizers.map(makeTokenizer);
  const known = new Set(about.known_words);
  const adapter = about.adapting && new Adapter(about.adapting, known, source!, target!);
  const judge = new Judge(about.judging, known.size ? known : null, source!.characters);
  const network = new Network(about.ops, readSafetensors(bytes));
  return { about, network, source: source!, target: target!, adapter, splitter: new Splitter(about.splitting), judge };
}

export function makeTokenizer(tables: TokenizerTables): Tokenizer {
  switch (tables.kind) {
    case "bpe":
      return new Tokenizer(tables.vocabulary, tables.merges, tables.characters);
    case "learned_unigram":
      return new LearnedUnigram(tables.vocabulary, tables.scores, tables.characters);
    case "unigram":
      return new Unigram(tables);
  }
}

/** The model with tokenizers that write what stands in a sentence for something as what it stands for. */
export function nameStandIns(opened: Opened, adapted: Adapted | undefined): Opened {
  if (!adapted?.names.size) return opened;
  const [source, target] = [opened.source, opened.target].map((each) => each.rename(adapted.names));
  return { ...opened, source: source!, target: target! };
}
