"""Several models as one, and several translations of which one is chosen."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer import LanguageModel, Translator
from glassformer.cli import main
from glassformer.config import BOS, EOS, Config, Decode
from glassformer.decode import Hypothesis
from glassformer.decode.ensemble import Ensemble
from glassformer.decode.mbr import rank_by_utility
from glassformer.engine.native_engine import NativeEnsembleEngine
from glassformer.engine.torch_engine import TorchEngine
from glassformer.model.files.directory import SHIPPED, build_model, load_model, save_model

TEXTS = ["The cat is on the mat.", "A dog. The old cat sleeps!", "", "🙂"]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo model with weights that are a little different."""
    config, tokenizers, network = load_model("demo")
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.02 * parameter.std() * torch.randn_like(parameter)
    folder = tmp_path_factory.mktemp("ensemble") / "other"
    save_model(folder, config, tokenizers, network.state_dict())
    return folder


def test_twice_the_same_model_is_that_model() -> None:
    one = Translator.load("demo", device="cpu", precision="fp32")
    two = Translator.load(["demo", SHIPPED / "demo"], device="cpu", precision="fp32")
    for decode in ({"beam": 4}, {"search": "greedy"}, {"temperature": 1.0}):
        found = [each.search(TEXTS, decode=decode, seed=3) for each in (one, two)]
        for a, b in zip(*found, strict=True):
            assert a[0].text == b[0].text
            assert a[0].log_prob == pytest.approx(b[0].log_prob, abs=1e-4)


def test_a_probability_is_the_mean(other: Path) -> None:
    how = {"device": "cpu", "precision": "fp32"}
    members = [Translator.load(each, **how) for each in ("demo", other)]
    both = Translator.load(["demo", other], **how)
    source, target = "The cat is on the mat.", "Le chat est sur le tapis."
    found = [each.score(source, target).token_log_probs for each in (*members, both)]
    for one, two, together in zip(*found, strict=True):
        assert math.exp(together) == pytest.approx((math.exp(one) + math.exp(two)) / 2, abs=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_engine_in_c_averages_as_pytorch_does(other: Path, precision: str) -> None:
    """Also with a prefix, samples, constraints, a short-list, and the attention of the first."""
    both = Translator.load(["demo", other], device="cpu", precision=precision)
    assert both.weights.is_native and both.precision == precision
    engine = both.searcher.get_engine(precision)
    assert isinstance(engine, NativeEnsembleEngine)
    plain = TorchEngine(both.model, both.weights.view, "fp32", "cpu", None)
    sources = [[*both.reader.tokenize(text).ids, EOS] for text in TEXTS if text] * 2
    asked = ({"beam": 4}, {"search": "greedy"}, {"search": "sample", "top_k": 5})
    for decode in (both.config.decode.override(each) for each in asked):
        how = {"n_best": 1, "prefixes": [[]] * len(sources), "seed": 3, "workers": 2}
        found, wanted = (each.search(sources, decode, **how) for each in (engine, plain))
        same = [a[0].tokens == b[0].tokens for a, b in zip(found, wanted, strict=True)]
        assert all(same) if precision == "fp32" else sum(same) > len(same) / 2
    targets = [each[0].tokens for each in found]
    for a, b in zip(engine.score(sources, targets), plain.score(sources, targets), strict=True):
        assert sum(a.log_probs) == pytest.approx(sum(b.log_probs), abs=1e-3 + (precision == "int8"))
    first = both.weights.members[0].get_engine(precision)
    a, b = ([*each.attend(sources, targets, [(0, 1)])][-1] for each in (engine, first))
    assert a[0] == b[0] and np.array_equal(a[1][0], b[1][0])
    assert both.translate("The cat is on the mat.", glossary={"cat": "chien"}).count("chien") == 1
    both.translate(TEXTS, decode={"shortlist": True})


def test_batches_change_nothing(other: Path) -> None:
    both = Translator.load(["demo", other], device="cpu", precision="fp32")
    lines = [text for text in TEXTS if text] * 3
    alone = [both.search(line, decode={"beam": 3}, n_best=2) for line in lines]
    together = both.search(
        lines,
        decode={"beam": 3},
        n_best=2,
    )
    assert [[e.text for e in ways] for ways in alone] == [
        [e.text for e in ways] for ways in together
    ]


def test_models_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="vocabularies: an ensemble needs one"):
        Translator.load(["demo", "demo-fr-en"])
    with pytest.raises(ValueError, match="at least one model"):
        Translator.load([])
    with pytest.raises(ValueError, match="nowhere: no such folder"):
        Translator.load(["demo", "nowhere"])


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model that has not been trained, with the tokens of the demo."""
    config, tokenizers, _ = load_model("demo")
    shape = {"network": "decoder", "d_model": 16, "d_ff": 16, "heads": 2, "decoder_layers": 1}
    made = Config.read({"model": shape, "text": config.text.model_dump(exclude_none=True)})
    torch.manual_seed(2)
    network = build_model(made, tokenizers)
    folder = tmp_path_factory.mktemp("fusion") / "lm"
    save_model(folder, made, tokenizers, network.state_dict())
    return folder


def test_a_language_model_has_its_say(language: Path) -> None:
    how = {"device": "cpu", "precision": "fp32"}
    plain, writer = Translator.load("demo", **how), LanguageModel.load(language, **how)
    fused = plain.with_language_model(language, 0.7, **how)
    source, target = "The cat is on the mat.", "Le chat est sur le tapis."
    ids = [BOS, *plain.tokenizers.target.encode(target)]
    read = torch.tensor([[*plain.reader.tokenize(source).ids, EOS]])
    with torch.inference_mode():
        one = plain.model(read, torch.tensor([ids])).log_softmax(-1)
        two = writer.model(read, torch.tensor([ids])).log_softmax(-1)
    wanted = (one + 0.7 * two).log_softmax(-1)[0, torch.arange(len(ids)), [*ids[1:], EOS]]
    assert fused.score(source, target).token_log_probs == pytest.approx(wanted.tolist(), abs=1e-4)
    found = fused.search(TEXTS * 2, decode={"beam": 3})
    alone = [fused.search(text, decode={"beam": 3}) for text in TEXTS]
    assert [each[0].text for each in found] == [each[0].text for each in alone] * 2
    weak = plain.with_language_model(language, 1e-6, **how)
    assert weak.translate(TEXTS) == plain.translate(TEXTS)


def test_a_language_model_from_the_command_line(
    language: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "a.en"
    text.write_text("The cat is on the mat.\n", encoding="utf-8")
    command = ["translate", "demo", str(text), "--precision", "fp32", "--lm"]
    assert main([*command, str(language), "--lm-weight", "0.000001"]) == 0
    assert capsys.readouterr().out == "Le chat est sur le tapis.\n"
    for wrong, said in (
        ([*command, "demo"], "demo is no language model"),
        ([*command, "demo-lm"], "demo-lm has other tokens than the translations"),
        ([*command, str(language), "--lm-weight", "-1"], "weight=-1.0: above 0"),
        ([*command[:-1], "--lm-weight", "0.2"], "--lm-weight has no effect without --lm"),
    ):
        assert main(wrong) == 2
        assert said in capsys.readouterr().err


def test_the_rows_of_an_ensemble_follow_the_search() -> None:
    networks = [load_model("demo")[2] for _ in range(2)]
    both, source_BS = Ensemble(networks), torch.tensor([[300, 301, 2], [302, 2, 0]])
    with torch.inference_mode():
        state = both.start(source_BS)
        both.keep(torch.tensor([0, 0, 1, 1]), state)
        logits_RQV = both.step(torch.full((4, 1), 1), state)
        assert state.beams == 2
        assert state.length_R.tolist() == [1, 1, 1, 1]
        assert torch.allclose(logits_RQV.exp().sum(-1), torch.ones(4, 1), atol=1e-5)
        both.rewind(torch.zeros(4, dtype=torch.long), state)
        again_RQV = both.step(torch.full((4, 1), 1), state)
    assert torch.allclose(logits_RQV, again_RQV, atol=1e-5)


def make(log_prob: float, finished: bool = True) -> Hypothesis:
    return Hypothesis([5], log_prob, log_prob, [log_prob], finished)


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_the_chosen_one_is_like_the_others(utility: str) -> None:
    texts = [
        "the cat sat on the mat",
        "a dog barks",
        "the cat sat on a mat",
        "the cat is on the mat",
    ]
    found = [make(-3), make(-1), make(-4), make(-5)]
    assert rank_by_utility(found, texts, utility)[0] is found[0]
    assert rank_by_utility(found, texts, utility)[-1] is found[1]
    cut = [make(-3, finished=False), *found[1:]]
    assert rank_by_utility(cut, texts, utility)[-1] is cut[0]


def test_equal_texts_count_each_time() -> None:
    found = [make(-1), make(-2), make(-3)]
    best = rank_by_utility(found, ["a cat", "dogs bark", "dogs bark"], "chrf")
    assert best == [found[1], found[0]]


def test_mbr_translates_with_samples_and_with_a_beam() -> None:
    translator = Translator.load("demo", device="cpu", precision="fp32")
    told: list[int] = []
    drawn = translator.search(TEXTS, decode={"mbr": 8}, seed=2, progress=told.append)
    assert sum(told) == len(TEXTS)
    assert drawn[0][0].text == translator.search(TEXTS[0], decode={"mbr": 8}, seed=2)[0].text
    assert drawn[2][0].text == ""
    beamed = translator.search(TEXTS, decode={"mbr": 4, "search": "beam"}, n_best=2)
    plain = translator.search(TEXTS[0], decode={"beam": 5}, n_best=5)
    assert beamed[0][0].text in [each.text for each in plain]
    assert translator.translate(TEXTS[0], decode={"mbr": 4})
    with pytest.raises(ValueError, match="mbr chooses among several"):
        Decode().override({"mbr": 4, "search": "greedy"})
