"""The tokenizers of a training: learned from its text, or those of the initial model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..config import Config
from ..data.corpus import Corpus
from ..data.tables import Pair
from ..directory import Tokenizers
from ..text import Tokenizer
from ..text.spacing import close_up, is_unspaced
from .init_from import PARENT, count_known
from .log import Reporter


def find_tokenizers(
    folder: Path, train: Corpus, config: Config, record: dict[str, Any], report: Reporter
) -> Tokenizers:
    """Return the tokenizers of the initial model if they are kept, or else new ones."""
    parent = record.get("parent")
    if parent and parent["tokens"] == "kept":
        return Tokenizers.load(folder)
    tokenizers = _train_tokenizers(folder, train, config, report)
    if parent:
        known = count_known(Tokenizers.load(folder / PARENT).target, tokenizers.target)
        report.say(f"{parent['name']} knows {known:,} of the target tokens")
    return tokenizers


def read_pairs(train: Corpus, config: Config) -> Iterator[Pair]:
    """Return the pairs; a Chinese or Japanese source loses its spaces, as in `Translator`."""
    if not is_unspaced(config.data.source_lang):
        return iter(train)
    return ((close_up(source), target) for source, target in train)


def _train_tokenizers(folder: Path, train: Corpus, config: Config, report: Reporter) -> Tokenizers:
    """Train the tokenizers on the text and save them; a progress bar counts the lines."""
    with report.phase("vocabulary") as advance:

        def counted(lines: Iterable[str]) -> Iterable[str]:
            for number, line in enumerate(lines, 1):
                if not number % 1000:
                    advance(number)
                yield line

        sides = [map(itemgetter(side), read_pairs(train, config)) for side in (0, 1)]
        size = config.text.vocabulary
        if config.text.shared:
            both = Tokenizer.train(counted(chain(*sides)), size)
            tokenizers = Tokenizers(both, both)
        else:
            tokenizers = Tokenizers(*(Tokenizer.train(counted(side), size) for side in sides))
    tokenizers.save(folder)
    sizes = sorted({len(tokenizers.source), len(tokenizers.target)})
    report.say(f"Vocabulary: {' and '.join(f'{size:,}' for size in sizes)} tokens")
    return tokenizers
