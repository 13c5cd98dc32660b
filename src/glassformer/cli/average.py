"""The command `glassformer average`: one model of the last checkpoints of a run."""

from __future__ import annotations

from pathlib import Path

from .options import AS_JSON, DEVICE, arg, opt
from .terminal import to_json


def average(
    run: Path = arg("RUN", "The folder that train wrote to.", default=...),
    out: Path = opt("FOLDER", "Where the new model goes.", default=...),
    last: int = opt("N", "How many of the latest checkpoints.", min=1, default=5),
    device: str = DEVICE,
    as_json: bool = AS_JSON,
) -> None:
    """Make one model of the last checkpoints of a run: the mean of each weight.

    The paper did so with the last 5 (base) or 20 (big), often for half a point of BLEU. The run
    must have kept that many: train it with --set train.keep=5.

    \b
    glassformer average my-model --last 5 --out my-averaged-model
    """
    from .. import train as training

    found = training.average(run, out, last, device=device)
    if as_json:
        print(to_json({**found.values(), "signature": found.signature}))
        return
    scores = ", ".join(f"{name} {value:.2f}" for name, value in found.values().items())
    print(f"{out}: the mean of the last {last} checkpoints of {run}")
    print(f"On the validation text: {scores}")
