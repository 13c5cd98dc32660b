"""Eole in its own training loop.

It makes its own batches of the same pairs, with as many tokens, and sorts them by length. It always
has pre-norm, which takes the same time as post-norm.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eole.config.run import TrainConfig
from eole.train_single import main as train
from eole.trainer import Trainer

from .training import read_task
from .turns import Turns

NEVER = 10**9


def describe(folder: Path, task: dict[str, Any], precision: str) -> dict[str, Any]:
    """Return the task in Eole's settings; our ids are the words of its vocabulary."""
    pairs = {"path_src": str(folder / "train.source"), "path_tgt": str(folder / "train.target")}
    return {
        "data": {"pairs": {**pairs, "transforms": []}},
        "src_vocab": str(folder / "eole.txt"),
        "share_vocab": True,
        "src_vocab_size": task["vocabulary"],
        "tgt_vocab_size": task["vocabulary"],
        "seed": 1,
        "model": describe_model(task["model"]),
        "training": {
            "model_path": str(folder / "eole"),
            "compute_dtype": precision,
            "world_size": 1,
            "gpu_ranks": [],
            "num_workers": 0,
            "optim": "adam",
            "adam_beta1": task["betas"][0],
            "adam_beta2": task["betas"][1],
            "adam_eps": task["epsilon"],
            "decay_method": "noam",
            "warmup_steps": 4000,
            "param_init": 0.0,
            "param_init_method": "xavier_uniform",
            "normalization": "tokens",
            "label_smoothing": task["label_smoothing"],
            "max_grad_norm": task["max_grad_norm"],
            "dropout": [task["model"]["dropout"]],
            "attention_dropout": [task["model"]["attention_dropout"]],
            "log_attention_entropy": False,
            "batch_size": task["batch_tokens"],
            "batch_type": "tokens",
            "train_steps": NEVER,
            "valid_steps": NEVER,
            "save_checkpoint_steps": NEVER,
        },
    }


def describe_model(model: dict[str, Any]) -> dict[str, Any]:
    return {
        "architecture": "transformer",
        "hidden_size": model["d_model"],
        "transformer_ff": model["d_ff"],
        "heads": model["heads"],
        "encoder": {"layers": model["encoder_layers"]},
        "decoder": {"layers": model["decoder_layers"]},
        "mlp_activation_fn": model["activation"],
        "add_qkvbias": True,
        "add_ffnbias": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "embeddings": {
            "word_vec_size": model["d_model"],
            "position_encoding": True,
            "position_encoding_type": "SinusoidalInterleaved",
        },
    }


def write_words(folder: Path, vocabulary: int) -> None:
    controls = ["<unk>", "<blank>", "<s>", "</s>"]
    words = [*controls, *map(str, range(len(controls), vocabulary))]
    (folder / "eole.txt").write_text("".join(f"{x}\n" for x in words), encoding="utf-8")


def main() -> None:
    task = read_task()
    write_words(task.folder, task.settings["vocabulary"])
    turns, step = Turns(), Trainer._train_step
    done: dict[str, int] = {}

    def count(trainer: Trainer, batches: list[Any], *rest: Any, **named: Any) -> None:
        """Count the tokens of an update; add an EOS to each source, which Eole does not."""
        if not done:
            turns.ready(parameters=sum(p.numel() for p in trainer.model.parameters()))
        step(trainer, batches, *rest, **named)
        pad = trainer.train_loss.padding_idx
        done["source"] = sum(int((x["src"] != pad).sum()) + len(x["src"]) for x in batches)
        done["target"] = sum(int((x["tgt"][:, 1:] != pad).sum()) for x in batches)
        turns.tick(updates=1, **done)

    Trainer._train_step = count
    config = describe(task.folder, task.settings, task.precision)
    train(TrainConfig(**config), device_id=-1)


if __name__ == "__main__":
    main()
