"""A language model as prior: the loss by a plain formula, and what it does to a translation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.config import Config, Train
from glassformer.extensions.ideas.language_prior import LanguagePrior
from glassformer.model.files.directory import Tokenizers, build_model, load_model
from glassformer.train import resume, train
from glassformer.train.run.loss import batch_loss
from glassformer.train.run.updates import Updater

from .conftest import LINES, Settings
from .test_updates import make_batch, make_updater


@pytest.fixture(scope="module")
def prior(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Path:
    """A language model of the target, which is the source turned round."""
    folder = tmp_path_factory.mktemp("prior")
    text = folder / "more.xx"
    text.write_text("".join(f"{line[::-1]}\n" for line in LINES * 4), encoding="utf-8")
    raw: dict[str, Any] = settings(
        steps=60, validate_every=60, learning_rate=0.01, ema=None
    ).to_json()
    raw["model"] |= {"network": "decoder", "encoder_layers": 0}
    train(Config.read(raw), [text], folder / "lm", quiet=True, device="cpu")
    return folder / "lm"


def test_the_loss_is_the_papers_formula(prior: Path) -> None:
    settings = Train(prior_weight=0.5, prior_temperature=2.0)
    updater, batch = make_updater(settings), make_batch(0)
    network = updater.model
    loss = LanguagePrior(batch_loss, prior, torch.device("cpu"))
    vocabulary = len(Tokenizers.load(prior).target)
    torch.manual_seed(2)
    from glassformer.model.transformer import Transformer

    network = Transformer(network.settings, vocabulary, vocabulary)
    updater = Updater(network, settings, torch.device("cpu"), "fp32", loss=loss)
    found = updater._measure(batch)
    plain = batch_loss(updater.network, batch, settings, updater.kernels)
    source, target = torch.from_numpy(batch.source_BS), torch.from_numpy(batch.target_BT)
    ours = (network(source, target[:, :-1]) / 2).softmax(-1)
    theirs = (load_model(prior)[2](target[:, :0], target[:, :-1]) / 2).softmax(-1)
    apart = (theirs * (theirs.log() - ours.log())).sum(-1)[target[:, 1:] != 0].sum()
    assert (found - plain).item() == pytest.approx(0.5 * 4 * apart.item(), rel=1e-4)
    found.backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is None for p in loss.network.parameters())


def test_translations_become_likely(
    tmp_path: Path, corpus: list[Path], settings: Settings, prior: Path
) -> None:
    """With a heavy prior and next to no training, the network writes what the prior finds likely;
    what is resumed is the same, and the prior is not in the model."""
    config = settings(steps=30, validate_every=30, prior_weight=5.0, learning_rate=0.01, ema=None)
    out = tmp_path / "m"
    train(config, corpus, out, quiet=True, device="cpu", lm_prior=prior)
    _, tokenizers, network = load_model(out)
    _, known, language = load_model(prior)
    assert tokenizers.target.vocabulary == known.target.vocabulary
    assert set(network.state_dict()) == set(build_model(config, tokenizers).state_dict())
    rows = [[1, *known.target.encode(line[::-1])] for line in LINES[:6]]
    width = min(map(len, rows))
    target = torch.tensor([row[:width] for row in rows])
    apart = {}
    fresh = build_model(config, tokenizers).eval()
    for name, each in (("trained", network), ("fresh", fresh)):
        with torch.inference_mode():
            p = language(target[:, :0], target).log_softmax(-1)
            q = each(torch.tensor([[5, 6, 2]] * 6), target).log_softmax(-1)  # it says nothing
        apart[name] = float((p.exp() * (p - q)).sum(-1).mean())
    assert apart["trained"] < apart["fresh"] / 2, apart
    how: dict[str, Any] = {"changes": ["train.steps=31"], "accept_changed_settings": True}
    assert resume(out, quiet=True, **how).progress.step == 31


def test_what_cannot_be_a_prior(
    tmp_path: Path, corpus: list[Path], settings: Settings, parent: Path, prior: Path
) -> None:
    with pytest.raises(ValueError, match=r"train.prior_weight needs --lm-prior MODEL"):
        train(settings(prior_weight=0.5), corpus, tmp_path / "m", quiet=True)
    with pytest.raises(ValueError, match="--lm-prior MODEL has no effect without a weight"):
        train(settings(), corpus, tmp_path / "m", quiet=True, lm_prior=prior)
    with pytest.raises(ValueError, match="is no language model of network=decoder"):
        train(settings(prior_weight=0.5), corpus, tmp_path / "m", quiet=True, lm_prior=parent)
