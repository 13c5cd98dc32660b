"""Minimum risk training: its gradient, its samples, and what a toy task gains by it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer import Translator
from glassformer.config import Model, Train
from glassformer.data.batches import Batch
from glassformer.decode.mbr import load_utility
from glassformer.engine.kernels.dropout import Dropout
from glassformer.extensions.ideas import minimum_risk
from glassformer.extensions.ideas.minimum_risk import MinimumRisk, sample_targets
from glassformer.model.files.directory import Tokenizers
from glassformer.model.transformer import Transformer
from glassformer.text import Tokenizer
from glassformer.text.kinds import train_tokenizer
from glassformer.train import train
from glassformer.train.plan.init_from import inherit
from glassformer.train.run.loss import batch_loss
from glassformer.train.run.updates import Updater

from .conftest import LINES, Settings, write_pairs
from .test_updates import make_updater


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["ab ba", "abba"], 263)


def test_samples_follow_the_network(tokenizer: Tokenizer) -> None:
    """The first tokens of many samples are as frequent as they are probable."""
    network = make_updater().model.eval()
    source_BS = torch.tensor([[5, 6, 2], [7, 2, 0]])
    torch.manual_seed(3)
    found = sample_targets(network, source_BS, 20_000, 1)
    logits_BV = network(source_BS, torch.tensor([[1], [1]]))[:, 0]
    logits_BV[:, [0, 1]] = -torch.inf
    for row, samples in zip(logits_BV.softmax(-1), found, strict=True):
        counts = Counter(each[0] if each else 2 for each in samples)
        assert {0, 1}.isdisjoint(counts)
        for token, count in counts.most_common(5):
            assert count / 20_000 == pytest.approx(row[token].item(), abs=0.015), token
    begun = sample_targets(network, source_BS, 9, 3, begin=[7])
    assert {each[0] for samples in begun for each in samples} == {7}


def test_the_risk_is_that_of_a_plain_loop(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Train(risk_weight=1.0, risk_samples=3, risk_sharpness=0.3)
    a, b = (tokenizer._ids[each] for each in "ab")
    vocabulary = len(tokenizer)
    drawn = [[[a], [a, b], [a]], [[b, b], [b], [b, a, a]]]
    monkeypatch.setattr(minimum_risk, "sample_targets", lambda *_: drawn)
    shape = Model(d_model=16, d_ff=24, heads=2, dropout=0.0, encoder_layers=1, decoder_layers=1)
    torch.manual_seed(1)
    network = Transformer(shape, vocabulary, vocabulary)
    loss = MinimumRisk(batch_loss, Tokenizers(tokenizer, tokenizer))
    updater = Updater(network, settings, torch.device("cpu"), "fp32", loss=loss)
    source = np.array([[a, b, 2], [b, 2, 0]])
    target = np.array([[1, a, b, 2], [1, b, 2, 0]])
    found = updater._measure(Batch(source, target, np.arange(2)))
    score, wanted = load_utility("chrf"), torch.zeros(())
    for own, rows, row in zip(
        ([a, b], [b]), ([[a, b], [a]], [[b], [b, b], [b, a, a]]), source, strict=True
    ):
        logs, risks = [], []
        for each in rows:
            logits = network(torch.from_numpy(row[None]), torch.tensor([[1, *each]]))[
                0
            ].log_softmax(-1)
            logs.append(sum(logits[n, id] for n, id in enumerate([*each, 2])))
            risks.append(1 - score(tokenizer.decode(each), tokenizer.decode(own)) / 100)
        q = torch.softmax(0.3 * torch.stack(logs), 0)  # type: ignore[arg-type]
        wanted = wanted + (len(own) + 1) * (q * torch.tensor(risks)).sum()
    assert found.item() == pytest.approx(wanted.item(), rel=1e-4)
    gradients = torch.autograd.grad(wanted, [*network.parameters()])
    found.backward()  # type: ignore[no-untyped-call]
    for p, gradient in zip(network.parameters(), gradients, strict=True):
        assert p.grad is not None
        torch.testing.assert_close(p.grad, gradient, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("drawn_by", ["C", "NumPy", "PyTorch"])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_candidates_of_a_part_of_a_batch_have_dropout_of_their_own(
    drawn_by: str, checkpointing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where masks are drawn for rows of the whole batch, of which a part has fewer."""
    if drawn_by == "NumPy":
        monkeypatch.setattr("glassformer.engine.kernels.dropout._open", lambda: None)
    if drawn_by == "PyTorch":  # as on a GPU
        forward = lambda own, x: own._drop_with_torch(x) if own.training else x  # noqa: E731
        monkeypatch.setattr(Dropout, "forward", forward)
    tokenizer = train_tokenizer(["ab ba", "abba"], 263)
    shape = Model(d_model=16, d_ff=24, heads=2, dropout=0.3, encoder_layers=1, decoder_layers=1)
    settings = Train(risk_weight=0.5, risk_samples=4, gradient_checkpointing=checkpointing)
    loss = MinimumRisk(batch_loss, Tokenizers(tokenizer, tokenizer))
    network = Transformer(shape, len(tokenizer), len(tokenizer))
    updater = Updater(network, settings, torch.device("cpu"), "fp32", loss=loss)
    ids = np.array([[1, 5, 6, 7, 2], [1, 6, 2, 0, 0], [1, 8, 8, 2, 0]])
    found = []
    for _ in range(2):
        for part in Batch(ids[:, 1:], ids, np.arange(3)).cut(2):
            updater._seed(1, part)
            found.append(updater.backward(part, 8).item())
        found += [float(p.grad.sum()) for p in network.parameters() if p.grad is not None]
        network.zero_grad()
    assert np.isfinite(found).all()
    half = len(found) // 2
    assert found[:half] == found[half:]


@pytest.mark.thorough
def test_the_expected_risk_falls(tmp_path: Path, settings: Settings) -> None:
    """A model that translates halfway becomes better, by the score that the risk is of."""
    corpus = write_pairs(tmp_path, "a", LINES)
    config = settings(steps=25, validate_every=25, learning_rate=0.01, ema=None)
    train(
        config.changed(model={"dropout": 0.0}), corpus, tmp_path / "first", quiet=True, device="cpu"
    )
    more = [
        "train.steps=30",
        "train.learning_rate=0.003",
        "train.warmup=1",
        "train.validate_every=30",
    ]
    more += ["train.risk_weight=1", "train.risk_samples=12", "train.risk_sharpness=1"]
    tuned = inherit(tmp_path / "first", more)
    train(tuned, corpus, tmp_path / "tuned", parent=tmp_path / "first", quiet=True, device="cpu")
    score, means = load_utility("chrf"), []
    for name in ("first", "tuned"):
        translator = Translator.load(tmp_path / name, device="cpu")
        sources = [[*translator.tokenizers.source.encode(line), 2] for line in LINES]
        width = max(map(len, sources))
        source_BS = torch.tensor([row + [0] * (width - len(row)) for row in sources])
        torch.manual_seed(5)
        drawn = sample_targets(translator.model, source_BS, 20, 40)
        texts = [translator.tokenizers.target.decode_many(rows) for rows in drawn]
        means.append(
            float(
                np.mean(
                    [
                        score(text, line[::-1])
                        for line, rows in zip(LINES, texts, strict=True)
                        for text in rows
                    ]
                )
            )
        )
    assert means[1] > means[0] + 3, means


def test_it_is_for_a_model_that_translates(
    tmp_path: Path, corpus: list[Path], settings: Settings
) -> None:
    with pytest.raises(ValueError, match=r"needs a model that translates already: --from MODEL"):
        train(settings(risk_weight=0.5), corpus, tmp_path / "m", quiet=True)
    with pytest.raises(ValueError, match="risk_samples=3 has no effect without risk_weight"):
        settings(risk_samples=3)
