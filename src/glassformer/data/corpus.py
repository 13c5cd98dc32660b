"""Parallel corpora: sentence pairs in files, found by a prefix, a folder or file names."""

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import compress, zip_longest
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..foundation.extensions import find_addition
from ..foundation.plurals import tell_count
from ..text.spacing import close_up, is_unspaced
from .files import (
    STANDARD,
    Fingerprint,
    count_lines,
    find_members,
    open_bytes,
    read_lines,
    take_fingerprint,
)
from .tables import KINDS, Pair, read_table, table_kind

CATALOGUES = (".po", ".pot", ".xliff", ".xlf", ".resx", ".strings")  # messages of programs


@dataclass(frozen=True, eq=False)
class Corpus:
    """A parallel corpus in two line-aligned files or one table; each iteration reads the files."""

    files: tuple[Path, ...]
    source_lang: str | None = None
    target_lang: str | None = None
    chosen: npt.NDArray[np.bool_] | None = None  # which pairs of the files; None: all

    def __iter__(self) -> Iterator[Pair]:
        if len(self.files) == 2:
            pairs = _read_two(*self.files)
        else:
            pairs = read_table(self.files[0], self.source_lang, self.target_lang)
        return pairs if self.chosen is None else compress(pairs, self.chosen)

    @property
    def compared_sides(self) -> tuple[int, ...]:
        """Return the sides that are looked at to tell whether two pairs are alike."""
        return 0, 1

    def sides(self) -> tuple[Iterable[str], Iterable[str]]:
        """Return the source and the target texts; each iteration reads the files."""
        return _Side(self, 0), _Side(self, 1)

    def fingerprints(self) -> tuple[Fingerprint, ...]:
        """Return the fingerprints of the files. ValueError if one is empty, or lengths differ."""
        prints = tuple(take_fingerprint(path) for path in dict.fromkeys(self.files))
        counts = [each.lines for each in prints]
        if 0 in counts:
            raise ValueError(f"{self.files[counts.index(0)]}: the file is empty")
        if counts[0] != counts[-1]:
            raise self._explain_inequality(counts)
        return prints

    def _explain_inequality(self, counts: list[int]) -> ValueError:
        """Return the error of files of different lengths; an extension may say where it begins."""
        first, second = (str(path) for path in self.files)
        if explain := find_addition("explain_inequality"):
            error: ValueError = explain(*self.sides(), names=(first, second))
            return error
        return ValueError(f"{first} has {counts[0]:,} lines and {second} {counts[-1]:,}")


def read_pairs(part: Corpus) -> Iterator[Pair]:
    """Return the pairs; a Chinese or Japanese source loses its spaces, as in `Translator`."""
    if not is_unspaced(part.source_lang):
        return iter(part)
    return ((close_up(source), target) for source, target in part)


@dataclass(frozen=True)
class _Side:
    corpus: Corpus
    number: int

    def __iter__(self) -> Iterator[str]:
        if len(self.corpus.files) == 2 and self.corpus.chosen is None:
            return read_lines(self.corpus.files[self.number])
        return (pair[self.number] for pair in self.corpus)


@dataclass(frozen=True)
class FoundCorpora:
    """The corpora that `find_data` found; only a folder may have a validation corpus."""

    train: Corpus
    valid: Corpus | None = None


def find_data(
    data: Path | str | Sequence[Path | str],
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> FoundCorpora:
    """Return the corpus that `data` names, and its validation corpus if there is one.

    `data` is one of: two files, source first, of which one may be "-", the standard input; one
    .tsv, .csv, .jsonl or .tmx; a .zip of two files that end in the languages; "-", TSV on the
    standard input; a prefix (D/train means D/train.en and D/train.de, or D/train.tsv); a folder,
    which means its prefix `train` and, for validation, `valid` or `dev`. Each file may be a .gz of
    that name. ValueError if there is none: it says what was looked for.
    """
    paths = [data] if isinstance(data, str | Path) else list(data)
    langs = (source_lang, target_lang)
    if len(paths) == 2:
        return FoundCorpora(Corpus(_two_files(*map(Path, paths)), *langs))
    if len(paths) != 1:
        raise ValueError(
            f"data is a prefix, folder, table or two files; got {len(paths)} paths (an option "
            "takes one path: for two files, give it twice, as in --test test.en --test test.de)"
        )
    path = Path(paths[0])
    if path == STANDARD:
        return FoundCorpora(Corpus((_keep_input("stdin.tsv"),), *langs))
    if path.is_dir():
        valid = _at_prefix(path / "valid", *langs) or _at_prefix(path / "dev", *langs)
        return FoundCorpora(_needed(path / "train", *langs), valid)
    if table_kind(path):
        return FoundCorpora(Corpus((require_file(path),), *langs))
    if path.suffix == ".zip":
        return FoundCorpora(Corpus(find_members(require_file(path), *langs), *langs))
    if path.is_file():
        if "\t" in next(read_lines(require_file(path)), ""):
            raise ValueError(f"{path} has tabs: name it {path.stem}.tsv, if it is a table of pairs")
        raise ValueError(f"{path} is one side only: give both, or pairs as {', '.join(KINDS)}")
    return FoundCorpora(_needed(path, *langs))


class LabelledCorpus(Corpus):
    """Sentences and their classes: a table whose lines are a label, a tab and a sentence."""

    def __iter__(self) -> Iterator[Pair]:
        return ((sentence, label) for label, sentence in super().__iter__())

    @property
    def compared_sides(self) -> tuple[int, ...]:
        return (0,)


def find_text(data: Path | str | Sequence[Path | str], lang: str | None = None) -> FoundCorpora:
    """Return the text of one language that `data` names: each pair is a line and itself.

    `data` is a file, "-", the standard input, a prefix or a folder (D/train.LANG, and D/valid.LANG
    or D/dev.LANG for validation). ValueError if there is none, or more than one.
    """
    path = _take_only(data)
    if path.is_dir():
        valid = [_packed_or_not(path / name, f".{lang}") for name in ("valid", "dev")]
        text = next(filter(None, valid), None)
        train = find_text(path / "train", lang).train
        return FoundCorpora(train, Corpus((text, text)) if text else None)
    if path == STANDARD:
        file = _keep_input("text")
    else:
        file = (lang and _packed_or_not(path, f".{lang}")) or require_file(path)
    if table_kind(file):
        raise ValueError(f"{file} is a table; a language model reads text, a sentence a line")
    return FoundCorpora(Corpus((file, file)))


def find_sentences(data: Path | str | Sequence[Path | str]) -> FoundCorpora:
    """Return the labelled sentences that `data` names, a .tsv; a folder has train and valid.

    ValueError if there is none.
    """
    path = _take_only(data)
    if path.is_dir():
        valid = [_packed_or_not(path / name, ".tsv") for name in ("valid", "dev")]
        sentences = next(filter(None, valid), None)
        train = _packed_or_not(path / "train", ".tsv") or require_file(path / "train.tsv")
        return FoundCorpora(
            LabelledCorpus((train,)), LabelledCorpus((sentences,)) if sentences else None
        )
    return FoundCorpora(LabelledCorpus((require_file(path),)))


def has_labels(data: Path | str | Sequence[Path | str]) -> bool:
    """Return whether `data` names labelled sentences: a .tsv, or a folder with train.tsv."""
    path = Path(data[0] if not isinstance(data, str | Path) else data)
    return path.name.endswith((".tsv", ".tsv.gz")) or bool(_packed_or_not(path / "train", ".tsv"))


def _take_only(data: Path | str | Sequence[Path | str]) -> Path:
    paths = [data] if isinstance(data, str | Path) else list(data)
    if len(paths) != 1:
        raise ValueError(f"a language model reads one text; got {len(paths)} paths")
    return Path(paths[0])


def _read_two(source: Path, target: Path) -> Iterator[Pair]:
    for pair in zip_longest(read_lines(source), read_lines(target)):
        if None in pair:
            raise _unequal((source, target), [count_lines(source), count_lines(target)])
        yield pair


def _unequal(files: Sequence[Path], lines: Sequence[int]) -> ValueError:
    return ValueError(
        f"{files[0]} has {tell_count(lines[0], 'line')} but {files[1]} has {lines[1]:,}: "
        "each line of one must translate the same line of the other"
    )


def _at_prefix(prefix: Path, source_lang: str | None, target_lang: str | None) -> Corpus | None:
    if source_lang and target_lang:
        source, target = (_packed_or_not(prefix, f".{lang}") for lang in (source_lang, target_lang))
        if source and target:
            return Corpus(_two_files(source, target), source_lang, target_lang)
    for kind in KINDS:
        if table := _packed_or_not(prefix, kind):
            return Corpus((table,), source_lang, target_lang)
    return None


def _packed_or_not(prefix: Path, ending: str) -> Path | None:
    plain = prefix.with_name(prefix.name + ending)
    return next((path for path in (plain, Path(f"{plain}.gz")) if path.is_file()), None)


def _needed(prefix: Path, source_lang: str | None, target_lang: str | None) -> Corpus:
    if corpus := _at_prefix(prefix, source_lang, target_lang):
        return corpus
    sides = [f"{prefix.name}.{lang or 'LANGUAGE'}" for lang in (source_lang, target_lang)]
    tables = [f"{prefix.name}{kind}" for kind in KINDS]
    beside = sorted(prefix.parent.iterdir()) if prefix.parent.is_dir() else []
    there = [path.name for path in beside if path.name.startswith(prefix.name)]
    named = source_lang and target_lang
    advice = "" if named or len(there) < 2 else "; --source-lang and --target-lang name two files"
    raise ValueError(
        f"{prefix}: no parallel text there; looked for {' with '.join(sides)}, {', '.join(tables)} "
        f"(each also .gz); found {', '.join(there) or 'none of that name'}{advice}"
    )


def _two_files(source: Path, target: Path) -> tuple[Path, Path]:
    named = [require_file(path) for path in (source, target) if path != STANDARD]
    if not named or (len(named) == 2 and source.samefile(target)):
        raise ValueError(f"{source} cannot be both source and target")
    first, second = (_keep_input("text") if p == STANDARD else p for p in (source, target))
    return first, second


def require_file(path: Path) -> Path:
    """Return the path of a text file; ValueError, with what may be meant, if it is none."""
    if path.name.removesuffix(".gz").endswith(CATALOGUES):
        raise ValueError(
            f"{path} is a catalogue of messages: write them into a .tsv, a line each, with a tab "
            "before the translation (po2csv of the Translate Toolkit makes a .csv of a .po)"
        )
    if path.is_file():
        return path
    if path.exists():
        raise ValueError(f"{path} is no regular file; text is read more than once")
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    near = get_close_matches(path.name, [each.name for each in beside], 1)
    raise ValueError(f"{path}: no such file" + (f"; did you mean {near[0]}?" if near else ""))


def _keep_input(name: str) -> Path:
    """Copy the standard input to a file, since it is read more than once; return the path.

    The file is removed when Python ends.
    """
    folder = Path(tempfile.mkdtemp(prefix="glassformer-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with (folder / name).open("wb") as kept, open_bytes(STANDARD) as stream:
        shutil.copyfileobj(stream, kept)
    return folder / name
