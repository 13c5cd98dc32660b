"""A model as one file for a network that runs in a browser.

The file is a safetensors file. Matrices are int8 with a scale for each row, `NAME.scale`; all other
weights are fp32. Its metadata has everything else: settings, tokenizers, the op-graph and the
catalogue. The network in the browser runs on the equations of the op-graph, so what it needs of
this package is in the file.
"""

import json
from pathlib import Path
from typing import Any

from glassformer.engine.native_model import explain_settings
from glassformer.extensions.serve.page import check_views, describe_equation
from glassformer.foundation.hub import name_model
from glassformer.model.files.directory import HEADS, Tokenizers, locate, open_model, read_findings
from glassformer.model.files.int8 import quantize_file
from glassformer.model.files.known_words import read_known_words
from glassformer.see.catalogue import read_catalogue
from glassformer.see.opgraph import build_graph
from glassformer.see.wiring import record_wiring
from glassformer.text import Normalization, Tokenizer
from glassformer.text.function_words import name_language
from glassformer.text.spacing import is_unspaced
from glassformer.train.publish.card import read_facts
from glassformer.translate.adapting import Adapter
from glassformer.translate.familiarity import measure_usual

from .adapting import describe_adapting
from .judging import describe_judging

SOURCE, TARGET = -1, -2  # sizes in the op-graph that are those of a sentence


def pack_model(model: Path | str) -> bytes:
    """Return the file of a model directory, or of a shipped model.

    Raises ValueError if it is no model directory, has a tokenizer that no browser knows, or is no
    Transformer.
    """
    from safetensors.numpy import save

    folder = locate(model)
    config, tokenizers, weights = open_model(folder)
    check_views(config.model)
    if config.model.plugin:
        raise ValueError(f"{folder}: a page cannot run the network of plugin {config.model.plugin}")
    if config.data.context:
        raise ValueError(
            f"{folder}: a page cannot read the sentences before a sentence: data.context="
            f"{config.data.context}"
        )
    languages = config.data.source_lang, config.data.target_lang
    described = {
        **describe_for_page(folder),
        "settings": {
            "model": config.model.model_dump(mode="json"),
            "decode": config.decode.model_dump(mode="json"),
        },
        "is_native": not explain_settings(config.model),
        "unspaced": is_unspaced(config.data.source_lang),
        "usual": measure_usual(folder, tokenizers),
        "known_words": sorted(read_known_words(folder) or ()),
        "adapting": describe_adapting(Adapter(tokenizers, languages, folder)),
        "judging": describe_judging(languages, tokenizers, folder),
        "portraits": read_findings(folder, HEADS),
        "tokenizers": _describe_tokenizers(folder, tokenizers),
        "ops": _describe_graph(config.model, tokenizers),
        "entries": {name: entry._asdict() for name, entry in read_catalogue().items()},
    }
    stored, aliases = quantize_file(weights)
    written = {"model": described, "aliases": aliases}
    return save(
        stored, {name: json.dumps(each, ensure_ascii=False) for name, each in written.items()}
    )


def describe_for_page(model: Path | str) -> dict[str, Any]:
    """Return what a list of models says of one: its name, its languages and its size."""
    folder = locate(model)
    config, _, weights = open_model(folder)
    source, target = config.data.source_lang, config.data.target_lang
    known = read_known_words(folder)
    return {
        "id": name_model(folder),
        "name": name_model(folder),
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
    }


def _describe_tokenizers(folder: Path, tokenizers: Tokenizers) -> list[dict[str, Any]]:
    """Return the tokenizer of the source and that of the target, or the one of both.

    Only the source is typed by people, so only it has a map of characters.
    """
    both = tokenizers[:1] if tokenizers.is_shared else tokenizers
    described = [_describe_tokenizer(folder, each) for each in both]
    characters = tokenizers.source.normalization.characters
    described[0]["characters"] = characters.to_json() if characters else {}
    return described


def _describe_tokenizer(folder: Path, tokenizer: Tokenizer) -> dict[str, Any]:
    if type(tokenizer) is not Tokenizer:
        raise ValueError(
            f"{folder}: a page cannot cut text into its tokens, only into those that `glassformer "
            "train` learned with text.tokenizer=bpe or char"
        )
    if tokenizer.normalization._replace(characters=None) != Normalization():
        raise ValueError(f"{folder}: a page cannot do its nfkc, punctuation or lowercase")
    return {"vocabulary": tokenizer.vocabulary, "merges": tokenizer.merges}


def _describe_graph(settings: Any, tokenizers: Tokenizers) -> list[dict[str, Any]]:
    sizes = len(tokenizers.source), len(tokenizers.target)
    graph = build_graph(settings, record_wiring(settings), SOURCE, TARGET, *sizes)
    return [describe_equation(op) for op in graph.values()]
