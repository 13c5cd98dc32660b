"""A model forgets its training: the folder `run`, which has the training text, is removed."""

import shutil
from pathlib import Path

from glassformer.model.files.directory import LOCK, RUN, WEIGHTS
from glassformer.train.publish.leftovers import Contents, measure_run
from glassformer.train.run.process import hold_lock


def forget_training(folder: Path) -> Contents:
    """Remove what a training left beside its model; return what that was.

    Raises ValueError if there is nothing, if it is being trained, or if no model was kept yet.
    """
    run = folder / RUN
    contents = measure_run(folder)
    if contents is None:
        raise ValueError(f"{folder} remembers no training: it has no folder {RUN}")
    if not (folder / WEIGHTS).is_file():
        raise ValueError(f"{folder} has no model yet: its folder {RUN} is all there is of it")
    with hold_lock(run):
        for path in run.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()
    shutil.rmtree(run)
    return contents
