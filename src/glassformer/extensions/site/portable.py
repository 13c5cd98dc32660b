"""A model as one file for a network that runs in a browser.

The file is a safetensors file. Matrices are int8 with a scale for each row, `NAME.scale`, or
shorter (`four_bits`); all other weights are fp32. Its metadata has everything else: settings,
tokenizers, the op-graph and the catalogue. The network in the browser runs on the equations of the
op-graph, so what it needs of this package is in the file.
"""

import json
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.config import Config
from glassformer.engine.native_model import explain_settings
from glassformer.extensions.circuits.examples import list_examples
from glassformer.extensions.foreign_tokenizers.unigram import Unigram
from glassformer.extensions.serve.page import check_views, describe_equation
from glassformer.extensions.unigram.learned_unigram import LearnedUnigram
from glassformer.foundation.hub import name_model
from glassformer.model.files.directory import CONFIG, Tokenizers, locate, open_model, split_pair
from glassformer.model.files.known_words import read_known_words
from glassformer.model.files.weights_file import WeightsFile
from glassformer.see.catalogue import read_catalogue
from glassformer.see.habits import read_portraits
from glassformer.see.opgraph import build_graph
from glassformer.see.wiring import record_wiring
from glassformer.text import Normalization, Tokenizer
from glassformer.text.function_words import name_language
from glassformer.text.spacing import is_unspaced
from glassformer.train.publish.card import read_facts
from glassformer.translate.align.alignments import find_head
from glassformer.translate.align.choose_head import load_choice
from glassformer.translate.familiarity import measure_usual
from glassformer.translate.reading import SentenceReader
from glassformer.translator import Translator

from ..publish.int8 import quantize_file
from .adapting import describe_adapting
from .four_bits import shorten
from .judging import describe_judging
from .splitting import describe_splitting

SHORT = 4
BITS = SHORT, 8
SOURCE, TARGET = -1, -2  # sizes in the op-graph that are those of a sentence
# Settings of the search that the network in the browser has not.
LACKING = ("repetition_penalty", "beam_groups", "mbr", "typography")


def pack_model(model: Path | str, bits: int = 8) -> bytes:
    """Return the file of a model directory, or of a shipped model, for one pair of its languages.

    bits: 8, or 4, of each number of a matrix. Raises ValueError if it is no model directory, is no
    Transformer, has a tokenizer or settings that no browser knows, or several target languages.
    """
    from safetensors.numpy import save

    folder, config, tokenizers, weights = _open_pair(model)
    _check_settings(folder, config)
    reader = SentenceReader(config, tokenizers, folder)
    described = {
        **describe_for_page(model),
        "settings": {
            "model": config.model.model_dump(mode="json"),
            "decode": config.decode.model_dump(mode="json"),
        },
        "is_native": not explain_settings(config.model),
        "unspaced": is_unspaced(config.data.source_lang),
        "tags": reader.tags,
        "usual": measure_usual(folder, tokenizers),
        "known_words": sorted(read_known_words(folder) or ()),
        "adapting": describe_adapting(reader.adapter),
        "splitting": describe_splitting(config.data.source_lang),
        "alignment": _describe_head(model, folder, config),
        "judging": describe_judging(config, tokenizers, folder),
        "portraits": read_portraits(folder),
        "examples": list_examples(folder),
        "tokenizers": _describe_tokenizers(folder, tokenizers),
        "ops": _describe_graph(config.model, tokenizers, weights.tensors),
        "entries": {name: entry._asdict() for name, entry in read_catalogue().items()},
    }
    stored, aliases = quantize_file(weights)
    if bits == SHORT:
        stored = shorten(stored, tokenizers)
    written = {"model": described, "aliases": aliases}
    return save(
        stored, {name: json.dumps(each, ensure_ascii=False) for name, each in written.items()}
    )


def _open_pair(model: Path | str) -> tuple[Path, Config, Tokenizers, WeightsFile]:
    """Return the folder of a model, its settings for one pair of languages, and its parts."""
    folder = locate(model)
    config, tokenizers, weights = open_model(folder)
    try:
        return folder, config.narrow(split_pair(model)[1]), tokenizers, weights
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None


def _check_settings(folder: Path, config: Config) -> None:
    """Raise ValueError for settings with which a page would translate otherwise."""
    check_views(config.model)
    if config.model.plugin:
        raise ValueError(f"{folder}: a page cannot run the network of plugin {config.model.plugin}")
    if config.data.context:
        raise ValueError(
            f"{folder}: a page cannot read the sentences before a sentence: data.context="
            f"{config.data.context}"
        )
    if config.data.target_tag or not config.text.source_eos:
        raise ValueError(f"{folder}: a page does not know text.source_eos=false or data.target_tag")
    for changed in config.decode.list_changed(LACKING):
        raise ValueError(
            f"{folder}: a page cannot search with decode.{changed}: change it in {CONFIG}"
        )


def _describe_head(model: Path | str, folder: Path, config: Config) -> dict[str, Any] | None:
    """Return where the page reads from which words are aligned; None if nothing tells."""
    stored = load_choice(folder, config)
    if stored:
        return stored.candidate._asdict()
    head = find_head(folder, Translator.load(model, device="cpu").searcher)
    return head._asdict() if head else None


def describe_for_page(model: Path | str) -> dict[str, Any]:
    """Return what a list of models says of one: its name, its languages and its size."""
    folder, config, _, weights = _open_pair(model)
    name = "@".join(filter(None, (name_model(folder), split_pair(model)[1])))
    source, target = config.data.source_lang, config.data.target_lang
    known = read_known_words(folder)
    return {
        "id": name,
        "name": name,
        "source": source,
        "target": target,
        "source_name": name_language(source),
        "target_name": name_language(target),
        "loaded": True,
        "parameters": weights.parameters,
        "sentences": max(
            (each["lines"] for each in read_facts(folder).get("data", ())), default=None
        ),
        "words": None if known is None else len(known),
        "smoothing": config.train.label_smoothing,
    }


def _describe_tokenizers(folder: Path, tokenizers: Tokenizers) -> list[dict[str, Any]]:
    """Return the tokenizer of the source and that of the target, or the one of both.

    Only the source is typed by people, so only it has a map of characters.
    """
    both = tokenizers[:1] if tokenizers.is_shared else tokenizers
    described = [describe_tokenizer(folder, each) for each in both]
    characters = tokenizers.source.normalization.characters
    described[0]["characters"] = characters.to_json() if characters else {}
    return described


def describe_tokenizer(folder: Path, tokenizer: Tokenizer) -> dict[str, Any]:
    """Return what `web/src/engine/model.ts` makes the same tokenizer of."""
    if isinstance(tokenizer, Unigram):
        return _describe_unigram(tokenizer)
    if type(tokenizer) not in (Tokenizer, LearnedUnigram):
        raise ValueError(
            f"{folder}: a page cannot cut text into its tokens, only into those that `glassformer "
            "train` learned, or of a SentencePiece model of unigrams"
        )
    if tokenizer.normalization._replace(characters=None) != Normalization():
        raise ValueError(f"{folder}: a page cannot do its nfkc, punctuation or lowercase")
    if isinstance(tokenizer, LearnedUnigram):
        own: dict[str, Any] = {"kind": "learned_unigram", "scores": tokenizer.scores}
    else:
        own = {"kind": "bpe", "merges": tokenizer.merges}
    return {"vocabulary": tokenizer.vocabulary, **own}


def _describe_unigram(tokenizer: Unigram) -> dict[str, Any]:
    return {
        "kind": "unigram",
        "vocabulary": tokenizer.vocabulary,
        "scores": [*map(_shorten, tokenizer.scores)],
        "others": {token: _shorten(score) for token, score in tokenizer.others.items()},
        "charsmap": b64encode(_take_apart(tokenizer.spec.precompiled_charsmap)).decode(),
        "spec": tokenizer.spec.describe(),
        "byte_fallback": tokenizer.byte_fallback,
        "tags": [*tokenizer.tags],
    }


def _take_apart(compiled: bytes) -> bytes:
    """Return the first byte of each four, all the second ones and so on: packed, half as long."""
    return b"".join(compiled[place::4] for place in range(4))


def _shorten(score: float | None) -> float | None:
    """Return the number with the fewest digits that is the same in 32 bits."""
    return None if score is None else float(str(np.float32(score)))


def _describe_graph(
    settings: Any, tokenizers: Tokenizers, weights: Iterable[str]
) -> list[dict[str, Any]]:
    """Return the equations of a page. ValueError for a weight that none of them has."""
    sizes = len(tokenizers.source), len(tokenizers.target)
    graph = build_graph(settings, record_wiring(settings), SOURCE, TARGET, *sizes)
    operands = {name for op in graph.values() for name in op.operands}
    if unused := sorted({*weights} - operands):
        raise ValueError(
            f"a page would compute without the weight {unused[0]}: write it into its equation in "
            "see/catalogue.toml"
        )
    return [describe_equation(op) for op in graph.values()]
