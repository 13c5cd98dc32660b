"""A training that was cut short and resumed is the same, bit for bit, as one that was not."""

import json

import pytest
import torch

from glassformer.config import Config
from glassformer.model.files.tensors import load_tensors
from glassformer.train import resume, train

LINES = [
    f"the {a} {b} runs {c}" for a in ("red", "old", "big") for b in ("cat", "dog") for c in "xyz"
]
SETTINGS = {
    "model": {
        "d_model": 16,
        "d_ff": 32,
        "heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "dropout": 0.3,
        "attention_dropout": 0.1,
    },
    "text": {"vocabulary": 320, "dropout": 0.1, "samples": 2},
    "train": {
        "steps": 12,
        "batch_tokens": 64,
        "gradient_accumulation": 2,
        "validate_every": 6,
        "checkpoint_every": 4,
        "ema": 0.9,
        "schedule": "cosine",
    },
    "decode": {"max_extra": 5},
}


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.en").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    (tmp_path / "a.xx").write_text("\n".join(x[::-1] for x in LINES) + "\n", encoding="utf-8")
    return [tmp_path / "a.en", tmp_path / "a.xx"]


def settings(precision, optimizer="adam"):
    chosen = {"precision": precision, "optimizer": optimizer}
    return Config.read({**SETTINGS, "train": {**SETTINGS["train"], **chosen}})


def last_checkpoint(out):
    return max((out / "run" / "checkpoints").iterdir())


def assert_equal_trainings(one, other):
    a, b = last_checkpoint(one), last_checkpoint(other)
    assert a.name == b.name
    for name in ("weights", "averaged", "optimizer"):
        left, right = (load_tensors(path / f"{name}.safetensors") for path in (a, b))
        assert left.keys() == right.keys()
        for key in left:
            assert torch.equal(left[key], right[key]), key
    left, right = (load_tensors(path / "model.safetensors") for path in (one, other))
    assert all(torch.equal(left[key], right[key]) for key in left)


RNN = {
    "network": "rnn",
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.3,
    "rnn": {"cell": "lstm", "bidirectional": True, "attention": "general"},
}


@pytest.mark.thorough
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_recurrent_network_killed_after_a_checkpoint(tmp_path, corpus, precision, monkeypatch):
    config = Config.read({**settings(precision).to_json(), "model": RNN})
    check_killed(config, tmp_path, corpus, monkeypatch)


@pytest.mark.parametrize("kind", ["decoder", "encoder", "labels"])
def test_a_language_model_killed_after_a_checkpoint(tmp_path, corpus, kind, monkeypatch):
    """Its masks are drawn again as they were."""
    network = "decoder" if kind == "decoder" else "encoder"
    other = {"decoder": "encoder_layers", "encoder": "decoder_layers"}[network]
    model = {**SETTINGS["model"], "network": network, other: 0}
    data = corpus[:1]
    if kind == "labels":
        data = [tmp_path / "labelled.tsv"]
        lines = [f"{'red' if 'red' in line else 'other'}\t{line}\n" for line in LINES]
        data[0].write_text("".join(lines), encoding="utf-8")
    config = Config.read({**settings("fp32").to_json(), "model": model})
    check_killed(config, tmp_path, data, monkeypatch)


@pytest.mark.thorough
@pytest.mark.parametrize("optimizer", ["adam", "muon"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_killed_after_a_checkpoint(tmp_path, corpus, precision, optimizer, monkeypatch):
    check_killed(settings(precision, optimizer), tmp_path, corpus, monkeypatch)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "changes",
    [
        ["data.augment.typos=0.3", "data.augment.case=0.2", "text.samples=0"],
        ["train.schedule=plateau", "train.plateau_patience=1", "train.validate_every=2"],
        ["train.gradient_checkpointing=true", "train.rdrop_alpha=1"],
        ["train.lora_rank=2"],
    ],
)
def test_what_else_a_training_can_have(tmp_path, corpus, changes, monkeypatch):
    check_killed(Config.read(settings("fp32").to_json(), changes), tmp_path, corpus, monkeypatch)


def check_killed(config, tmp_path, corpus, monkeypatch):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(config, corpus, whole, quiet=True)

    from glassformer.train.run.updates import Updater

    update = Updater.update

    def dies(self, step, *rest):
        if step == 7:
            raise KeyboardInterrupt
        return update(self, step, *rest)

    monkeypatch.setattr(Updater, "update", dies)
    with pytest.raises(KeyboardInterrupt):
        train(config, corpus, broken, quiet=True)
    monkeypatch.undo()
    torch.manual_seed(99)  # whatever state the process is in
    torch.rand(3)
    summary = resume(broken, quiet=True)
    assert summary.is_finished
    assert_equal_trainings(whole, broken)
    written = (broken / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [json.loads(line)["step"] for line in written]
    assert steps == sorted(steps)


def test_a_validation_more_does_not_change_the_weights(tmp_path, corpus):
    often = settings("fp32").changed(train={"validate_every": 2})
    train(settings("fp32"), corpus, tmp_path / "seldom", quiet=True)
    train(often, corpus, tmp_path / "often", quiet=True)
    left, right = (
        load_tensors(last_checkpoint(tmp_path / name) / "weights.safetensors")
        for name in ("seldom", "often")
    )
    assert all(torch.equal(left[key], right[key]) for key in left)
