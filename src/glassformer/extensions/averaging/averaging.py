"""Checkpoint averaging: a model whose weights are the mean of several (paper 6.1)."""

from pathlib import Path
from typing import Any

import torch

from glassformer.foundation.disk import check_new, prepare_beside, put_folder
from glassformer.foundation.plurals import tell_count
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import (
    BEST,
    CARD,
    CHECKPOINTS,
    CONFIG,
    RUN,
    load_model,
    save_model,
    write_text,
)
from glassformer.model.files.known_words import copy_known_words
from glassformer.model.files.tensors import load_tensors
from glassformer.model.files.weights_file import WeightsFile
from glassformer.train.plan.preparation import prepare_run
from glassformer.train.plan.run_folder import read_record, read_settings
from glassformer.train.publish.card import NEEDED, hash_files, read_facts, write_card
from glassformer.train.publish.golden import write_golden
from glassformer.train.run.checkpoint import checkpoints, read_progress
from glassformer.train.run.validation import Validation, spread_sample, validate


def average(
    run: Path | str,
    out: Path | str,
    last: int | None = None,
    *,
    best: int | None = None,
    device: str = "auto",
) -> Validation:
    """Write a model directory whose weights are the mean of several models of a training.

    They are its `last` checkpoints, or the `best` that `train.keep_best` has kept. Return the
    scores on the validation text of that training. ValueError if there are not so many, or if
    `out` is there.
    """
    run, out = Path(run), Path(out)
    if (last is None) == (best is None):
        raise ValueError("say which models to average: last or best")
    if not checkpoints(run / RUN / CHECKPOINTS):
        raise ValueError(f"{run} holds no training with checkpoints")
    snapshots = list_best(run / RUN, best) if best is not None else list_last(run / RUN, last or 0)
    if (out / CONFIG).exists():
        raise ValueError(f"{out} holds a model already: choose another --out")
    check_new(out)
    prepared = prepare_run(run, Reporter(quiet=True))
    weights = average_weights([folder / "weights.safetensors" for folder in snapshots])
    valid = spread_sample(prepared.valid, len(prepared.valid[0]), prepared.groups)
    with prepare_beside(out) as scratch:
        whole = scratch / "model"
        save_model(whole, prepared.config, prepared.tokenizers, weights)
        parts = (load_model(whole)[2], prepared.config, prepared.tokenizers, valid)
        result = validate(*parts, device=device, precision="fp32", turn=0)
        copy_known_words(run / RUN, whole)
        write_golden(whole, *prepared.golden)
        _write_card(whole, read_facts(run), [int(path.name) for path in snapshots], result)
        put_folder(whole, out)
    return result


def list_last(folder: Path, count: int) -> list[Path]:
    """Return the latest checkpoints of a run; ValueError if it does not keep so many."""
    kept = checkpoints(folder / CHECKPOINTS)
    if not 1 <= count <= len(kept):
        raise ValueError(
            f"{folder.parent} keeps {tell_count(len(kept), 'checkpoint')}, "
            f"so last={count} is not possible: train with --set train.keep={count}"
        )
    return kept[-count:]


def list_best(folder: Path, count: int) -> list[Path]:
    """Return the best models of a run, by its latest checkpoint; ValueError if there are fewer."""
    kept = read_progress(checkpoints(folder / CHECKPOINTS)[-1]).kept_best
    if not 1 <= count <= len(kept):
        keep_best = read_settings(folder, read_record(folder.parent)).train.keep_best
        cure = f"train with --set train.keep_best={count}"
        if len(kept) < count <= keep_best:
            cure = "it has not been validated more often: train longer, or give fewer"
        raise ValueError(
            f"{folder.parent} keeps {len(kept)} of its best models, so best={count} is not "
            f"possible: {cure}"
        )
    return sorted(folder / BEST / f"{each.step:08d}" for each in kept[:count])


def average_weights(files: list[Path]) -> dict[str, torch.Tensor]:
    """Return the mean of each weight; a tied weight stays one tensor under all of its names."""
    sums: dict[str, torch.Tensor] = {}
    for path in files:
        WeightsFile(path).check_finite()
        tensors = load_tensors(path)
        first: dict[int, str] = {}
        names = {name: first.setdefault(id(tensor), name) for name, tensor in tensors.items()}
        for name in first.values():
            total = tensors[name].double()
            sums[name] = sums[name] + total if name in sums else total
    means = {name: (total / len(files)).float() for name, total in sums.items()}
    return {name: means[first_name] for name, first_name in names.items()}


def _write_card(out: Path, facts: dict[str, Any], steps: list[int], validation: Validation) -> None:
    """Write the model card: the facts of the training, with new scores and digests."""
    if not facts.keys() >= NEEDED:  # the training was stopped before it had a model
        message = ", ".join(map(str, steps))
        write_text(
            out / CARD, f"# Model card\n\nThe mean of the weights after updates {message}.\n"
        )
        return
    training = facts["training"] | {"best_step": steps[-1], "mean_of": steps}
    new = {"training": training, "scores": validation.values(), "signature": validation.signature}
    write_card(out, facts | new | {"sha256": hash_files(out)})
