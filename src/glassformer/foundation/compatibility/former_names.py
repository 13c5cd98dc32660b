"""The former names of settings, weights and keys, so that files of earlier versions can be read.

Each name that changed has one line. The names in a model directory, a recipe, a checkpoint or a
recording are replaced as it is read; what is written has the new names.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

SETTINGS = {
    "model.hidden_dropout": "model.activation_dropout",
    "model.positions.longest": "model.positions.max_positions",
    "train.accumulate": "train.gradient_accumulation",
    "train.clip": "train.max_grad_norm",
    "train.consistency": "train.rdrop_alpha",
    "train.embedding_rate": "train.embedding_lr_scale",
    "decode.no_repeat": "decode.no_repeat_ngram_size",
    "decode.penalty": "decode.length_penalty",
}
VALUES = {"decode.length_penalty": {"paper": "gnmt"}}

# The dotted names of weights and windows.
TENSORS = (
    (re.compile(r"_road(?=\.|$)"), "_residual"),
    (re.compile(r"_embedding\.words$"), "_embedding.embedded"),
    (re.compile(r"_embedding\.places$"), "_embedding.positions"),
    (re.compile(r"_embedding\.places_LD$"), "_embedding.positions_LD"),
    (re.compile(r"_attention\.heads$"), "_attention.context"),
)

# The keys of JSON files: recordings, progress, the settings that a training was begun with.
KEYS = {
    "piece_log_prob": "token_log_prob",
    "source_pieces": "source_tokens",
    "target_pieces": "target_tokens",
    "reference_pieces": "reference_tokens",
    "pieces": "tokens",
    "pieces_per_second": "tokens_per_second",
    "new_pieces": "new_tokens",
    "place": "index",
}


def rename_settings(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings with today's names; a name that is given twice stays as it is."""
    result = deepcopy(dict(raw))
    for old, new in SETTINGS.items():
        *tables, last = old.split(".")
        table: Any = result
        for name in tables:
            table = table.get(name) if isinstance(table, dict) else None
        name = new.rpartition(".")[2]
        if isinstance(table, dict) and last in table and name not in table:
            value = table.pop(last)
            known = VALUES.get(new, {})
            table[name] = known.get(value, value) if isinstance(value, str) else value
    return result


def rename_tensor(name: str) -> str:
    """Return today's name of a weight or a window."""
    for pattern, new in TENSORS:
        name = pattern.sub(new, name)
    return name


def rename_keys(value: Any) -> Any:
    """Return a JSON value with today's keys in all of its objects, at any depth."""
    if isinstance(value, dict):
        return {KEYS.get(key, key): rename_keys(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rename_keys(each) for each in value]
    return value
