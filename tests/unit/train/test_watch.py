"""Watching a training: what is kept is true, small, and changes nothing."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.config import Config
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.model.files.tensors import load_tensors
from glassformer.train import resume, train
from glassformer.train.run.checkpoint import checkpoints
from glassformer.train.run.updates import Updater
from glassformer.train.run.watch import MOST_BYTES, Watch, plan_snapshots, read_snapshots
from glassformer.translator import Translator

Settings = Callable[..., Config]


def read_lines(out: Path, name: str) -> list[dict[str, Any]]:
    text = (out / "run" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def load_translator(out: Path, name: str) -> Translator:
    """The last checkpoint, rather than the best model."""
    config, tokenizers = Config.load(out / "config.toml"), Tokenizers.load(out)
    model = build_model(config, tokenizers)
    path = checkpoints(out / "run" / "checkpoints")[-1] / f"{name}.safetensors"
    model.load_state_dict(load_tensors(path))
    return Translator(config, tokenizers, model)


@pytest.fixture(scope="module")
def watched(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[Path], settings: Settings
) -> Path:
    out = tmp_path_factory.mktemp("watched") / "m"
    config = settings(steps=9, validate_every=3, checkpoint_every=2, watch=2)
    train(config, corpus, out, valid=corpus, quiet=True)
    return out


def test_it_does_not_change_the_weights(
    tmp_path: Path, watched: Path, corpus: list[Path], settings: Settings
) -> None:
    config = settings(steps=9, validate_every=3, checkpoint_every=2, watch=0)
    train(config, corpus, tmp_path / "m", valid=corpus, quiet=True)
    assert not (tmp_path / "m/run/watch").exists()
    for name in ("weights", "averaged", "optimizer"):
        with_it, without = (
            load_tensors(checkpoints(out / "run/checkpoints")[-1] / f"{name}.safetensors")
            for out in (watched, tmp_path / "m")
        )
        assert all(torch.equal(with_it[key], without[key]) for key in without)


def test_snapshots_are_taken_when_planned(watched: Path) -> None:
    assert plan_snapshots(9, [3, 6]) == [0, 1, 2, 3, 4, 6, 8, 9]
    assert [each.step for each in read_snapshots(watched / "run")] == plan_snapshots(9, [3, 6])
    assert plan_snapshots(1, []) == [0, 1] and plan_snapshots(2, []) == [0, 1, 2]


def test_a_snapshot_is_what_the_model_says(watched: Path) -> None:
    *_, last = read_snapshots(watched / "run")
    translator = load_translator(watched, "averaged")
    told = json.loads((watched / "run/watch/sentences.json").read_text(encoding="utf-8"))
    assert len(told) == len(last.translations) == 2
    for number, each in enumerate(told):
        (scored,) = translator.score([each["source"]], [each["reference"]])
        found = last.tensors[f"{number}.log_probabilities"].float()
        target = translator.tokenizers.target
        ids = [*target.encode(each["reference"]), 2]
        assert found.shape == (len(each["reference_tokens"]), len(target))
        of_reference = found[range(len(ids)), ids].tolist()
        assert of_reference == pytest.approx(scored.token_log_probs, rel=1e-3)
        assert torch.allclose(found.exp().sum(-1), torch.ones(len(ids)), atol=5e-3)
        source, reference = len(each["source_tokens"]), len(each["reference_tokens"])
        shapes = {
            "encoder.1.self": (2, source, source),
            "decoder.0.self": (2, *[reference] * 2),
            "decoder.0.cross": (2, reference, source),
        }
        for part, shape in shapes.items():
            weights = last.tensors[f"{number}.{part}_attention.weights"].float()
            assert weights.shape == shape
            assert torch.allclose(weights.sum(-1), torch.ones(shape[:2]), atol=5e-3)
            assert part != "decoder.0.self" or not weights.triu(1).any()


def test_gradients_are_those_of_the_loss(
    tmp_path: Path, corpus: list[Path], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, torch.Tensor]] = []
    norm = Updater._norm

    def look(self: Updater) -> torch.Tensor:
        named = self.model.named_parameters()
        seen.append({name: p.grad.double().clone() for name, p in named if p.grad is not None})
        return norm(self)

    monkeypatch.setattr(Updater, "_norm", look)
    train(settings(steps=2, clip=0.01), corpus, tmp_path / "m", quiet=True)
    lines = read_lines(tmp_path / "m", "watch/gradients.jsonl")
    assert [line["step"] for line in lines] == [1, 2]
    for line, gradients in zip(lines, seen, strict=True):
        for block in ("encoder.0", "encoder.1", "decoder.0", "source_embedding"):
            mine = [x for name, x in gradients.items() if name.startswith(f"{block}.")]
            expected = math.sqrt(sum(x.square().sum().item() for x in mine))
            assert line[block] == pytest.approx(expected, rel=1e-4)
        everything = math.sqrt(sum(x.square().sum().item() for x in gradients.values()))
        assert line["total"] == pytest.approx(everything, rel=1e-4)


def test_resumed_it_has_everything_once(
    tmp_path: Path,
    watched: Path,
    corpus: list[Path],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    update = Updater.update

    def dies(self: Updater, step: int, *rest: object) -> object:
        if step == 6:
            raise KeyboardInterrupt
        return update(self, step, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Updater, "update", dies)
    config = settings(steps=9, validate_every=3, checkpoint_every=2, watch=2)
    with pytest.raises(KeyboardInterrupt):
        train(config, corpus, tmp_path / "m", valid=corpus, quiet=True)
    monkeypatch.undo()
    with (tmp_path / "m/run/watch/gradients.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 5, "total"')  # a line that the kill cut in two
    resume(tmp_path / "m", quiet=True)
    files = sorted(path.name for path in (watched / "run/watch").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "m/run/watch").iterdir())
    for name in files:
        whole, broken = ((out / "run/watch" / name) for out in (watched, tmp_path / "m"))
        assert whole.read_bytes() == broken.read_bytes(), name


def test_a_large_vocabulary_keeps_its_top(
    tmp_path: Path, watched: Path, corpus: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = load_translator(watched, "averaged")
    sides = [path.read_text(encoding="utf-8").splitlines() for path in corpus]

    def look(folder: str) -> dict[str, torch.Tensor]:
        watch = Watch(
            tmp_path / folder, translator.config, translator.tokenizers, (sides[0], sides[1]), 4, 2
        )
        (tmp_path / folder).mkdir()
        watch.begin(0)
        watch.take_snapshot(4, translator.model)
        return next(iter(read_snapshots(tmp_path / folder))).tensors

    whole = look("whole")
    monkeypatch.setattr("glassformer.train.run.watch.WHOLE", 100)
    top = look("top")
    everything = whole["1.log_probabilities"].float()
    values, ids = everything.topk(16)
    assert torch.allclose(top["1.top_log_probabilities"].float(), values, atol=2e-2)
    assert torch.equal(everything.gather(-1, top["1.top_ids"].long()), values)
    entropy = torch.distributions.Categorical(logits=everything).entropy()
    assert torch.allclose(top["1.entropy"].float(), entropy, atol=1e-2)
    assert top["1.reference_log_probabilities"].shape == entropy.shape == ids.shape[:1]


@pytest.mark.parametrize("steps", [50, 5000, 2_000_000])
@pytest.mark.parametrize("validate_every", [10, 2000])
def test_it_stays_small(tmp_path: Path, watched: Path, steps: int, validate_every: int) -> None:
    shape = Config.read({"size": "big", "train": {"watch": 8}})
    texts = ["a b c d e f g h i j k l m n o p q r s"] * 9
    watch = Watch(tmp_path, shape, Tokenizers.load(watched), (texts, texts), steps, validate_every)
    each = sum(map(watch._count_bytes, watch.sentences))
    assert each * len(watch.steps) <= MOST_BYTES
    assert 1 <= len(watch.sentences) <= 8 and 0 in watch.steps
    assert steps // watch.every <= 500


def test_the_size_is_counted_right(watched: Path, tmp_path: Path) -> None:
    sentences = json.loads((watched / "run/watch/sentences.json").read_text(encoding="utf-8"))
    watch = Watch(
        tmp_path,
        Config.load(watched / "config.toml"),
        Tokenizers.load(watched),
        ([each["source"] for each in sentences], [each["reference"] for each in sentences]),
        9,
        3,
    )
    *_, last = read_snapshots(watched / "run")
    bytes_kept = sum(x.numel() * x.element_size() for x in last.tensors.values())
    assert bytes_kept == sum(map(watch._count_bytes, watch.sentences))


def test_long_sentences_are_not_looked_at(tmp_path: Path, watched: Path) -> None:
    texts = ["x " * 100, "a cat"]
    config, tokenizers = Config.load(watched / "config.toml"), Tokenizers.load(watched)
    watch = Watch(tmp_path, config, tokenizers, (texts, texts), 4, 2)
    assert [each.source for each in watch.sentences] == ["a cat"]
    assert not Watch(tmp_path, config, tokenizers, (texts[:1], texts[:1]), 4, 2).steps


def test_snapshots_behind_where_a_training_goes_back_to_are_taken_again(
    tmp_path: Path, watched: Path
) -> None:
    """They are of weights that it has left."""
    shutil.copytree(watched / "run/watch", tmp_path / "watch")
    config, tokenizers = Config.load(watched / "config.toml"), Tokenizers.load(watched)
    texts = ["the red cat runs x", "the big dog runs y"]
    watch = Watch(tmp_path, config, tokenizers, (texts, texts), 9, 3)
    watch.begin(4)
    kept = [path.stem for path in sorted((tmp_path / "watch").glob("0*"))]
    assert kept == [f"{step:08d}" for step in (0, 1, 2, 3, 4) for _ in ("json", "safetensors")]
    watch.take_snapshot(6, load_translator(watched, "weights").model)
    assert [each.step for each in read_snapshots(tmp_path)] == [0, 1, 2, 3, 4, 6]


def test_there_is_no_snapshot_of_a_network_that_is_not_finite(
    tmp_path: Path, watched: Path
) -> None:
    model = load_translator(watched, "weights").model
    for parameter in model.parameters():
        parameter.data.fill_(math.nan)
    config, tokenizers = Config.load(watched / "config.toml"), Tokenizers.load(watched)
    watch = Watch(tmp_path, config, tokenizers, (["a cat"], ["a cat"]), 9, 3)
    watch.begin(0)
    watch.take_snapshot(4, model)
    assert not [*read_snapshots(tmp_path)] and not [*tmp_path.glob("watch/0*")]
