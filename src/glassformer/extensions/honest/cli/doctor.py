"""The command `glassformer doctor`: checks of this machine, or of a model."""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Exit

from glassformer.cli.options import AS_JSON, arg, flag, opt
from glassformer.cli.terminal import to_json

if TYPE_CHECKING:
    from glassformer.train.publish.health import HealthFinding


def doctor(
    model: Path | None = arg(
        "[MODEL]", "The folder of a trained model; if not given, this machine is checked."
    ),
    training: bool = flag(
        "Instead: what went wrong in MODEL's training: padding, gradients, a loss that does not "
        "fall, validation lines in the training text, copies.",
        "--training",
    ),
    here: Path = opt("FOLDER", "Check the disk of this folder.", default=Path()),
    as_json: bool = AS_JSON,
) -> None:
    """Check what this machine can do, or whether a model is intact and translates as before.

    If you can do something about what is missing, a line with ">" says so. The exit code is 1
    if something is wrong.

    \b
    glassformer doctor
    glassformer doctor my-model
    glassformer doctor my-model --training
    """
    findings, facts = _examine(model, here) if not training else _examine_training(model)
    if as_json:
        print(to_json({**facts, "findings": [asdict(each) for each in findings]}))
    else:
        print(render_findings(findings))
    if any(each.is_wrong for each in findings):
        raise Exit(1)


def _examine(model: Path | None, here: Path) -> tuple[list[HealthFinding], dict[str, object]]:
    try:
        if find_spec("torch"):
            import torch  # noqa: F401
    except (ImportError, OSError) as error:  # OSError: a system library is missing
        raise ValueError(
            f"torch cannot be loaded ({error}): install it anew, as "
            "https://pytorch.org/get-started says for your system"
        ) from None
    from glassformer.foundation.machine.properties import list_versions, look_at_machine
    from glassformer.foundation.shared_library import find_libraries
    from glassformer.model.files.directory import CHECKPOINTS, RUN, locate
    from glassformer.train.publish.health import examine_machine, examine_model

    if model:
        result, folder = examine_model(model), locate(model)
        if (folder / RUN / CHECKPOINTS).is_dir():
            from glassformer.train.run.checkpoint import examine_checkpoints

            result += examine_checkpoints(folder)
        return result, {}
    machine, versions = look_at_machine(here), list_versions()
    return examine_machine(machine, versions, find_libraries()), {
        **machine.to_json(),
        "versions": versions,
    }


def _examine_training(model: Path | None) -> tuple[list[HealthFinding], dict[str, object]]:
    from ..diagnostics import examine_training

    if not model:
        raise ValueError("--training needs a MODEL whose training is still there")
    return examine_training(model), {}


def render_findings(findings: list[HealthFinding]) -> str:
    width = max(len(each.about) for each in findings)
    lines = []
    for each in findings:
        lines.append(f"{'!' if each.is_wrong else ' '} {each.about:<{width}}  {each.said}")
        if each.advice:
            lines.append(f"  {'':<{width}}  > {each.advice}")
    return "\n".join(lines)
