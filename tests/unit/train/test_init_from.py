"""Starting from a model: what is kept is kept exactly, and what does not fit is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.config import BOS, EOS, Config
from glassformer.data.masking import choose_batches
from glassformer.data.store import Store
from glassformer.extensions.circuits.lines import encode_lines
from glassformer.extensions.circuits.replay import list_pairs
from glassformer.model.files.directory import Tokenizers, build_model, load_model, open_model
from glassformer.model.files.tensors import load_tensors
from glassformer.train import resume, train
from glassformer.train.plan import init_from
from glassformer.train.plan.init_from import InitialWeights, inherit
from glassformer.train.publish.card import read_facts
from glassformer.train.run.checkpoint import checkpoints
from glassformer.train.run.updates import Updater
from glassformer.translator import Translator

from .conftest import LINES, SETTINGS


def last_weights(out: Path, name: str = "weights") -> dict[str, torch.Tensor]:
    return load_tensors(checkpoints(out / "run" / "checkpoints")[-1] / f"{name}.safetensors")


def test_weights_tokens_and_settings_are_kept(
    tmp_path: Path, parent: Path, other_corpus: list[Path]
) -> None:
    config = inherit(parent, ["train.steps=1", "train.learning_rate=1e-30"])
    train(config, other_corpus, tmp_path / "m", parent=parent, quiet=True)
    before, after = (load_tensors(path / "model.safetensors") for path in (parent, tmp_path / "m"))
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor, rtol=0, atol=1e-12)
    tokens, same = (path / "tokenizer.json" for path in (parent, tmp_path / "m"))
    assert tokens.read_bytes() == same.read_bytes()
    first = Config.load(parent / "config.toml")
    assert (config.model, config.decode) == (first.model, first.decode)
    assert config.text.vocabulary == first.text.vocabulary == 320
    assert (config.train.ema, config.train.steps) == (0.9, 1)
    assert inherit(parent).train.steps is None


def test_a_batch_suits_the_new_corpus(
    tmp_path: Path, parent: Path, other_corpus: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not the parent's, 64, unless that is asked for; a resumed training keeps it."""
    for changes, wanted in ((["train.steps=2"], 512), (["train.batch_tokens=64"], 64)):
        out = tmp_path / str(wanted)
        config = inherit(parent, ["train.steps=2", *changes])
        train(config, other_corpus, out, parent=parent)
        assert Config.load(out / "run" / "config.toml").train.batch_tokens == wanted
        assert ("train.batch_tokens=512: tokens a side" in capsys.readouterr().err) == (wanted > 64)
    resume(tmp_path / "512", changes=["train.steps=3"], accept_changed_settings=True, quiet=True)
    assert Config.load(tmp_path / "512" / "run" / "config.toml").train.batch_tokens == 512


def test_known_tokens_keep_their_vectors_and_new_ones_get_a_mean(
    tmp_path: Path, parent: Path, other_corpus: list[Path]
) -> None:
    config = inherit(parent, ["train.steps=1", "text.vocabulary=330"])
    train(config, other_corpus, tmp_path / "m", parent=parent, new_tokens=True, quiet=True)
    _, old, network = load_model(parent)
    new = Tokenizers.load(tmp_path / "m")
    made = build_model(config, new)
    InitialWeights.open(tmp_path / "m" / "run").copy_to(made, new)
    before, after = network.output_table.weight, made.output_table.weight
    kept = fresh = 0
    for id, token in enumerate(new.source.vocabulary):
        if token in old.source.vocabulary:
            kept += 1
            assert torch.equal(after[id], before[old.source.vocabulary.index(token)])
        elif token.startswith(" "):  # `encode` puts a space before every text
            fresh += 1
            ids = old.source.encode(token[1:])
            torch.testing.assert_close(after[id], before[ids].mean(0))
    assert kept > 250 and fresh > 3
    assert after.shape[0] == len(new.source) != before.shape[0]
    state = made.state_dict()
    for name, tensor in network.state_dict().items():
        assert "table" in name or torch.equal(tensor, state[name]), name


def test_a_run_opens_its_initial_model_once(
    tmp_path: Path, parent: Path, other_corpus: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Growing the batch makes several networks, each with the same weights."""
    opened, given = list[Path](), list[InitialWeights]()
    copy_to = InitialWeights.copy_to

    def count(folder: Path) -> object:
        opened.append(folder)
        return open_model(folder)

    def give(self: InitialWeights, network: nn.Module, tokenizers: Tokenizers) -> list[str]:
        given.append(self)
        return copy_to(self, network, tokenizers)

    monkeypatch.setattr(init_from, "open_model", count)
    monkeypatch.setattr(InitialWeights, "copy_to", give)
    config = inherit(parent, ["train.steps=1", "train.batch_tokens=64", "train.fit_batch=true"])
    train(config, other_corpus, tmp_path / "m", parent=parent, quiet=True)
    assert opened == [tmp_path / "m" / "run" / "parent"]
    assert len(given) > 1 and len({*map(id, given)}) == 1


def test_a_parent_that_was_better_stays(
    tmp_path: Path, parent: Path, other_corpus: list[Path]
) -> None:
    config = inherit(parent, ["train.steps=4", "train.learning_rate=9", "train.best_by=loss"])
    summary = train(config, other_corpus, tmp_path / "m", parent=parent, quiet=True)
    assert summary.progress.best_step == 0 and "after update 0:" in summary.text
    before, after = (load_tensors(path / "model.safetensors") for path in (parent, tmp_path / "m"))
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    assert "The initial model: no validation in" in (tmp_path / "m" / "card.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("parts", [("encoder",), ("decoder.0.feed_forward", "encoder.1")])
def test_what_is_frozen_stays_and_the_rest_learns(
    tmp_path: Path, parent: Path, other_corpus: list[Path], parts: tuple[str, ...]
) -> None:
    config = inherit(parent, ["train.steps=3"]).changed(
        train={"freeze": parts, "weight_decay": 0.1}
    )
    train(config, other_corpus, tmp_path / "m", parent=parent, quiet=True)
    before = load_tensors(parent / "model.safetensors")
    for weights in (last_weights(tmp_path / "m"), last_weights(tmp_path / "m", "averaged")):
        for name, tensor in before.items():
            is_frozen = name.startswith(tuple(f"{part}." for part in parts))
            assert torch.equal(tensor, weights[name]) == is_frozen, name
    assert read_facts(tmp_path / "m")["training"]["frozen"] == list(parts)


@pytest.mark.parametrize("dies_at", [2, 5])  # before the first checkpoint, and after it
def test_resumed_without_the_parent_it_is_the_same(
    tmp_path: Path,
    parent: Path,
    other_corpus: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    dies_at: int,
) -> None:
    config = inherit(parent, ["train.steps=6", 'train.freeze=["encoder.0"]']).changed(
        train={"checkpoint_every": 3}
    )
    moved = tmp_path / "first"
    shutil.copytree(parent, moved)
    train(config, other_corpus, tmp_path / "whole", parent=moved, quiet=True)
    update = Updater.update

    def dies(self: Updater, step: int, *rest: object) -> object:
        if step == dies_at:
            raise KeyboardInterrupt
        return update(self, step, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Updater, "update", dies)
    with pytest.raises(KeyboardInterrupt):
        train(config, other_corpus, tmp_path / "broken", parent=moved, quiet=True)
    monkeypatch.undo()
    shutil.rmtree(moved)
    assert resume(tmp_path / "broken", quiet=True).is_finished
    for name in ("weights", "averaged", "optimizer"):
        whole, broken = (last_weights(tmp_path / out, name) for out in ("whole", "broken"))
        assert all(torch.equal(whole[key], broken[key]) for key in whole)
    assert read_facts(tmp_path / "broken")["parent"]["name"] == "first"


def test_the_card_says_where_it_comes_from(
    tmp_path: Path, parent: Path, other_corpus: list[Path], corpus: list[Path]
) -> None:
    one = train(
        inherit(parent, ["train.steps=1"]), other_corpus, tmp_path / "b", parent=parent, quiet=True
    )
    train(inherit(one.out, ["train.steps=1"]), corpus, tmp_path / "c", parent=one.out, quiet=True)
    told = read_facts(tmp_path / "c")["parent"]
    for model, facts in ((tmp_path / "b", told), (parent, told["parent"])):
        assert facts["name"] == model.name
        digest = sha256((model / "model.safetensors").read_bytes()).hexdigest()
        assert facts["sha256"] == digest
        assert facts["data"] == read_facts(model)["data"]
        assert f"{model.name} (weights sha256 {digest})" in (tmp_path / "c/card.md").read_text(
            "utf-8"
        )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            "model.d_model=32",
            r"model.d_model=32 does not fit .*first, which has .*=16: its",
        ),
        (
            "model.heads=4",
            "model.heads=4 does not fit .* only dropout, attention_dropout, activation",
        ),
        ("model.norm=pre", "model.norm=pre does not fit"),
        ("text.vocabulary=400", "text.vocabulary=400 has no effect.*--new-tokenizer"),
        ('train.freeze=["enkoder"]', "no part enkoder; did you mean encoder?"),
        ('train.freeze=["decoder.3"]', r"no part decoder.3; did you mean decoder\.\d"),
        (
            'train.freeze=["encoder", "decoder", "source_embedding", "target_embedding"]',
            "nothing is left to train",
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    tmp_path: Path, parent: Path, corpus: list[Path], change: str, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence) as error:
        train(inherit(parent, [change]), corpus, tmp_path / "m", parent=parent, quiet=True)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("shared", [True, False])
def test_pairs_are_read_as_in_translating(tmp_path: Path, corpus: list[Path], shared: bool) -> None:
    """Some imported models force a tag before each translation, or have no EOS after a source."""
    model = {**SETTINGS["model"], "tie": "three-way" if shared else "none"}
    text = {**SETTINGS["text"], "shared": shared, "source_eos": False}
    tables = {"data": {"tag": "<en>", "target_tag": "<xx>"}, "model": model, "text": text}
    tables["data"]["augment"] = {"case": 0.5}
    train(Config.read({**SETTINGS, **tables}), corpus, tmp_path / "a", quiet=True)
    config = inherit(tmp_path / "a", ["train.steps=2", "data.augment.case=0"])
    train(config, corpus, tmp_path / "b", parent=tmp_path / "a", quiet=True)
    for name in "ab":
        translator = Translator.load(tmp_path / name, device="cpu", precision="fp32")
        tag, begin = translator.reader.tags, translator.reader.begin
        assert len(translator.tokenizers.target.tags) == 1 + shared
        store = Store.open(tmp_path / name / "run" / "store")
        settled = translator.config.changed(train={"pad_to": 4})
        for epoch in range(2):
            batch = choose_batches(settled, store, translator.tokenizers).batch(epoch, 0)
            assert (batch.source_BS[:, :1] == tag).all() and EOS not in batch.source_BS
            assert (batch.target_BT[:, :2] == [BOS, *begin]).all()
            assert (np.sum(batch.target_BT == EOS, 1) == 1).all()
    lines = [tuple(line) for line in zip(LINES, [line[::-1] for line in LINES], strict=True)]
    read = encode_lines(translator, lines)[1]
    assert set(list_pairs(store, has_end=False)) <= set(read)
    decode = {"search": "beam", "beam": 3, "length_penalty": "power", "alpha": 1.0}
    trace = translator.see(LINES[0], decode=decode)
    (best,) = translator.search(LINES[0], decode=decode)
    assert trace.document.translation == best.text
    assert trace.document.search
    score = trace.document.search.hypotheses[trace.document.search.chosen].score
    assert best.score == pytest.approx(best.log_prob / len(best.token_log_probs), abs=1e-6)
    assert score == pytest.approx(best.score, abs=1e-4)


def test_a_language_model_has_no_tag_before_its_texts() -> None:
    model = {"network": "decoder"}
    with pytest.raises(ValueError, match=r"data\.target_tag has no effect with network=decoder"):
        Config.read({"model": model, "data": {"target_tag": "<xx>"}})


def test_dropout_may_change(tmp_path: Path, parent: Path, corpus: list[Path]) -> None:
    config = inherit(parent, ["train.steps=1", "model.dropout=0.5", "text.dropout=0.1"])
    train(config, corpus, tmp_path / "m", parent=parent, quiet=True)
    assert Config.load(tmp_path / "m" / "config.toml").model.dropout == 0.5


def test_what_a_failed_beginning_left_is_not_used(
    tmp_path: Path, parent: Path, corpus: list[Path], settings: Callable[..., Config]
) -> None:
    out, config = tmp_path / "m", inherit(parent, ["train.steps=1", "train.prior_weight=0.5"])
    with pytest.raises(ValueError, match="is no language model"):
        train(config, corpus, out, parent=parent, lm_prior=parent, quiet=True)
    assert not out.exists()
    for name in ("parent", "initial/0", "subwords"):  # after a kill
        shutil.copytree(parent, out / "run" / name)
    (out / "run" / "mine.txt").write_text("kept\n", encoding="utf-8")
    train(settings(steps=1), corpus, out, quiet=True)
    assert {"parent", "initial", "subwords"}.isdisjoint(x.name for x in (out / "run").iterdir())
    with pytest.raises(ValueError, match="no part enkoder"):
        (tmp_path / "n" / "run").mkdir(parents=True)
        (out / "run" / "mine.txt").rename(tmp_path / "n" / "run" / "mine.txt")
        train(settings(freeze=["enkoder"]), corpus, tmp_path / "n", quiet=True)
    assert [path.name for path in (tmp_path / "n" / "run").iterdir()] == ["mine.txt"]


def test_classes_are_no_tokens(tmp_path: Path, corpus: list[Path]) -> None:
    lines = [f"{line[-1]}\t{line}\n" for line in LINES]
    for name, text in (("a", lines), ("b", [line.replace("dog", "hedgehog") for line in lines])):
        (tmp_path / f"{name}.tsv").write_text("".join(text), encoding="utf-8")
    shape = {"network": "encoder", "d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1}
    raw = {**SETTINGS, "model": shape}
    first, second = ([tmp_path / f"{name}.tsv"] for name in "ab")
    train(Config.read(raw), first, tmp_path / "first", valid=first, quiet=True)
    parent, config = tmp_path / "first", inherit(tmp_path / "first", ["train.steps=1"])
    train(config, second, tmp_path / "m", parent=parent, new_tokens=True, valid=second, quiet=True)
    made = build_model(config, Tokenizers.load(tmp_path / "m"))
    InitialWeights.open(tmp_path / "m" / "run").copy_to(made, Tokenizers.load(tmp_path / "m"))
    assert torch.equal(made.output_table.weight, load_model(parent)[2].output_table.weight)
