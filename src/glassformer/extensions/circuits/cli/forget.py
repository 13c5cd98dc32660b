"""The command `glassformer forget`: remove what a training left beside its model."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, MODEL
from glassformer.cli.terminal import to_json


def forget(model: Path = MODEL, as_json: bool = AS_JSON) -> None:
    """Remove the folder `run` of a model: the training text as token ids, and checkpoints.

    The model translates as before. Its training cannot be resumed any more, nor followed back by
    `taught`, and nobody to whom you give the folder can read the training text in it. `info` says,
    without removing anything, how large it is; `publish` copies a model without it.

    \b
    glassformer forget my-model
    """
    from glassformer.model.files.directory import RUN, locate

    from ..forget import forget_training

    folder = locate(model)
    contents = forget_training(folder)
    message = f"Removed {folder / RUN} with {contents}"
    print(to_json({"removed": contents.to_json()}) if as_json else message)
