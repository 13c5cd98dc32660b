"""Diverse beam search and the repetition penalty, against slow loops."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from glassformer.config import Decode
from glassformer.decode import search
from glassformer.decode.rules import penalise_repeats
from glassformer.engine.weights import say_once
from glassformer.translator import Translator

CHOICES = (3, 4, 5, 6)  # besides EOS
LIMIT = 6


def make(**changes: Any) -> Decode:
    given = {"length_penalty": "none", "max_ratio": 0, "max_extra": LIMIT, **changes}
    return Decode(search="beam", **given)


def slow_diverse(network: Any, source: list[int], settings: Decode) -> list[Any]:
    """Each group in turn, in lists; it never stops before the limit."""
    size = settings.beam // settings.beam_groups
    groups = [[(0.0, ())] for _ in range(settings.beam_groups)]
    finished = set()
    for _ in range(LIMIT):
        taken = dict.fromkeys((2, *CHOICES), 0)
        for number, live in enumerate(groups):
            candidates = []
            for log_prob, tokens in live:
                after = network.log_probs(source, (1, *tokens))
                for token in (2, *CHOICES):
                    whole = log_prob + after[token]
                    worth = whole - settings.diversity * taken[token]
                    candidates.append((worth, token, whole, tokens))
            candidates.sort(key=lambda each: -each[0])
            finished |= {(each[2], each[3]) for each in candidates[:size] if each[1] == 2}
            kept = [each for each in candidates if each[1] != 2][:size]
            groups[number] = [(whole, (*tokens, token)) for _, token, whole, tokens in kept]
            for _, token, *_ in kept:
                taken[token] += 1
    return sorted(finished, reverse=True)


@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize(("beam", "groups"), [(2, 2), (4, 2), (6, 3), (4, 4), (4, 1)])
def test_groups_are_the_slow_ones(oracle: Any, beam: int, groups: int, diversity: float) -> None:
    settings = make(beam=beam, beam_groups=groups, diversity=diversity)
    for source in ([3, 2], [4, 5, 2], [6, 6, 2]):
        network = oracle(seed=sum(source), eos=1.0)
        wanted = slow_diverse(network, source, settings)[:beam]
        (found,) = search(network, [source], settings, n_best=beam)
        done = [each for each in found if each.finished]
        assert [tuple(each.tokens) for each in done] == [tokens for _, tokens in wanted]
        assert [each.log_prob for each in done] == pytest.approx([p for p, _ in wanted], abs=1e-5)


def test_sentences_do_not_meddle_with_each_other(oracle: Any) -> None:
    settings = make(beam=4, beam_groups=2, diversity=1.0)
    sources = [[3, 2], [4, 5, 2], [6, 2], [5, 5, 5, 2]]
    alone = [search(oracle(seed=1), [source], settings, n_best=2)[0] for source in sources]
    together = search(oracle(seed=1), sources, settings, n_best=2)
    assert [[e.tokens for e in best] for best in together] == [
        [e.tokens for e in best] for best in alone
    ]


def test_without_diversity_all_groups_are_one_beam(oracle: Any) -> None:
    both = make(beam=4, beam_groups=2, diversity=0.0), make(beam=2)
    one, other = (search(oracle(seed=4), [[3, 2]], each, n_best=2)[0] for each in both)
    assert [each.tokens for each in one] == [each.tokens for each in other]


def test_a_real_model_gives_more_different_translations() -> None:
    translator = Translator.load("demo", device="cpu", precision="fp32")
    text = "The old dog sees a red house and the young cat."

    def begin(**changes: Any) -> int:
        best = translator.search(text, decode={"beam": 6, **changes}, n_best=6)
        assert len({each.text for each in best}) == len(best)
        return len({tuple(each.tokens[:4]) for each in best})

    assert begin(beam_groups=6, diversity=2.0) > begin()


def test_a_beam_has_to_be_divided_evenly() -> None:
    with pytest.raises(ValueError, match="beam=5 cannot be divided among beam_groups=2"):
        make(beam=5, beam_groups=2)


@pytest.mark.parametrize("penalty", [1.0, 1.5, 4.0])
def test_repeated_tokens_lose(penalty: float) -> None:
    logits = torch.tensor([[9.0, 8.0, 3.0, 2.0, -1.0, 0.5], [9.0, 8.0, 3.0, 2.0, -1.0, 0.5]])
    tokens = torch.tensor([[0, 1, 3, 3], [1, 4, 3, 5]])
    found = logits.clone()
    penalise_repeats(found, tokens, penalty)
    for row, had in enumerate(tokens.tolist()):
        for token, logit in enumerate(logits[row].tolist()):
            if token in had and token > 2:
                logit = logit / penalty if logit > 0 else logit * penalty
            assert found[row, token].item() == pytest.approx(logit)


@pytest.mark.parametrize("kind", ["greedy", "beam", "sample"])
def test_a_penalty_holds_in_every_search(oracle: Any, kind: Any) -> None:
    """Each log-probability is that of the network's logits, made less for what was there."""
    source, penalty = [3, 4, 2], 1.8
    changes = {"search": kind, "repetition_penalty": penalty}
    network = oracle(seed=3, eos=-20.0)
    (found,) = search(network, [source], make(beam=2).model_copy(update=changes))
    tokens, seen = [*found[0].tokens, 2], list[float]()
    for n, token in enumerate(tokens[: len(found[0].token_log_probs)]):
        logits = network.logits(source, (1, *tokens[:n])).double()
        for had in {*tokens[:n]}:
            logits[had] *= penalty if logits[had] < 0 else 1 / penalty
        seen.append(float(logits.log_softmax(-1)[token]))
    assert found[0].token_log_probs == pytest.approx(seen, abs=1e-5)
    assert len(seen) > 2


def test_the_engine_in_c_leaves_both_to_pytorch(capfd: pytest.CaptureFixture[str]) -> None:
    """The translations are those of PyTorch, whatever engine would be taken; it says so once."""
    say_once.cache_clear()
    texts = ["The cat is old.", "The old dog runs to the house."]
    fast = Translator.load("demo", device="cpu", precision="auto")
    plain = Translator.load("demo", device="cpu", precision="fp32")
    for changes in ({"repetition_penalty": 1.7}, {"beam": 4, "beam_groups": 2, "diversity": 3.0}):
        found, wanted = (
            [each[0].text for each in translator.search(texts, decode=changes)]
            for translator in (fast, plain)
        )
        assert found == wanted
    if fast.weights.is_native:
        said = capfd.readouterr().err
        for name in ("repetition_penalty", "beam_groups"):
            assert said.count(f"does not know {name}: PyTorch computes, slower") == 1
    first = fast.search(texts[0], decode={"repetition_penalty": 100.0})[0]
    assert first.log_prob != fast.search(texts[0])[0].log_prob


def test_what_looks_wrong_is_searched_again_without_groups() -> None:
    """A wider beam than 4 could not be divided between two groups."""
    translator = Translator.load("demo", device="cpu", precision="fp32")
    text = "The 1975 cats saw 1234 dogs."  # numbers get lost
    found = translator.translate(text, decode={"beam": 4, "beam_groups": 2})
    assert isinstance(found, str) and found
