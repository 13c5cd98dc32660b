"""Our own training loop, with the reading of each batch."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from glassformer.data.masking import choose_batches
from glassformer.foundation.machine.device import choose_device, choose_precision, keep_memory
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import build_model
from glassformer.train.plan.preparation import prepare_run
from glassformer.train.run.settle import choose_padding
from glassformer.train.run.updates import Updater

from .turns import Turns


def main(folder: Path, precision: str) -> None:
    """Run the training loop's updates, including the reading of each batch."""
    turns = Turns()
    prepared = prepare_run(folder, Reporter(quiet=True))
    device, train = choose_device("cpu"), prepared.config.train
    keep_memory()
    torch.manual_seed(train.seed)
    model = build_model(prepared.config, prepared.tokenizers)
    updater = Updater(model, train, device, choose_precision(precision, device))
    pad_to = train.pad_to or choose_padding(prepared.config.model, device, updater.precision)
    batches = choose_batches(
        prepared.config.changed(train={"pad_to": pad_to}),
        prepared.store,
        (prepared.tokenizers.source, prepared.tokenizers.target),
    )
    updater.probe(batches.worst())
    turns.ready(
        parameters=sum(p.numel() for p in model.parameters()),
        vectors=torch.backends.cpu.get_cpu_capability(),
        precision=updater.precision,
    )
    for step, batch in enumerate(batches.from_step(0), 1):
        outcome = updater.update(step, 1e-4, [batch])
        turns.tick(updates=1, source=outcome.source_tokens, target=outcome.target_tokens)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
