"""Several parallel corpora: how they are named on the command line, and where each is.

A corpus of several is written PATH, PATH:WEIGHT or PATH,weight=3,tag=bt,langs=en-de,name=news. Two
text files in a row are one corpus, source first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..config import Config, CorpusShare, Data
from .corpus import Corpus, find_data
from .files import STANDARD, Fingerprint
from .tables import Pair, table_kind

OPTIONS = ("weight", "tag", "langs", "name")


@dataclass(frozen=True, eq=False)
class Corpora:
    """Parallel corpora, of which most trainings have one; each iteration reads the files."""

    parts: tuple[Corpus, ...]
    shares: tuple[CorpusShare, ...]  # one for each

    def __iter__(self) -> Iterator[Pair]:
        return chain.from_iterable(self.parts)

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(path for each in self.parts for path in each.files))

    def fingerprints(self) -> tuple[Fingerprint, ...]:
        """Return the fingerprint of each file once. ValueError: see `Corpus.fingerprints`."""
        results = {
            path: fingerprint
            for each in self.parts
            for path, fingerprint in zip(
                dict.fromkeys(each.files), each.fingerprints(), strict=True
            )
        }
        return tuple(results.values())

    def count_lines(self) -> int:
        """Return the number of lines, by which progress is told."""
        return sum(each.fingerprints()[0].lines for each in self.parts)

    def choose(self, masks: Sequence[np.ndarray[Any, np.dtype[np.bool_]]]) -> Corpora:
        """Return the corpora with these pairs only, a mask for each."""
        pairs = zip(self.parts, masks, strict=True)
        return replace(self, parts=tuple(replace(each, chosen=mask) for each, mask in pairs))


def read_corpora(config: Config, data: Sequence[str | Path]) -> tuple[Config, list[list[str]]]:
    """Return the settings with each of the corpora, and the paths of each; without names, one.

    They are those of `data`, or, if that is empty, of the settings, whose paths are removed. One
    corpus without a weight or a tag is none of several. ValueError for an option that is unknown.
    """
    shares = list(config.data.corpus)
    if data and any(each.paths for each in shares):
        raise ValueError(f"{data[0]} and data.corpus.paths both name the data: give one of them")
    if not data and not any(each.paths for each in shares):
        raise ValueError("no data are named: neither as files, nor in data.corpus.paths")
    if not data:
        if missing := next((each.name for each in shares if not each.paths), None):
            raise ValueError(f"data.corpus {missing}: it has no paths")
        plain = tuple(each.model_copy(update={"paths": None}) for each in shares)
        return _set_corpora(config, plain), [list(each.paths or ()) for each in shares]
    written = [_split_options(str(each)) for each in data]
    groups = list(_join_sides(written))
    if len(groups) == 1 and config.data.stage:
        raise ValueError("data.stage reads some of several corpora, but there is only one")
    if len(groups) == 1 and not groups[0][1] and len(shares) < 2:
        return config, [groups[0][0]]
    if shares and len(shares) != len(groups):
        raise ValueError(f"{len(groups)} corpora are given, but data.corpus has {len(shares)}")
    named = _name_corpora(groups)
    if shares:
        named = [
            {**each.model_dump(exclude_none=True), **more}
            for each, (_, more) in zip(shares, groups, strict=True)
        ]
    raw = config.model_dump(exclude_unset=True, exclude_none=True)
    raw["data"] = {**raw.get("data", {}), "corpus": named}
    return Config.read(raw), [paths for paths, _ in groups]


def _set_corpora(config: Config, shares: tuple[CorpusShare, ...]) -> Config:
    return config.model_copy(update={"data": config.data.model_copy(update={"corpus": shares})})


def _split_options(written: str) -> tuple[str, dict[str, Any]]:
    """Return the path of a corpus, and its options; a path that is there is taken as it is."""
    if Path(written).exists():
        return written, {}
    path, *options = written.split(",")
    if any("=" not in each for each in options):
        path, options = written, []
    result: dict[str, Any] = dict(each.split("=", 1) for each in options)
    head, colon, weight = path.rpartition(":")
    with suppress(ValueError):
        if colon:
            result["weight"], path = float(weight), head
    for name in result:
        if name not in OPTIONS:
            raise ValueError(
                f"{written}: {name} is no option of a corpus; {', '.join(OPTIONS)} are"
            )
    with suppress(ValueError):
        if "weight" in result:
            result["weight"] = float(result["weight"])
    if langs := result.pop("langs", None):
        source, dash, target = langs.partition("-")
        if not (source and dash and target):
            raise ValueError(f"{written}: write langs=en-de, source and target")
        result |= {"source_lang": source, "target_lang": target}
    return path, result


def _join_sides(
    written: Sequence[tuple[str, dict[str, Any]]],
) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Yield the paths of each corpus, two for two text files in a row, and its options."""
    rest = list(written)
    if len(rest) == 2 and str(STANDARD) in (rest[0][0], rest[1][0]):
        yield [path for path, _ in rest], {**rest[0][1], **rest[1][1]}
        return
    while rest:
        path, options = rest.pop(0)
        if rest and is_side(Path(path)) and not holds_both(Path(rest[0][0])):
            other, more = rest.pop(0)
            yield [path, other], {**options, **more}
        else:
            yield [path], options


def holds_both(path: Path) -> bool:
    """Return whether a path is that of both sides of a corpus: a table, an archive, a folder."""
    return path.is_dir() or table_kind(path) is not None or path.suffix == ".zip"


def is_side(path: Path) -> bool:
    """Return whether a file is one side of a corpus: not a table, an archive or a folder."""
    return path.is_file() and not holds_both(path)


def _name_corpora(groups: Sequence[tuple[list[str], dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the table of each corpus, with a name of its own."""
    corpora: list[dict[str, Any]] = []
    for paths, options in groups:
        path = Path(paths[0])
        name = options.get("name") or path.name.split(".")[0] or path.name
        taken = {each["name"] for each in corpora}
        if name in taken and "name" not in options:
            langs = [options.get(f"{side}_lang") for side in ("source", "target")]
            above = f"{path.parent.name}/{name}"
            tries = [f"{name} {'-'.join(filter(None, langs))}".strip(), above]
            tries += [f"{name} {number}" for number in range(2, len(groups) + 2)]
            name = next(each for each in tries if each not in taken)
        corpora.append({**options, "name": name})
    return corpora


def open_corpora(data: Data, corpora: Sequence[Sequence[str]]) -> tuple[Corpora, Corpora | None]:
    """Return the corpora at these paths, and their validation corpora: folders may have one.

    ValueError if there is none; see `find_data`.
    """
    own = CorpusShare(name="all")
    shares = data.corpus or (own,) * len(corpora)
    results = [
        find_data(paths, each.source_lang or data.source_lang, each.target_lang or data.target_lang)
        for each, paths in zip(shares, corpora, strict=True)
    ]
    valid = [(each.valid, share) for each, share in zip(results, shares, strict=True) if each.valid]
    train = Corpora(tuple(each.train for each in results), tuple(shares))
    if not valid:
        return train, None
    return train, Corpora(
        tuple(each for each, _ in valid if each), tuple(share for _, share in valid)
    )
