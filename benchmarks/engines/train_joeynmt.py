"""JoeyNMT in its own training loop.

It makes its own batches of the same pairs, with as many tokens; it does not sort them by length.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from joeynmt.training import TrainManager, train

from .training import read_task
from .turns import Turns

PAD = 1


def describe(folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Return the task in JoeyNMT's settings; our ids are the words of its vocabulary."""
    encoder, decoder = describe_network(task["model"])
    return {
        "name": "task",
        "model_dir": str(folder / "joeynmt"),
        "use_cuda": False,
        "data": describe_data(folder),
        "testing": {"beam_size": 1, "batch_size": 1024, "batch_type": "token"},
        "training": {
            "optimizer": "adam",
            "adam_betas": list(task["betas"]),
            "scheduling": "warmupinversesquareroot",
            "learning_rate": 1e-4,
            "learning_rate_warmup": 4000,
            "learning_rate_min": 0.0,
            "normalization": "tokens",
            "label_smoothing": task["label_smoothing"],
            "clip_grad_norm": task["max_grad_norm"],
            "batch_size": task["batch_tokens"],
            "batch_type": "token",
            "epochs": 10**6,
            "logging_freq": 10**6,
            "validation_freq": 10**9,
            "loss": "crossentropy",
        },
        "model": {
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": encoder,
            "decoder": decoder,
        },
    }


def describe_network(model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a Transformer's or a recurrent network's two sides in JoeyNMT's settings."""
    width, dropout = model["d_model"], model["dropout"]
    embeddings = {"embedding_dim": width, "scale": True, "dropout": dropout}
    shape = {"embeddings": embeddings, "hidden_size": width, "dropout": dropout}
    layers = [{"num_layers": model[f"{side}_layers"]} for side in ("encoder", "decoder")]
    if model["network"] == "rnn":
        rnn = model["rnn"]
        shape |= {"type": "recurrent", "rnn_type": rnn["cell"]}
        both = rnn["bidirectional"]
        reads = {"bidirectional": both, "hidden_size": width // 2 if both else width}
        writes = {
            "attention": {"general": "luong", "additive": "bahdanau"}[rnn["attention"]],
            "input_feeding": rnn["input_feeding"],
            "hidden_dropout": dropout,
            "init_hidden": "last",
        }
        return {**shape, **layers[0], **reads}, {**shape, **layers[1], **writes}
    shape |= {
        "type": "transformer",
        "num_heads": model["heads"],
        "ff_size": model["d_ff"],
        "layer_norm": model["norm"],
        "activation": model["activation"],
    }
    return {**shape, **layers[0]}, {**shape, **layers[1]}


def describe_data(folder: Path) -> dict[str, Any]:
    words = {"level": "word", "voc_file": str(folder / "words.txt"), "max_length": 1000}
    return {
        "train": str(folder / "train"),
        "dev": str(folder / "few"),
        "dataset_type": "plain",
        "src": {"lang": "source", **words},
        "trg": {"lang": "target", **words},
        "special_symbols": {
            "unk_token": "<unk>",
            "unk_id": 0,
            "pad_token": "<pad>",
            "pad_id": PAD,
            "bos_token": "<s>",
            "bos_id": 2,
            "eos_token": "</s>",
            "eos_id": 3,
        },
    }


def write_words(folder: Path, vocabulary: int) -> None:
    """Write JoeyNMT's vocabulary, and a few pairs for validation."""
    controls = ["<unk>", "<pad>", "<s>", "</s>"]  # the order that JoeyNMT requires
    words = [*controls, *map(str, range(len(controls), vocabulary))]
    (folder / "words.txt").write_text("".join(f"{x}\n" for x in words), encoding="utf-8")
    for side in ("source", "target"):
        lines = (folder / f"train.{side}").read_text(encoding="utf-8").splitlines()[:4]
        (folder / f"few.{side}").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
    (folder / "joeynmt").mkdir(exist_ok=True)


def main() -> None:
    task = read_task()
    folder, vocabulary = task.folder, task.settings["vocabulary"]
    write_words(folder, vocabulary)
    turns, step = Turns(), TrainManager._train_step
    done: dict[str, int] = {}

    def count(manager: TrainManager, batch: Any) -> Any:
        """Count an update when the next begins: only then has the optimizer taken its step."""
        if done:
            turns.tick(updates=1, **done)
        else:
            turns.ready(parameters=sum(p.numel() for p in manager.model.parameters()))
        done.update(source=int((batch.src != PAD).sum()), target=int((batch.trg != PAD).sum()))
        return step(manager, batch)

    TrainManager._train_step = count
    train(
        rank=0,
        world_size=None,
        cfg=json.loads(json.dumps(describe(folder, task.settings))),
        skip_test=True,
    )


if __name__ == "__main__":
    main()
