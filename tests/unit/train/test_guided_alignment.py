"""Guided alignment: the words of tokens, the loss by a plain loop, and a head that learns it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.cli import main
from glassformer.config import Config, Train
from glassformer.data.batches import Batch
from glassformer.data.store import Store
from glassformer.extensions.ideas.guided_alignment import (
    GuidedAlignment,
    WordFinder,
    WordLinks,
    name_attention,
    read_links,
)
from glassformer.foundation.tap import record
from glassformer.model.files.directory import Tokenizers
from glassformer.model.networks import build_network
from glassformer.text import Tokenizer
from glassformer.text.kinds import train_tokenizer
from glassformer.train import resume, train
from glassformer.train.run.updates import Updater

from .conftest import LINES, Settings

TEXTS = ["the red cat.", " two  spaces and ébène!", "one", "🙂 x y"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS * 3, 330).with_tags(["<2de>"])


def test_the_words_of_tokens(tokenizer: Tokenizer) -> None:
    """As the spans of the tokens in the text tell them."""
    finder = WordFinder(tokenizer)
    for text in TEXTS:
        found = finder.find(
            np.array([[*tokenizer.find_tags(["<2de>"]), *tokenizer.encode(text), 2, 0]])
        )
        words, wanted = -1, [-1]
        spans = tokenizer.tokens(text).spans
        for start, end in spans:
            part = text[start:end]
            if not part.strip():
                wanted.append(-1)
                continue
            at = start + len(part) - len(part.lstrip())
            words = len(text[: at + 1].split()) - 1
            wanted.append(words)
        assert found[0].tolist() == [*wanted, -1, -1], text


class NoLoss:
    """A loss of 0, that runs the network."""

    def __call__(self, network: Any, batch: Batch, *_: Any) -> torch.Tensor:
        source, target = (torch.from_numpy(each) for each in (batch.source_BS, batch.target_BT))
        total: torch.Tensor = network.read(source, target[:, :-1]).sum() * 0
        return total


@pytest.mark.parametrize("shape", [{}, {"key_value_heads": 2}])
def test_the_loss_is_that_of_a_plain_loop(tokenizer: Tokenizer, shape: dict[str, Any]) -> None:
    torch.manual_seed(1)
    shape |= {"d_model": 16, "d_ff": 8, "heads": 4, "encoder_layers": 1, "decoder_layers": 3}
    model = Config.read({"model": {"dropout": 0.0, **shape}}).model
    network = build_network(model, len(tokenizer), len(tokenizer))
    settings = Train(alignment_weight=0.7, alignment_head=3)
    assert name_attention(network, settings) == "decoder.1.cross_attention"
    rows = [tokenizer.encode(text) for text in ("the red cat", "one two")]
    width = max(map(len, rows)) + 1
    source = np.array([[*row, 2, *[0] * (width - 1 - len(row))] for row in rows])
    target = np.array([[1, *row, 2, *[0] * (width - 1 - len(row))] for row in rows])
    links = WordLinks(np.array([0, 4, 5]), np.array([[0, 1], [1, 1], [2, 0], [0, 2], [1, 0]]))
    loss = GuidedAlignment(NoLoss(), links, Tokenizers(tokenizer, tokenizer))
    updater = Updater(network, settings, torch.device("cpu"), "fp32", loss=loss)
    found = updater._measure(Batch(source, target, np.arange(2)))
    with record(network) as (view, trace):
        view(torch.from_numpy(source), torch.from_numpy(target)[:, :-1])
    weights_BHQM = trace["decoder.1.cross_attention.weights"][0]
    finder = WordFinder(tokenizer)
    words = finder.find(source)
    wanted = 0.0
    for b, own in enumerate((links.links[:4].tolist(), links.links[4:].tolist())):
        for t, word in enumerate(finder.find(target[:, 1:])[b]):
            places = [s for s, at in enumerate(words[b]) if [at, word] in own]
            for s in places:
                wanted -= 0.7 / len(places) * float(weights_BHQM[b, 3, t, s].log())
    assert wanted > 1 and float(found.detach()) == pytest.approx(wanted, rel=1e-4)
    found.backward()  # type: ignore[no-untyped-call]
    gradient = network.get_parameter("decoder.1.cross_attention.to_query.weight").grad
    assert gradient is not None and gradient[:12].norm() == 0 < gradient[12:].norm()


def write_links(path: Path, lines: Sequence[str]) -> Path:
    """Reversed letter by letter, the words stand in the opposite order."""
    texts = [
        " ".join(f"{n}-{len(line.split()) - 1 - n}" for n in range(len(line.split())))
        for line in lines
    ]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def test_a_head_learns_the_links(
    tmp_path: Path, corpus: list[Path], settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the command line; what its rows then attend to; and after a kill the same."""
    links = write_links(tmp_path / "links", LINES)
    shares = {}
    for weight in (0.0, 0.5):
        out, how = tmp_path / str(weight), {"alignments": links} if weight else {}
        config = settings(
            steps=60, validate_every=60, alignment_weight=weight, learning_rate=0.01, ema=None
        )
        train(config, corpus, out, quiet=True, **how)
        main(
            [
                "align",
                str(out),
                *map(str, corpus),
                "--layer",
                "0",
                "--head",
                "0",
                "--row",
                "predicts",
            ]
        )
        found = capsys.readouterr().out.splitlines()
        wanted = links.read_text("utf-8").splitlines()
        pairs = [(set(a.split()), set(b.split())) for a, b in zip(found[-18:], wanted, strict=True)]
        shares[weight] = sum(len(a & b) for a, b in pairs) / sum(len(b) for _, b in pairs)
    assert shares[0.5] > 0.8 > 0.6 > shares[0.0], shares


def test_a_run_resumes_with_its_links(
    tmp_path: Path, corpus: list[Path], settings: Settings
) -> None:
    links = write_links(tmp_path / "links", LINES)
    config = settings(steps=4, alignment_weight=0.5, alignment_layer=0)
    train(config, corpus, tmp_path / "m", quiet=True, alignments=links)
    links.unlink()
    changes = {"changes": ["train.steps=6"], "accept_changed_settings": True}
    assert resume(tmp_path / "m", quiet=True, **changes).progress.step == 6


def test_links_find_the_pairs_that_are_kept(
    tmp_path: Path, corpus: list[Path], settings: Settings
) -> None:
    """Pairs are held out and left out: the others keep their own links."""
    train(settings(steps=1), corpus, tmp_path / "m", quiet=True)
    store, tokenizers = Store.open(tmp_path / "m/run/store"), Tokenizers.load(tmp_path / "m/run")
    assert 0 < len(store) < len(LINES)
    path = tmp_path / "links"
    path.write_text("".join(f"{n % 4}-0\n" for n in range(len(LINES))), encoding="utf-8")
    found = read_links(path, [(line, line[::-1]) for line in LINES], store, tokenizers)
    for number in range(len(store)):
        line = LINES.index(tokenizers.source.decode(store.source(number, 0).tolist()))
        assert found.of(np.array([number])).tolist() == [[0, line % 4, 0]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0-0\n" * 17, "has 17 lines, but the training text has more"),
        ("0-0\n" * 19, "has more lines than the training text, which has 18"),
        ("0-0\n" * 3 + "0-7\n" + "0-0\n" * 14, "line 4 has link 0-7 to a word that is not there"),
        ("x\n" + "0-0\n" * 17, "line 1 has no links"),
    ],
)
def test_links_that_do_not_fit(
    tmp_path: Path, corpus: list[Path], settings: Settings, text: str, said: str
) -> None:
    (tmp_path / "links").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        train(
            settings(alignment_weight=0.1),
            corpus,
            tmp_path / "m",
            alignments=tmp_path / "links",
            quiet=True,
        )


def test_what_is_missing(tmp_path: Path, corpus: list[Path], settings: Settings) -> None:
    with pytest.raises(ValueError, match=r"train.alignment_weight needs --alignments FILE"):
        train(settings(alignment_weight=0.1), corpus, tmp_path / "m", quiet=True)
    with pytest.raises(ValueError, match=r"--alignments FILE has no effect without a weight"):
        train(settings(), corpus, tmp_path / "m", alignments="links", quiet=True)
    with pytest.raises(ValueError, match="alignment_head=9: the decoder has 0 to 1"):
        config = settings(alignment_weight=0.1, alignment_head=9)
        train(
            config,
            corpus,
            tmp_path / "m",
            quiet=True,
            alignments=write_links(tmp_path / "l", LINES),
        )
    with pytest.raises(ValueError, match="alignment_head=9 has no effect without alignment_weight"):
        settings(alignment_head=9)
