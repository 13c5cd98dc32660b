"""TorchLingo's training, stopped at so many CPU-seconds to translate a test set with 5 beams.

It is called with TASK CPU-SECONDS; TASK is as for `learn_joeynmt`, but TorchLingo reads the text
itself: one SentencePiece model for both languages, with as many tokens as in the task, or fewer if
the text has no more. The sizes and the dropout of the network are those of the task; everything
else is its default, checks on the validation text (whose seconds count) and the choice of the best
model included, but for the schedule. Its default rises to 0.0001 in 4,000 updates and needs to know
the last one, and would learn next to nothing in the minutes of a race; so the rate is that of the
paper, by its own scheduler and with the warm-up of the others. The result is written to
torchlingo.jsonl.

TorchLingo is under the AGPL: it is called here, and nothing of it is contained.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torchlingo.checkpoint import load_model
from torchlingo.config import Config
from torchlingo.data_processing.batching import create_dataloaders
from torchlingo.inference_fast import translate_batch
from torchlingo.models import SimpleTransformer
from torchlingo.preprocessing.base import parallel_txt_to_dataframe, save_data
from torchlingo.preprocessing.sentencepiece import train_sentencepiece
from torchlingo.training import train_model

from .learning import read_settings, read_text, write_result


class Watch:
    """A loader of batches that counts them, and ends the training at a limit of CPU-seconds."""

    def __init__(self, loader: DataLoader[Any], config: Config, limit: float):
        self.loader, self.config, self.limit = loader, config, limit
        self.dataset = loader.dataset
        self.updates, self.tokens, self.cpu = 0, 0, 0.0
        self.began = time.process_time()

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for source, target in self.loader:
            self.cpu = time.process_time() - self.began
            if self.cpu >= self.limit:
                self.config.step_limit = 1  # this update is the last
            self.updates += 1
            self.tokens += sum(
                int((side != self.config.pad_idx).sum()) for side in (source, target)
            )
            yield source, target


def describe(folder: Path, task: dict[str, Any], chosen: dict[str, Any]) -> Config:
    """Return TorchLingo's settings."""
    model = task["model"]
    return Config(
        base_dir=folder,
        d_model=model["d_model"],
        n_heads=model["heads"],
        num_encoder_layers=model["encoder_layers"],
        num_decoder_layers=model["decoder_layers"],
        d_ff=model["d_ff"],
        dropout=model["dropout"],
        norm_first=model["norm"] == "pre",
        learning_rate=1.0,  # a factor of the schedule's rate
        scheduler_type="transformer",
        warmup_steps=chosen["warmup"],
        num_workers=0,  # so that the work of the loader is counted
        device="cpu",
        seed=chosen["seed"],
    )


def write_parts(folder: Path, chosen: dict[str, Any]) -> list[Path]:
    """Write the training and the validation text as TorchLingo reads them."""
    paths = []
    for part in ("train", "valid"):
        path = folder / f"{part}.parquet"
        save_data(parallel_txt_to_dataframe(*map(Path, chosen["text"][part])), path)
        paths.append(path)
    return paths


def make_tokens(folder: Path, train: Path, vocabulary: int, config: Config) -> str:
    """Train SentencePiece, with fewer tokens if the text does not have so many."""
    prefix = str(folder / "tokens")
    while True:
        try:
            train_sentencepiece([train], prefix, vocabulary, config=config)
        except RuntimeError:
            vocabulary = vocabulary * 9 // 10
            if vocabulary < 100:
                raise
        else:
            return f"{prefix}.model"


def learn(task_folder: Path, limit: float) -> None:
    """Train until the limit, and translate the test with the best model."""
    task, chosen = read_settings(task_folder)
    folder = task_folder / "torchlingo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    torch.manual_seed(chosen["seed"])
    config = describe(folder, task, chosen)
    train, valid = write_parts(folder, chosen)
    tokens = make_tokens(folder, train, task["vocabulary"], config)
    batches, checks, source, target = create_dataloaders(
        train, valid, use_sentencepiece=True, sp_model_path=tokens, config=config
    )
    network = SimpleTransformer(len(source), len(target), config=config)
    watch = Watch(batches, config, limit)
    trained = train_model(
        network,
        watch,
        checks,
        num_epochs=10**6,
        gradient_clip=config.grad_clip,
        config=config,
        save_dir=folder,
    )
    best = load_model(trained.best_checkpoint).model
    said = translate_batch(
        best,
        read_text(chosen, "test")[0],
        source,
        target,
        decode_strategy="beam",
        beam_size=5,
        config=config,
    )
    write_result(task_folder / "torchlingo.jsonl", watch.cpu, watch.updates, watch.tokens, said)


if __name__ == "__main__":
    learn(Path(sys.argv[1]), float(sys.argv[2]))
