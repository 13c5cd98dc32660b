import math
import re
from pathlib import Path

import pytest
import torch
from tests.checked import translate_checked

from glassformer.config import BOS, EOS, Config, Decode
from glassformer.decode import Hypothesis
from glassformer.evaluate import quality
from glassformer.evaluate.significance import compare_systems
from glassformer.model.files.directory import Tokenizers, build_model
from glassformer.text.kinds import train_tokenizer
from glassformer.translate.writing import assemble, read_hypothesis
from glassformer.translator import Translator

LINES = ["the cat is on the mat", "a dog runs", "two birds sing in the old tree", "yes", "so it is"]


@pytest.fixture(scope="module")
def translator():
    """Random weights, sharpened so that choices are clear."""
    torch.manual_seed(3)
    config = Config.read(
        {
            "model": {
                "d_model": 32,
                "d_ff": 64,
                "heads": 4,
                "encoder_layers": 2,
                "decoder_layers": 2,
                "positions": {"max_positions": 64},
            },
            "decode": {"max_extra": 6},
        }
    )
    tokenizer = train_tokenizer(LINES, 320)
    model = build_model(config, Tokenizers(tokenizer, tokenizer))
    with torch.no_grad():
        model.output_table.weight.mul_(4)
    return Translator(config, Tokenizers(tokenizer, tokenizer), model, device="cpu")


SEARCHES = [
    Decode(search="greedy", max_extra=6),
    Decode(search="beam", beam=4, max_extra=6),
    Decode(search="beam", beam=3, stop="first", length_penalty="power", alpha=1.0, max_extra=6),
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
        assert alone[0].tokens == together[number][0].tokens


def test_empty_lines_stay_and_order_is_kept(translator):
    texts = ["", LINES[2], "  ", LINES[0], "\t"]
    found = translator.translate(texts)
    assert [bool(x) for x in found] == [False, True, False, True, False]
    assert found[1] == translator.translate([LINES[2]])[0]
    assert found[3] == translator.translate([LINES[0]])[0]
    assert translator.translate([]) == []


def test_one_line_in_one_line_out(translator):
    """Whatever the tokens spell, a translation holds no line break."""
    target = translator.tokenizers.target
    found = Hypothesis(target.encode("a\nb\u2028c\rd"), -1.0, -1.0, [-1.0], True)
    made = assemble("x.\x85y.", [(0, 2), (3, 5)], [read_hypothesis(found, target)] * 2)
    assert made.text == "a b c d a b c d"


def test_scores_are_those_of_a_plain_forward_pass(translator):
    targets = LINES[::-1]
    encode = translator.tokenizers.source.encode
    for source, target, found in zip(LINES, targets, translator.score(LINES, targets), strict=True):
        given, wanted = [BOS, *encode(target)], [*encode(target), EOS]
        with torch.inference_mode():
            logits = translator.model(torch.tensor([[*encode(source), EOS]]), torch.tensor([given]))
        log_probs = logits[0].log_softmax(-1)[range(len(wanted)), wanted]
        assert found.token_log_probs == pytest.approx(log_probs.tolist(), abs=1e-4)
        assert math.isclose(found.log_prob, float(log_probs.sum()), abs_tol=1e-3)
        assert "".join(found.tokens).strip() == target


def test_forced_prefix(translator):
    found = translator.translate(LINES, prefixes=["the dog"] * len(LINES))
    assert all(text.startswith("the dog") for text in found)


def test_n_best_is_sorted_and_distinct(translator):
    (found,) = translator.search(LINES[:1], decode=Decode(beam=4, max_extra=6), n_best=4)
    assert [x.score for x in found] == sorted((x.score for x in found), reverse=True)
    assert len({tuple(x.tokens) for x in found}) == 4


def test_too_long_a_target_is_named(translator):
    with pytest.raises(ValueError, match="line 1: the target"):
        translator.score(["yes"], ["xyz" * 40])


def test_what_is_too_long_to_be_whole_is_split_and_the_others_are_not(translator):
    long = "the cat is on the mat, " * 8
    alone = translator.search(["Yes. No."], split=False)
    (kept,), (cut,) = translator.search(["Yes. No.", long], split=False)
    assert kept.tokens == alone[0][0].tokens and len(kept.parts) == 1
    assert [part.source for part in cut.parts] == translator.reader.split(long) and len(
        cut.parts
    ) > 1
    judged = translate_checked(translator, ["Yes. No.", long], split=False, again=False)
    assert [any(p.kind == "parts" for p in each.problems) for each in judged] == [False, True]


def test_a_text_gives_a_text_and_a_list_a_list(translator):
    one, other = LINES[:2]
    assert translator.translate(one) == translator.translate([one])[0]
    assert translator.translate(one, prefixes="the dog").startswith("the dog")
    assert translator.search(one, n_best=2) == translator.search([one], n_best=2)[0]
    assert translator.score(one, other) == translator.score([one], [other])[0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda translator: translator.score("a", ["b"]),
        lambda translator: translator.score(["a"], "b"),
        lambda translator: translator.search(["a"], prefixes="b"),
        lambda translator: translator.tokenizers.source.encode_many("ab"),
        lambda translator: translate_checked(translator, "ab"),
        lambda translator: translator.see(["ab"]),
        lambda translator: quality.score_quality("ab", [["a", "b"]]),
        lambda translator: quality.exact_match("ab", [["a", "b"]]),
        lambda translator: compare_systems("ab", ["a", "b"], [["a", "b"]]),
        lambda translator: compare_systems(["a", "b"], "ab", [["a", "b"]]),
        lambda translator: train_tokenizer("the cat", 320),
    ],
)
def test_one_text_is_no_list_of_its_characters(translator, ask):
    with pytest.raises(ValueError, match="one text"):
        ask(translator)


PASSED = ["🙂🙂", "...", " — ", "!?", "🇫🇷 ❤️", "(-:", "。"]


@pytest.mark.parametrize("split", [True, False])
def test_what_has_no_letter_or_digit_stays(translator, split):
    assert translator.translate(PASSED, split=split) == PASSED
    assert translator.translate("🙂🙂\nyes") == f"🙂🙂 {translator.translate('yes')}" or not split
    with pytest.raises(ValueError, match="nothing to translate"):
        translator.see("🙂🙂")


def test_a_line_break_ends_a_sentence(translator):
    alone = translator.translate(["so it is", "yes"])
    assert translator.translate("so it is\nyes") == " ".join(alone)


def test_settings_given_replace_the_models_own_one_by_one(translator):
    own = {
        "search": "greedy",
        "length_penalty": "power",
        "alpha": 1.0,
        "max_extra": 3,
        "min_length": 2,
    }
    config = translator.config.changed(decode=own)
    other = Translator(config, translator.tokenizers, translator.model, device="cpu")
    wanted = Decode(**{**config.decode.model_dump(), "search": "beam", "beam": 3})
    expected = other.search(LINES, decode=wanted)
    assert other.search(LINES, decode=Decode(beam=3)) == expected
    assert other.search(LINES, decode={"beam": 3}) == expected
    assert [len(best) for best in other.search(LINES, n_best=2)] == [2] * len(LINES)
    assert other.see(LINES[0], decode=Decode(beam=3)).search.settings == wanted


def test_a_paragraph_is_checked_sentence_by_sentence(translator):
    """What is searched for again, and what comes of it, does not depend on the company."""
    alone = translate_checked(translator, SENTENCES)
    (whole,) = translate_checked(translator, ["  ".join(SENTENCES)])
    assert any(each.retried for each in alone)
    assert whole.best[0].text == "  ".join(each.best[0].text for each in alone)
    assert [p.part for p in whole.problems] == sorted(p.part for p in whole.problems)
    for number, each in enumerate(alone):
        said = [(p.kind, p.said) for p in whole.problems if p.part == number]
        assert said == [(p.kind, p.said) for p in each.problems]
    assert translator.translate(SENTENCES) == [each.best[0].text for each in alone]


def test_unequal_numbers(translator):
    with pytest.raises(ValueError, match="1 sources but 2 targets"):
        translator.score(["a"], ["b", "c"])
    with pytest.raises(ValueError, match="2 texts but 1 prefixes"):
        translator.translate(["a", "b"], prefixes=["c"])


SENTENCES = [
    "The cat is old.",
    "Is it?",
    "Two dogs run!",
    "So it is...",
    "Yes.",
    "No.",
    "Dr. A ran.",
    "The end of the tree",
]


def paragraph(gaps):
    return "".join(gap + text for gap, text in zip(gaps, SENTENCES, strict=True))


@pytest.mark.parametrize("decode", SEARCHES[:3], ids=lambda d: f"{d.search}-{d.stop}")
def test_a_paragraph_gives_the_translations_of_its_sentences(translator, decode):
    gaps = ["  ", " ", "\t", "   ", " \u3000", " ", "\u00a0", " "]
    alone = translator.translate(SENTENCES, decode=decode, split=False, again=False)
    assert alone == translator.translate(SENTENCES, decode=decode, again=False)
    texts = ["Yes.", paragraph(gaps) + " ", ""]
    found = translator.search(texts, decode=decode)
    assert found[1][0].text == "".join(g + t for g, t in zip(gaps, alone, strict=True)) + " "
    assert found[0][0].text == alone[4] and found[2][0].text == ""


def test_parts_say_what_came_from_where(translator):
    text = paragraph([" "] * len(SENTENCES))
    ((found,),) = translator.search([text])
    singles = [best for (best,) in translator.search(SENTENCES)]
    assert [text[slice(*part.source)] for part in found.parts] == SENTENCES
    assert [found.text[slice(*part.target)] for part in found.parts] == [x.text for x in singles]
    tokens = [found.tokens[slice(*part.tokens)] for part in found.parts]
    assert tokens == [x.tokens for x in singles]
    assert [part.finished for part in found.parts] == [x.finished for x in singles]
    for name in ("log_prob", "score"):
        each = [getattr(part, name) for part in found.parts]
        assert each == pytest.approx([getattr(x, name) for x in singles], rel=1e-4)
        assert getattr(found, name) == pytest.approx(sum(each))
    assert sum(found.token_log_probs) == pytest.approx(found.log_prob, rel=1e-4)
    assert len(found.token_log_probs) == sum(len(x.token_log_probs) for x in singles)


def test_without_splitting_a_line_is_one_part(translator):
    ((found,),) = translator.search([" Yes. No. "], split=False)
    assert [part.source for part in found.parts] == [(0, 10)]
    assert [part.target for part in found.parts] == [(0, len(found.text))]


def test_only_the_first_part_begins_as_told(translator):
    free = translator.search(["Yes. No.", "No."])
    told = translator.search(["Yes. No.", "No."], prefixes=["the dog", ""])
    assert told[0][0].text.startswith("the dog") and told[1][0].text == free[1][0].text
    seconds = [best.text[slice(*best.parts[1].target)] for best in (free[0][0], told[0][0])]
    assert seconds[0] == seconds[1]


def test_each_part_begins_with_the_mark_of_its_language(translator):
    once = {"split": False, "again": False}
    alone = translator.translate([">>fra<< Yes.", ">>fra<< No."], **once)
    ((found,),) = translator.search([">>fra<<  Yes.  No."])
    spaced = translator.translate([">>fra<<  Yes.", ">>fra<<  No."], **once)
    assert found.text == "  ".join(spaced)
    assert alone != translator.translate(["Yes.", "No."], **once)
    assert [part.source for part in found.parts] == [(0, 13), (15, 18)]


def test_each_part_is_sampled_on_its_own(translator):
    """The first as if it were alone on its line; the same sentence again with other dice."""
    decode = Decode(search="sample", temperature=4.0, max_extra=6)
    ((many,),) = translator.search(["Yes. " * 6], decode=decode)
    ((one,),) = translator.search(["Yes."], decode=decode)
    drawn = [tuple(many.tokens[slice(*part.tokens)]) for part in many.parts]
    assert drawn[0] == tuple(one.tokens) and len(set(drawn)) > 1


def test_a_sentence_that_is_hardly_too_long_stays_whole(translator):
    text = "the cat is on the mat, and the dog"
    tokens = len(translator.tokenizers.source.encode(text))
    for above, is_whole in ((tokens - 1, True), (2 * tokens // 3 + 1, True), (tokens // 2, False)):
        config = translator.config.changed(text={"split_above": above})
        other = Translator(config, translator.tokenizers, translator.model, device="cpu")
        assert (other.reader.split(text) == [(0, len(text))]) == is_whole


@pytest.mark.parametrize("above", [None, 12])
def test_what_is_too_long_is_cut_and_nothing_is_lost(translator, above):
    config = translator.config.changed(text={"split_above": above})
    other = Translator(config, translator.tokenizers, translator.model, device="cpu")
    text = "the cat is on the mat, " * 8 + "xyz" * 40
    spans = other.reader.split(text)
    parts = [text[start:end] for start, end in spans]
    assert len(parts) > 3 and "".join(parts).replace(" ", "") == text.replace(" ", "")
    longest = max(len(other.tokenizers.source.encode(part)) for part in parts)
    assert longest <= (above or other.reader.longest - 1)
    ((found,),) = other.search([text])
    assert [part.source for part in found.parts] == spans


def test_spaces_between_chinese_characters_are_ignored(translator):
    tokenizer = train_tokenizer(["我喜欢学习编程。", "你好 AI"] * 2, 320)
    tokenizers = Tokenizers(tokenizer, tokenizer)
    config = translator.config.changed(data={"source_lang": "zh-CN"})
    chinese = Translator(config, tokenizers, build_model(config, tokenizers), device="cpu")
    spaced, plain = "我 喜欢 学习\u3000编程 。", "我喜欢学习编程。"
    assert chinese.translate([spaced]) == chinese.translate([plain])
    assert chinese.score([spaced], ["x"]) == chinese.score([plain], ["x"])
    tokens = chinese.reader.tokenize(spaced)
    assert list(tokens.ids) == tokenizer.encode(plain) == list(chinese.reader.tokenize(plain).ids)
    assert "".join(spaced[start:end] for start, end in tokens.spans) == spaced
    for text, (start, end) in zip(tokens.texts, tokens.spans, strict=True):
        assert text.strip() == "".join(spaced[start:end].split())


def test_progress_counts_lines(translator):
    told = []
    translator.translate(["Yes. No. Yes.", "", "No."], progress=told.append)
    translator.translate(["", " "], progress=told.append)
    assert sum(told) == 5 and min(told) >= 0


def test_a_device_that_is_not_here():
    from glassformer.foundation.machine.device import choose_device, choose_precision

    with pytest.raises(ValueError, match="it has"):
        choose_device("tpu")
    with pytest.raises(ValueError, match="bf16"):
        choose_precision("int3", torch.device("cpu"))


def test_the_page_reranks_by_a_model_of_the_other_direction(capsys):
    page = Path(__file__).parents[2] / "docs" / "search.md"
    code = re.search(r"```python\n(from glassformer.*?)```", page.read_text("utf-8"), re.S)[1]
    names = {}
    exec(compile(code, str(page), "exec"), names)
    assert capsys.readouterr().out.strip().endswith("parce qu'elle était trop large.")
    text = "The cat is on the mat."
    best, *_ = names["forward"].search(text, n_best=8, decode={"beam": 8})
    assert names["translate"](text, weight=0.0) == best.text
    others = {each.text for each in names["forward"].search(text, n_best=8, decode={"beam": 8})}
    back = {each: names["backward"].score(each, text).log_prob for each in others}
    assert names["translate"](text, weight=1e6) == max(back, key=back.get)
