"""The training text of a model: as it is named, or where its run says that it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from glassformer.data.corpus import find_data
from glassformer.data.files import STANDARD
from glassformer.data.sources import Corpora
from glassformer.model.files.directory import RECORD, RUN

MOST = 500_000  # pairs that are read


def read_training(
    folder: Path | None, named: Sequence[str | Path], langs: tuple[str | None, str | None]
) -> list[tuple[str, str]]:
    """Return the pairs that a model learned from; none if they are not known, or no longer there.

    named: paths as `train` takes them, instead of what the run says.
    """
    if named:
        return list(islice(find_data([Path(each) for each in named], *langs).train, MOST))
    if folder is None or not (folder / RUN / RECORD).is_file():
        return []
    # The files were moved, or changed; or there is no PyTorch, which runs are read with.
    with suppress(ValueError, OSError, ImportError):
        return list(islice(chain.from_iterable(open_training(folder).parts), MOST))
    return []


def open_training(folder: Path) -> Corpora:
    """Return the corpora of a run, but for those that models made, if people made any.

    ValueError if they are no longer there: the standard input is gone, too.
    """
    from glassformer.train.plan.preparation import find_corpora
    from glassformer.train.plan.run_folder import read_record, read_settings

    record = read_record(folder)
    if STANDARD in map(Path, record["data"]):
        raise ValueError(f"{folder}: its training text was the standard input")
    train, _ = find_corpora(record, read_settings(folder / RUN, record))
    own = [each for each in zip(train.parts, train.shares, strict=True) if each[1].tag is None]
    return Corpora(*zip(*own, strict=True)) if own else train
