"""The file golden.json: a few inputs with their translations, which `doctor` compares."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...config import Decode
from ...foundation.disk import read_json, write_json
from ...model.files.directory import GOLDEN, open_model
from ...translate.language_model import LanguageModel
from ...translate.language_reader import CLASSIFIES
from ...translator import Translator

LINES, MOST_LINES = 4, 100  # written, and compared
TOLERANCE = 1e-3  # of a log-probability; processors differ by about 1e-5


def search_greedily(decode: Decode, most_extra: int | None = None) -> Decode:
    """Return the settings of a greedy search with the length limits of the model's own search.

    `most_extra` replaces a larger `max_extra`.
    """
    extra = decode.max_extra if most_extra is None else min(most_extra, decode.max_extra)
    longest = {"max_ratio": decode.max_ratio, "max_extra": extra}
    return Decode().override({"search": "greedy", **longest})


def write_golden(folder: Path, sources: Sequence[str], pair: str | None = None) -> None:
    """Write the first few sources with their greedy translations, computed in fp32 on a CPU.

    `pair`: the languages of these sources, like "en-de", if the model translates several.
    """
    facts = {"search": "greedy", "precision": "fp32", **({"pair": pair} if pair else {})}
    write_json(folder / GOLDEN, {**facts, "lines": make_golden(folder, sources, pair)})


def make_golden(
    folder: Path, sources: Sequence[str], pair: str | None = None
) -> list[dict[str, Any]]:
    """Return the first few sources with the translations of the model in `folder`."""
    return _translate(folder, sources[:LINES], pair)


def check_golden(folder: Path) -> list[str]:
    """Return, in words, each translation that differs from golden.json.

    ValueError if that file is missing or damaged.
    """
    try:
        kept = read_json(folder / GOLDEN)
        expected = kept["lines"][:MOST_LINES]
        result = _translate(folder, [line["source"] for line in expected], kept.get("pair"))
        return [
            wrong
            for line, (old, new) in enumerate(zip(expected, result, strict=True), 1)
            if (wrong := _differ(line, old, new))
        ]
    except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{folder / GOLDEN}: damaged, or of another version ({error})") from None


def _translate(folder: Path, sources: Sequence[str], pair: str | None) -> list[dict[str, Any]]:
    """Return the sources with their translations, or with what a language model makes of them."""
    config, tokenizers, weights = open_model(folder)
    if config.model.is_language_model:
        model = LanguageModel(config, tokenizers, weights, device="cpu", precision="fp32")
        return _read(model, sources)
    parts = (config.narrow(pair), tokenizers, weights)
    translator = Translator(*parts, device="cpu", precision="fp32")
    decode = search_greedily(translator.config.decode)
    result = translator.search(sources, decode=decode, split=False)
    return [
        {"source": source, "translation": best.text, "log_prob": best.log_prob}
        for source, (best, *_) in zip(sources, result, strict=True)
    ]


def _read(reader: LanguageModel, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return texts with their classes, or with "" where they are only scored."""
    if reader.ability == CLASSIFIES:
        named = [(each.label, each.probabilities[each.label]) for each in reader.classify(texts)]
        sentences = [(label, math.log(probability)) for label, probability in named]
    else:
        sentences = [("", each.log_prob) for each in reader.score(texts)]
    return [
        {"source": text, "translation": label, "log_prob": log_prob}
        for text, (label, log_prob) in zip(texts, sentences, strict=True)
    ]


def _differ(line: int, old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return how two lines differ; the head that places symbols may be chosen on them, later."""
    if len({"".join(sorted(each["translation"].replace(" ", ""))) for each in (old, new)}) > 1:
        return f"line {line} gives {new['translation']!r}, not {old['translation']!r}"
    if abs(new["log_prob"] - old["log_prob"]) > TOLERANCE * max(1, abs(old["log_prob"])):
        return f"line {line} has log-probability {new['log_prob']:.6f}, not {old['log_prob']:.6f}"
    return ""
