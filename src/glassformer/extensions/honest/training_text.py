"""The training text of a model: as it is named, or where its run says that it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from glassformer.data.corpus import find_data
from glassformer.data.files import STANDARD
from glassformer.data.holdout import leave_out
from glassformer.data.sources import Corpora
from glassformer.model.files.directory import RECORD, RUN

MOST = 500_000  # pairs that are read


def read_training(
    folder: Path | None, named: Sequence[str | Path], langs: tuple[str | None, str | None]
) -> list[tuple[str, str]]:
    """Return the pairs that a model learned from; none if they are not known, or no longer there.

    named: paths as `train` takes them, instead of what the run says. What the run itself held out
    of them is none of these pairs.
    """
    # The files were moved, or changed; or there is no PyTorch, which runs are read with.
    with suppress(ValueError, OSError, ImportError):
        if folder and (folder / RUN / RECORD).is_file() and (not named or _reads(folder, named)):
            return list(islice(chain.from_iterable(open_training(folder).parts), MOST))
    if named:
        return list(islice(find_data([Path(each) for each in named], *langs).train, MOST))
    return []


def _reads(folder: Path, named: Sequence[str | Path]) -> bool:
    """Return whether a run was given these paths as its data."""
    from glassformer.train.plan.run_folder import read_record

    data: list[str] = read_record(folder)["data"]
    return data == [str(Path(each).resolve()) for each in named]


def open_training(folder: Path) -> Corpora:
    """Return the corpora of a run, but for those that models made, if people made any.

    What it held out of them is left out. ValueError if they are no longer there: the standard input
    is gone, too.
    """
    from glassformer.train.plan.preparation import find_corpora
    from glassformer.train.plan.run_folder import read_record, read_settings, read_valid

    record = read_record(folder)
    if STANDARD in map(Path, record["data"]):
        raise ValueError(f"{folder}: its training text was the standard input")
    train, valid = find_corpora(record, read_settings(folder / RUN, record))
    if valid is None:
        train = leave_out(train, zip(*read_valid(folder / RUN), strict=True))
    own = [each for each in zip(train.parts, train.shares, strict=True) if each[1].tag is None]
    return Corpora(*zip(*own, strict=True)) if own else train
