"""The order of a vocabulary, and the file tokenizer.json that stores it with the merges.

The file has the format of Hugging Face `tokenizers` and can be used without any other file.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config import TAG
from ..foundation.disk import read_text
from .normalization import PLAIN, Normalization

CONTROLS = ("<pad>", "<s>", "</s>")  # config.PAD, BOS, EOS
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
FIRST_BYTE = len(CONTROLS)
FIRST_CHARACTER = FIRST_BYTE + len(BYTES)

# A token lies within one match: letters with their marks and inner apostrophes, digits, or other
# characters, each with the space before it; or white space. So no token made from text is spelled
# like "<s>" or "<0x41>", which mix these kinds.
WORD = (
    r" ?[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*"
    r"| ?\p{N}+"
    r"| ?[^\s\p{L}\p{M}\p{N}]+"
    r"|\s+(?!\S)|\s+"
)

# What every tokenizer.json begins with.
HEAD: dict[str, Any] = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": []}

Merges = Sequence[tuple[str, str]]


def is_tag(token: str) -> bool:
    """Return whether a token is a tag, like <2de> or <bt>: letters or digits between < and >."""
    return token.startswith("<") and TAG.fullmatch(token) is not None and token not in CONTROLS


def write_layout(
    vocabulary: Sequence[str], merges: Merges, normalization: Normalization = PLAIN
) -> str:
    """Return the text of tokenizer.json."""
    return render_layout(describe_merges(vocabulary, merges), normalization)


def render_layout(model: Mapping[str, Any], normalization: Normalization) -> str:
    """Return the text of tokenizer.json with a model that `tokenizers` knows."""
    return spell_layout(describe_layout(model, normalization))


def spell_layout(described: Mapping[str, Any]) -> str:
    return json.dumps(described, ensure_ascii=False, indent=1) + "\n"


def open_layout(path: Path | str) -> Any:
    """Return what the file of a tokenizer says; None if it is no JSON. It is read only once."""
    try:
        return json.loads(read_text(Path(path)))
    except (ValueError, RecursionError):
        return None


def name_kind(value: Any) -> str:
    """Return the kind of a tokenizer by what its file says.

    Of those that a training learned, `learned_unigram` or `bpe`; of those of imported models
    `unigram`, `sentencepiece_bpe` or `codes`. Only the latter have a token for what is unknown.
    """
    try:
        model, splitter = value["model"], value["pre_tokenizer"]
        if model["type"] == "Unigram":
            return "unigram" if model["unk_id"] else "learned_unigram"
        if model["unk_token"] == "<unk>":
            return "sentencepiece_bpe" if splitter["type"] == "Metaspace" else "codes"
    except (KeyError, TypeError):
        pass
    return "bpe"


def read_layout(
    value: Any, path: Path | str
) -> tuple[list[str], list[tuple[str, str]], Normalization]:
    """Return the vocabulary, the merges and what happens to a text before.

    Raise ValueError, which names the file, for one that `write_layout` would not write.
    """
    try:
        ids: dict[str, int] = value["model"]["vocab"]
        pairs: list[list[str]] = value["model"]["merges"]
        vocabulary = [*ids]
        if [*ids.values()] != [*range(len(ids))]:  # of another writer, which did not sort them
            vocabulary.sort(key=ids.__getitem__)
            ids = {token: id for id, token in enumerate(vocabulary)}
        merges = [(left, right) for left, right in pairs]
        normalization = Normalization.parse(value["normalizer"]["normalizers"])
        whole = {left + right for left, right in merges}.union(*merges) <= ids.keys()
        typed = type(pairs) is list and {*map(type, pairs)} <= {list}
        model = describe_merges((), ()) | {"vocab": ids, "merges": pairs}  # fast to compare
        same = typed and value == describe_layout(model, normalization)
        if same and whole and starts_right(vocabulary):
            "".join(vocabulary).encode()  # fails on a lone surrogate
            return vocabulary, merges, normalization
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise ValueError(f"{path}: not a tokenizer of glassformer, or a damaged one")


def starts_right(vocabulary: Sequence[str]) -> bool:
    """Return whether a vocabulary begins with the controls and the bytes."""
    return [*vocabulary[:FIRST_CHARACTER]] == [*CONTROLS, *BYTES]


def describe_layout(model: Mapping[str, Any], normalization: Normalization) -> dict[str, Any]:
    """Return the content of tokenizer.json with a model that `tokenizers` knows."""
    steps = [*normalization.describe(), {"type": "Prepend", "prepend": " "}]
    return {
        **HEAD,
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": WORD},
            "behavior": "Isolated",
            "invert": False,
        },
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": model,
    }


def describe_merges(vocabulary: Sequence[str], merges: Merges) -> dict[str, Any]:
    """Return byte-pair encoding as `tokenizers` is told it; without merges, of characters."""
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": True,
        "ignore_merges": False,
        "vocab": {token: id for id, token in enumerate(vocabulary)},
        "merges": [list(pair) for pair in merges],
    }
