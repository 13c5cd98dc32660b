import math

import pytest
import torch

from glassformer.config import BOS, EOS, Config, Decode
from glassformer.directory import Tokenizers, build
from glassformer.text import Tokenizer
from glassformer.translator import Translator

LINES = ["the cat is on the mat", "a dog runs", "two birds sing in the old tree", "yes", "so it is"]


@pytest.fixture(scope="module")
def translator():
    """Random weights, sharpened so that choices are clear."""
    torch.manual_seed(3)
    config = Config.read(
        {
            "model": {
                "d_model": 32, "d_ff": 64, "heads": 4, "encoder_layers": 2, "decoder_layers": 2,
                "positions": {"longest": 64},
            },
            "decode": {"max_extra": 6},
        }
    )  # fmt: skip
    tokenizer = Tokenizer.train(LINES, 320)
    model = build(config, Tokenizers(tokenizer, tokenizer))
    with torch.no_grad():
        model.output_table.weight.mul_(4)
    return Translator(config, Tokenizers(tokenizer, tokenizer), model, device="cpu")


SEARCHES = [
    Decode(search="greedy", max_extra=6),
    Decode(search="beam", beam=4, max_extra=6),
    Decode(search="beam", beam=3, stop="first", penalty="power", alpha=1.0, max_extra=6),
    Decode(search="sample", top_k=20, max_extra=6),
    Decode(search="sample", top_p=0.9, temperature=1.3, max_extra=6),
]


@pytest.mark.parametrize(
    "decode", SEARCHES, ids=lambda d: f"{d.search}-{d.beam}-{d.stop}-{d.top_p}"
)
def test_a_lines_translation_does_not_depend_on_the_others(translator, decode):
    together = translator.search(LINES * 3, decode=decode)
    for number, line in enumerate(LINES):
        (alone,) = translator.search([line], decode=decode, first_line=number)
        assert alone[0].pieces == together[number][0].pieces


def test_empty_lines_stay_and_order_is_kept(translator):
    texts = ["", LINES[2], "  ", LINES[0], "\t"]
    found = translator.translate(texts)
    assert [bool(x) for x in found] == [False, True, False, True, False]
    assert found[1] == translator.translate([LINES[2]])[0]
    assert found[3] == translator.translate([LINES[0]])[0]
    assert translator.translate([]) == []


def test_one_line_in_one_line_out(translator):
    """Whatever the pieces spell, a translation holds no line break."""
    newline = translator.tokenizers.target.encode("a\nb\u2028c\rd")
    from glassformer.decode import Hypothesis

    made = translator._in_words(Hypothesis(newline, -1.0, -1.0, [-1.0], True))
    assert made.text == "a b c d"


def test_scores_are_those_of_a_plain_forward_pass(translator):
    targets = LINES[::-1]
    encode = translator.tokenizers.source.encode
    for source, target, found in zip(LINES, targets, translator.score(LINES, targets), strict=True):
        given, wanted = [BOS, *encode(target)], [*encode(target), EOS]
        with torch.inference_mode():
            logits = translator.model(torch.tensor([[*encode(source), EOS]]), torch.tensor([given]))
        log_probs = logits[0].log_softmax(-1)[range(len(wanted)), wanted]
        assert found.piece_log_probs == pytest.approx(log_probs.tolist(), abs=1e-4)
        assert math.isclose(found.log_prob, float(log_probs.sum()), abs_tol=1e-3)
        assert "".join(found.pieces).strip() == target


def test_forced_prefix(translator):
    found = translator.translate(LINES, prefixes=["the dog"] * len(LINES))
    assert all(text.startswith("the dog") for text in found)


def test_n_best_is_sorted_and_distinct(translator):
    (found,) = translator.search(LINES[:1], decode=Decode(beam=4, max_extra=6), n_best=4)
    assert [x.score for x in found] == sorted((x.score for x in found), reverse=True)
    assert len({tuple(x.pieces) for x in found}) == 4


def test_too_long_a_line_is_named(translator):
    with pytest.raises(ValueError, match=r"line 2: .* 64 positions"):
        translator.translate(["yes", "xyz" * 40])
    with pytest.raises(ValueError, match="line 1: the target"):
        translator.score(["yes"], ["xyz" * 40])


def test_unequal_numbers(translator):
    with pytest.raises(ValueError, match="1 sources but 2 targets"):
        translator.score(["a"], ["b", "c"])
    with pytest.raises(ValueError, match="2 texts but 1 prefixes"):
        translator.translate(["a", "b"], prefixes=["c"])


def test_a_device_that_is_not_here():
    from glassformer.device import choose_device, choose_precision

    with pytest.raises(ValueError, match="it has"):
        choose_device("tpu")
    with pytest.raises(ValueError, match="bf16"):
        choose_precision("int3", torch.device("cpu"))
