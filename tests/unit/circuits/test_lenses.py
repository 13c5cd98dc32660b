"""Tuned lens, encoder lens and rivals that stand elsewhere: against plain computations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.circuits.test_edges import HERE, make_network
from tests.unit.circuits.test_methods import SHAPES

from glassformer.cli import main
from glassformer.extensions.circuits import lenses, methods, mixing
from glassformer.extensions.circuits.edges import WordContrast
from glassformer.model.masks import padding_mask, target_mask
from glassformer.translator import Translator

SENTENCE = "I saw her yesterday in the park."
OTHER = "Hier, j'ai rencontré cette femme dans le parc."


def make_sentences(count: int) -> list[WordContrast]:
    rng = np.random.default_rng(3)
    return [
        WordContrast((*rng.integers(4, 30, 6).tolist(), 3), (2, *rng.integers(4, 30, 7)), (14, 17))
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_the_last_layer_of_each_lens_is_the_network(name: str) -> None:
    network = make_network(**SHAPES[name])
    states = lenses.read_states(network, HERE)
    expected_RV = network(torch.tensor([HERE.source]), torch.tensor([HERE.given]))[0]
    torch.testing.assert_close(lenses.read_final(network, states[-1]), expected_RV.log_softmax(-1))
    lens = lenses.fit_lens(network, make_sentences(10))
    assert lens.logit[-1] == pytest.approx(0, abs=1e-9) == lens.tuned[-1]
    assert (lens.sentences, lens.held_out, lens.rows) == (8, 2, 64)


def test_the_tuned_lens_is_a_ridge_regression() -> None:
    network, sentences = make_network(norm="pre"), make_sentences(12)
    lens = lenses.fit_lens(network, sentences)
    own = [each for n, each in enumerate(sentences) if n % lenses.HELD_OUT]
    x = torch.cat([lenses.read_states(network, each)[0] for each in own]).numpy()
    y = torch.cat([lenses.read_states(network, each)[1] for each in own]).numpy()
    centred = x - x.mean(0)
    ridge = lenses.RIDGE * (centred**2).sum(0).mean()
    rows = np.concatenate((centred, np.sqrt(ridge) * np.eye(24)))
    aims = np.concatenate(((y - x) - (y - x).mean(0), np.zeros((24, 24))))
    change = np.linalg.lstsq(rows, aims, rcond=None)[0]
    expected = y.mean(0) + (x - x.mean(0)) @ (np.eye(24) + change)
    np.testing.assert_allclose(lens.maps[0].apply(torch.tensor(x)).numpy(), expected, atol=1e-8)


def test_too_few_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match="needs 10 sentences"):
        lenses.fit_lens(make_network(norm="pre"), make_sentences(9))


@pytest.mark.parametrize("name", [*SHAPES, "ssru"])
def test_the_encoder_lens_reads_earlier_layers(name: str) -> None:
    network = make_network(**SHAPES.get(name, {"decoder": "ssru"}))
    kept = mixing.keep_windows(network, HERE)
    source, given = torch.tensor([HERE.source]), torch.tensor([HERE.given])
    source_mask, mask = padding_mask(source), target_mask(given, network.settings.attention)
    memories = [network.source_embedding(source)]
    for layer in network.encoder:
        memories.append(layer(memories[-1], source_mask))
    memories = [network.encoder_norm(x) for x in memories]

    def write(memory: Any) -> Any:
        y = network.target_embedding(given)
        for layer in network.decoder:
            y = layer(y, memory, mask, source_mask)
        return network.logits(network.decoder_norm(y))[0, -1].log_softmax(-1)

    whole = write(memories[-1])
    groups = [[0], [2, 3]]
    falls, first = lenses.ask_encoder(network, HERE, kept, groups)
    for group, fall in zip(groups, falls, strict=True):
        mixed = memories[-1].clone()
        mixed[0, group] = memories[0][0, group]
        assert fall == pytest.approx(float(whole[14] - write(mixed)[14]), abs=1e-9)
    best = [int(write(each).argmax()) for each in memories[1:]]
    asked = HERE._replace(answers=(best[-1], 17))
    expected = next(n for n in range(2) if set(best[n:]) == {best[-1]})
    assert lenses.ask_encoder(network, asked, kept, groups)[1] == expected
    assert first == (None if best[-1] != 14 else expected)


def test_a_rival_at_the_same_step_is_as_without_another_translation() -> None:
    network = make_network(norm="pre")
    kept, words = mixing.keep_windows(network, HERE), [[0], [1, 2]]
    plain, other = (
        {
            each.method: each.scores
            for each in methods._ask_all(network, HERE, kept, words, rival=rival)
        }
        for rival in (None, HERE._replace(answers=HERE.answers[::-1]))
    )
    assert plain["contrastive gradient"] == pytest.approx(other["contrastive gradient"])


@pytest.mark.thorough
def test_contrast_compares_two_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["why", "everyday-en-fr", SENTENCE, "--word", "vue", "--rival", "rencontré"]
    asked += ["--methods", "--contrast", OTHER, "-o", str(tmp_path / "methods.json")]
    assert main(asked) == 0
    assert f"rival: rencontré of {OTHER}" in capsys.readouterr().out
    found = json.loads((tmp_path / "methods.json").read_text(encoding="utf-8"))
    by_method = {each["method"]: each["scores"] for each in found["methods"]}
    translator = Translator.load("everyday-en-fr", device="cpu", precision="fp32")

    def read(target: str, word: str, cut: int | None) -> float:
        edits = [{"do": "cut", "word": SENTENCE.split()[cut].strip(".")}] if cut is not None else []
        trace = translator.see(SENTENCE, target=target, level="attention", edits=edits)
        row = next(n for n, each in enumerate(trace.predicted) if each.text.strip() == word)
        return trace.predictions[row].log_prob

    own = found["translation"]
    for cut in (1, 2):
        fall = read(own, "vue", None) - read(own, "vue", cut)
        rival = read(OTHER, "rencontré", None) - read(OTHER, "rencontré", cut)
        assert by_method["erasure"][cut] == pytest.approx(fall, abs=1e-3)
        assert by_method["contrastive erasure"][cut] == pytest.approx(fall - rival, abs=1e-3)


@pytest.mark.thorough
def test_the_tuned_lens_is_nearer_to_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nouns = ("cat", "dog", "book", "house", "car", "boy", "girl", "train", "friend", "teacher")
    lines = [
        f"{start} {noun}{end}"
        for noun in nouns
        for start, end in (
            ("The", " is here."),
            ("I have a", "."),
            ("Where is my", "?"),
            ("I don't like this", "!"),
        )
    ]
    (tmp_path / "sentences.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = ["why", "everyday-en-fr", SENTENCE, "--word", "vue", "--methods", "--json"]
    assert main([*asked, "--sentences", str(tmp_path / "sentences.txt")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lens"]["sentences"] == 32
    for tuned, logit in list(zip(found["lens"]["tuned"], found["lens"]["logit"], strict=True))[:-1]:
        assert tuned < logit
    assert "tuned lens" in [each["method"] for each in found["methods"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--contrast", OTHER], "needs a --rival"),
        (["--contrast", OTHER, "--rival", "xyzzy", "--methods"], "no word 'xyzzy'"),
        (["--sentences", __file__, "--path", "all", "--counterpart", "x"], "searches no circuit"),
    ],
)
def test_the_command_refuses(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", "everyday-en-fr", SENTENCE, "--word", "vue", *arguments]) == 2
    assert said in capsys.readouterr().err
