"""The vocabulary of a training: learned from its text, another model's, or in files of its own."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from shutil import copyfile
from typing import Any

from ...config import Config
from ...data.corpus import read_pairs
from ...data.sources import Corpora
from ...foundation.extensions import need_addition
from ...foundation.progress import Reporter
from ...model.files.directory import SIDES, Tokenizers, check_normalization, open_tokenizers
from ...text import Normalization, Tokenizer
from ...text.characters import watch_characters
from ...text.kinds import train_tokenizer
from ...text.normalization import KINDS as NORMALIZATIONS
from ...text.stand_ins import list_copies
from .ideas import find_ideas
from .init_from import PARENT

SUBWORDS = "subwords"  # the folder, in that of the run, of SentencePiece models or BPE codes
KINDS = {"dropout": "bpe", "sampling_alpha": "unigram"}  # what can be sampled so


def check_subwords(paths: Sequence[Path | str], config: Config, others: Sequence[str]) -> None:
    """Raise ValueError if files cannot be the vocabulary of a training.

    others: the options that bring tokens too.
    """
    if not paths:
        return
    for option in others:
        raise ValueError(f"{option} brings its own tokens: --subwords has no effect with it")
    if len(paths) > 2:
        raise ValueError(f"--subwords: {len(paths)} files, but there are two sides")
    text = config.text
    if text.shared != (len(paths) == 1):
        expected = "one file, of both sides" if text.shared else "two files, source and target"
        raise ValueError(f"text.shared={str(text.shared).lower()} needs {expected}: --subwords")
    for changed in text.list_changed(("vocabulary", *NORMALIZATIONS)):
        raise ValueError(
            f"text.{changed} has no effect with --subwords, which are taken as they are"
        )
    for path in paths:
        need_addition("read_subwords", "--subwords")(Path(path))


def copy_subwords(paths: Sequence[Path | str], run: Path) -> None:
    """Copy the files of a vocabulary to the run's folder."""
    for number, path in enumerate(paths):
        (run / SUBWORDS).mkdir(exist_ok=True)
        copyfile(path, run / SUBWORDS / f"{number}-{Path(path).name}")


def take_subwords(run: Path, train: Corpora, config: Config) -> tuple[Config, Tokenizers | None]:
    """Return the tokenizers of given files, and the settings that they settle; None without files.

    ValueError if text.tokenizer says that the tokens are others.
    """
    paths = sorted((run / SUBWORDS).glob("*"))
    if not paths:
        return config, None
    tags, subwords = _list_tags(config), list[Tokenizer]()
    for side, path in enumerate(paths):
        sides = (0, 1) if len(paths) == 1 else (side,)
        texts = chain.from_iterable(_read_side(train, each) for each in sides)
        make_tokenizer = need_addition("make_tokenizer", "--subwords")
        subwords.append(make_tokenizer(path, tags[side], texts))
    tokenizers = Tokenizers(subwords[0], subwords[-1])
    tokenizers.save(run)
    kind = KINDS[subwords[0].sampling]
    if config.text.tokenizer not in ("bpe", kind):
        raise ValueError(f"text.tokenizer={config.text.tokenizer}: the tokens given are of {kind}")
    size = max(300, *map(len, subwords))
    return config.changed(text={"vocabulary": size, "tokenizer": kind}), tokenizers


def find_tokenizers(
    folder: Path, train: Corpora, config: Config, record: dict[str, Any], report: Reporter
) -> Tokenizers:
    """Return the tokenizers of the initial model if they are kept, or else new ones."""
    parent = record.get("parent")
    if record.get("initial"):
        return open_tokenizers(folder, config)
    if parent and parent["tokens"] == "kept":
        kept = open_tokenizers(folder, config)
        try:
            for tokenizer, tags in zip(kept, _list_tags(config), strict=True):
                tokenizer.find_tags(tags)
        except ValueError as error:
            raise ValueError(f"{parent['name']}: {error}; --new-tokenizer learns others") from None
        return kept
    required = (idea.find_target_tokens(folder) for idea in find_ideas(config, record))
    known = next(filter(None, required), None)
    with report.phase("vocabulary") as advance:

        def counted(lines: Iterable[str]) -> Iterable[str]:
            for number, line in enumerate(lines, 1):
                if not number % 1000:
                    advance(number)
                yield line

        both = SIDES[:1] if config.model.is_language_model else SIDES
        counts: dict[str, dict[str, int]] = {side: {} for side in SIDES}
        sides = [
            counted(watch_characters(_read_side(train, number), counts[side]))
            for number, side in enumerate(both)
        ]
        tokenizers = learn_tokenizers(config, sides, known).know_characters(config, counts)
    tokenizers.save(folder)
    if parent:
        known_tokens = {*Tokenizers.load(folder / PARENT).target.vocabulary}
        count = len(known_tokens.intersection(tokenizers.target.vocabulary))
        report.say(f"{parent['name']} knows {count:,} of the target tokens")
    return tokenizers


def learn_tokenizers(
    config: Config, sides: Sequence[Iterable[str]], target: Tokenizer | None = None
) -> Tokenizers:
    """Learn the tokenizers of the text of each side, or of a language model's one.

    `target` is that of the target, if it is known; with one vocabulary it is that of both sides.
    These have two tokenizers of the same tokens if their normalization differs.
    """
    text, (tags, begin) = config.text, _list_tags(config)
    before, after = (Normalization.choose(text, side) for side in ("source", "target"))
    room, kind = text.vocabulary - len(tags), text.tokenizer
    if config.data.copies:
        copies = " ".join(list_copies(config.data.copies))
        sides = [chain((copies,), side) for side in sides]
    if not text.shared:
        source = train_tokenizer(sides[0], room, kind, before).with_tags(tags)
        room = text.vocabulary - len(begin)
        target = target or train_tokenizer(sides[1], room, kind, after)
        return Tokenizers(source, target.with_tags(begin))
    if config.model.is_language_model:
        after = before
    if before != after:
        sides = [map(before.clean, sides[0]), *sides[1:]]
    both = (target or train_tokenizer(chain(*sides), room, kind, after)).with_tags(tags)
    return Tokenizers(both.with_normalization(before), both)


def _list_tags(config: Config) -> tuple[list[str], list[str]]:
    """Return the tags that the tokens of each side need; one vocabulary has those of both."""
    tags, begin = config.data.list_tags(), config.data.target_tags
    return [*dict.fromkeys([*tags, *begin])] if config.text.shared else tags, begin


def check_tokenizers(config: Config, tokenizers: Tokenizers) -> None:
    """Raise ValueError if the tokens are of other text, or cannot be sampled as is wanted."""
    check_normalization(config, tokenizers, "the vocabulary")
    for side in ("source", "target"):
        possible = getattr(tokenizers, side).sampling
        for name in KINDS:
            if getattr(config.text, name) and name != possible:
                raise ValueError(
                    f"text.{name} has no effect on the tokens of the {side} side: "
                    f"text.{possible} samples these"
                )


def tell_vocabulary(tokenizers: Tokenizers) -> str:
    """Return, in words, how many tokens there are, and the tags among them."""
    sizes = sorted({len(tokenizers.source), len(tokenizers.target)})
    message = f"Vocabulary: {' and '.join(f'{size:,}' for size in sizes)} tokens"
    tags = tokenizers.source.tags
    return f"{message}, {', '.join(tags)} among them" if tags else message


def _read_side(train: Corpora, side: int) -> Iterator[str]:
    for part in train.parts:
        yield from map(itemgetter(side), read_pairs(part))
