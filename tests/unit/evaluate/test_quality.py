"""The scores, against the organisers' own, against papers, and by hand."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path
from unicodedata import normalize

import pytest

from glassformer.evaluate import quality
from glassformer.evaluate.quality import read_references, score_quality
from glassformer.evaluate.results import write_table
from glassformer.evaluate.sentences import SentenceResult, SystemSentence, score_each
from glassformer.evaluate.significance import compare_systems

CAT = "the cat is on the mat ."


@pytest.mark.thorough
@pytest.mark.parametrize(
    "system",
    [
        "Facebook-AI",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("Online-W", "UEdin", "nuclear_trans")),
    ],
)
def test_wmt21_official_scores(data: Path, system: str) -> None:
    """Every digit that the organisers of WMT21 printed, for each reference set and for all."""
    folder = data / "wmt21_metric_check"
    with (folder / "automatic-scores.tsv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["pair"] == "en-de"]
    official = {row["metric"]: float(row["score"]) for row in rows if row["system"] == system}
    sets = {name: read_references(folder / f"newstest2021.en-de.ref.{name}.de") for name in "ACD"}
    [hypotheses] = read_references(folder / f"newstest2021.en-de.hyp.{system}.de")
    sets["all"] = [lines for name in "ACD" for lines in sets[name]]
    ours = {}
    for name, references in sets.items():
        found = score_quality(hypotheses, references, target_lang="de", metrics=("BLEU", "chrF2"))
        ours |= {f"bleu-{name}": found["BLEU"].value, f"chrf-{name}": found["chrF2"].value}
    assert len(ours) == 8
    assert ours == pytest.approx(official, rel=1e-15)


def test_literature_counts_the_tokens_that_papers_report(data: Path) -> None:
    """Multi30k test2016 in German: 12103 tokens in the logs of fairseq-generate."""
    lines = read_references(data / "multi30k" / "test2016.de")
    [found] = score_quality(lines[0], lines, target_lang="de", metrics=(), literature=True).scores
    assert found.value == pytest.approx(100)
    assert "12103 tokens for 12103" in found.detail


def test_literature_ignores_case_and_says_what_it_is() -> None:
    found = score_quality(
        ["LE CHAT DE L’AMI EST LÀ."],
        [["Le chat de l'ami est là."]],
        target_lang="fr",
        literature=True,
    )
    literature = found["literature BLEU"]
    assert literature.value == pytest.approx(100)
    assert found["BLEU"].value < 20
    assert "8 tokens for 8" in literature.detail  # le chat de l' ami est là .
    assert "not comparable" in literature.detail
    assert "|case:lc|" in literature.signature
    assert "|tok:moses-fr-sacremoses-" in literature.signature


@pytest.mark.parametrize("target_lang", [None, "zh-Hant", "ja", "ko", "th"])
def test_literature_needs_spaces_between_words(target_lang: str | None) -> None:
    with pytest.raises(ValueError, match="written with spaces"):
        score_quality(["a"], [["a"]], target_lang=target_lang, metrics=(), literature=True)


def test_bleu_by_hand() -> None:
    """Papineni's clipping: 2 of 7 words, and no bigram, so smoothing halves again and again."""
    found = score_quality(
        ["the the the the the the the"], [["the cat is on the mat"]], metrics=("BLEU",)
    )
    precisions = [2 / 7, 1 / 2 / 6, 1 / 4 / 5, 1 / 8 / 4]
    assert found["BLEU"].value == pytest.approx(100 * math.prod(precisions) ** (1 / 4))


def test_ter_by_hand() -> None:
    """One shift and one substitution for six words."""
    found = score_quality(["on the mat the dog is"], [["the cat is on the mat"]], metrics=("TER",))
    assert found["TER"].value == pytest.approx(100 * 2 / 6)
    assert found["TER"].detail == "2 edits for 6 words: fewer are better"


def test_signatures_name_everything() -> None:
    found = score_quality([CAT], [[CAT], ["a cat"]])
    start = "nrefs:2|case:"
    assert found["BLEU"].signature.startswith(start + "mixed|eff:no|tok:13a|smooth:exp|version:")
    assert found["chrF2"].signature.startswith(start + "mixed|eff:yes|nc:6|nw:0|space:no|version:")
    assert found["chrF++"].signature.startswith(start + "mixed|eff:yes|nc:6|nw:2|space:no|version")
    assert found["TER"].signature.startswith(start + "lc|tok:tercom|norm:no|punct:yes|asian:no|")


@pytest.mark.parametrize(
    ("target_lang", "tokenizer"),
    [
        (None, "13a"),
        ("de", "13a"),
        ("zh", "zh"),
        ("zh-Hant", "zh"),
        ("ZH_cn", "zh"),
        ("cmn", "zh"),
        ("ja", "ja-mecab"),
        ("jpn_Jpan", "ja-mecab"),
        ("ko", "ko-mecab"),
        ("kok", "13a"),
        ("th", "char"),
        ("lao_Laoo", "char"),
        ("my-MM", "char"),
    ],
)
def test_tokenizer_follows_the_language(target_lang: str | None, tokenizer: str) -> None:
    assert quality.choose_tokenizer(target_lang) == tokenizer


def test_chinese_is_cut_into_characters() -> None:
    """Five characters of six are right: with 13a all six would be one wrong word."""
    found = score_quality(["我喜欢吃苹果"], [["我喜欢吃葡果"]], target_lang="zh")
    assert "|tok:zh|" in found["BLEU"].signature
    assert found["BLEU"].detail.startswith("83.3/")
    assert "|norm:yes|" in found["TER"].signature and "|asian:yes|" in found["TER"].signature
    assert found["TER"].value == pytest.approx(100 / 6)


@pytest.mark.parametrize(
    ("language", "edits"),
    [
        ("ja", "1 edits for 6 words"),
        ("jpn_Jpan", "1 edits for 6 words"),
        ("zh-Hant", "1 edits for 6 words"),
        ("ko", "1 edits for 1 words"),
        ("de", "1 edits for 1 words"),
        (None, "1 edits for 1 words"),
    ],
)
def test_ter_counts_characters_where_words_have_no_spaces(language: str | None, edits: str) -> None:
    """One of six characters is wrong: one word in six, or the one word there is."""
    found = score_quality(
        ["日本語学字院"], [["日本語学校院"]], target_lang=language, metrics=("TER",)
    )
    assert found["TER"].detail.startswith(edits)


def test_tokenize_overrules_the_language() -> None:
    found = score_quality(
        ["我喜欢"], [["我喜欢"]], target_lang="zh", tokenize="char", metrics=("BLEU",)
    )
    assert "|tok:char|" in found["BLEU"].signature


@pytest.mark.parametrize(
    ("language", "package"),
    [
        ("ja", "sacrebleu.tokenizers.tokenizer_ja_mecab"),
        ("ko", "sacrebleu.tokenizers.tokenizer_ko_mecab"),
    ],
)
def test_absent_tokenizer_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, language: str, package: str
) -> None:
    __import__(package)
    monkeypatch.setattr(sys.modules[package], "MeCab", None)
    with pytest.raises(ValueError, match=rf"pip install 'glassformer\[{language}\]'"):
        quality.check_settings(target_lang=language)


def test_absent_moses_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(ValueError, match=r"pip install 'glassformer\[moses\]'"):
        quality.check_settings(target_lang="de", literature=True)


@pytest.mark.parametrize(
    ("hypotheses", "references", "words"),
    [
        (["a", "b"], [["a", "b"], ["a"]], "differ: 2 in the translations, 1 in reference set 2"),
        (["a"], [["a", "b"]], "differ: 1 in the translations, 2 in reference set 1"),
        (["a", "b"], [["a", None], ["a", None]], "line 2 has no reference"),
        (["a"], ["a"], "list of reference sets"),
        ([], [[]], "nothing to score"),
        (["a"], [], "nothing to score"),
    ],
)
def test_lines_must_agree(hypotheses: list[str], references: list, words: str) -> None:
    for measure in (score_quality, quality.exact_match):
        with pytest.raises(ValueError, match=words):
            measure(hypotheses, references)


def test_unknown_names_list_the_known() -> None:
    with pytest.raises(ValueError, match="no tokeniser 'mecab'; there are 13a, "):
        score_quality(["a"], [["a"]], tokenize="mecab")
    with pytest.raises(ValueError, match="no metric 'COMET'; there are BLEU, "):
        score_quality(["a"], [["a"]], metrics=("COMET",))


def test_a_missing_reference_is_not_an_empty_one() -> None:
    """A second set that lacks line 1 changes nothing there; an empty line is a bad reference."""
    one = score_quality(["a b c d", CAT], [["a b c d", CAT]])
    two = score_quality(["a b c d", CAT], [["a b c d", CAT], [None, CAT]])
    assert [s.value for s in two.scores] == [s.value for s in one.scores]
    assert all("nrefs:var|" in s.signature for s in two.scores)


def test_exact_match() -> None:
    references = [["I_WALK I_RUN", "I_JUMP", "x"], [None, "I_LOOK ", "y"]]
    assert quality.exact_match(["I_WALK I_RUN", "I_LOOK", "z"], references) == 2 / 3
    assert quality.exact_match(["I_WALK  I_RUN", "i_jump", ""], references) == 0


@pytest.mark.parametrize(
    "text", ["\u09ac\u09be\u09dc\u09bf ", "\u0958\u0932\u092e ", "Tiếng Việt "]
)
def test_spelling_in_unicode_makes_no_difference(text: str) -> None:
    """Models write NFC, whatever the form of a reference: NFD, or letters that NFC takes apart."""
    text *= 4
    for spelled in (text, normalize("NFD", text)):
        sides = [normalize("NFC", text)] * 2, [[spelled, None], [None, spelled]]
        quality = score_quality(*sides, target_lang="vi")
        assert quality.exact_match == 1 and quality["TER"].value == 0
        assert min(each.value for each in quality.scores[:3]) > 99.99
        assert score_each(*sides)[0]["chrF2"] > 99.99
        assert compare_systems(*sides[:1], *sides, samples=3).differences[1].ours > 99.99


def test_spaces_that_cannot_be_seen_do_not_count() -> None:
    """Khmer has U+200B between words in some texts, and in others not."""
    with_them, without = "ខ្ញុំ\u200bចូលចិត្ត\u200bផ្លែ\ufeffប៉ោម", "ខ្ញុំចូលចិត្តផ្លែប៉ោម"
    for sides in (([with_them], [[without]]), ([without], [[with_them]])):
        quality = score_quality(*sides, target_lang="km")
        assert quality.exact_match == 1 and min(each.value for each in quality.scores) > 99.99
        assert all("|zwsp:no|version:" in each.signature for each in quality.scores)
        assert score_each(*sides, target_lang="khm")[0]["chrF2"] > 99.99
        [one, *_] = compare_systems(sides[0], *sides, target_lang="km", samples=3).differences
        assert one.ours > 99.99 and "|zwsp:no|" in one.signature
    assert "zwsp" not in score_quality(["a"], [["a"]], target_lang="vi")["BLEU"].signature


@pytest.mark.parametrize("language", ["km", "lao", "th", "my_MM", "bo"])
def test_no_ter_where_a_line_is_one_word(language: str) -> None:
    assert [each.name for each in score_quality(["ab"], [["ac"]], target_lang=language).scores] == [
        "BLEU",
        "chrF2",
        "chrF++",
    ]
    [scores] = score_each(["ab"], [["ac"]], target_lang=language)
    assert [*scores] == ["chrF2", "BLEU"]
    sentence = SystemSentence("a", "ab", scores)
    row = write_table([SentenceResult(1, "x", ("ac",), (sentence,))]).splitlines()[1]
    assert row.split("\t")[3] == ""
    compared = compare_systems(
        ["ab"], ["ab"], [["ac"]], target_lang=language, metrics=quality.METRICS, samples=3
    )
    assert "TER" not in [each.name for each in compared.differences]


def test_text_that_looks_cut_into_tokens_is_scored_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    score_quality([CAT] * 100, [[CAT] * 100], metrics=("BLEU",))
    assert not caplog.records


def test_text_and_json_agree() -> None:
    found = score_quality([CAT, "a dog ."], [[CAT, "the dog ."]], target_lang="en", literature=True)
    text, back = str(found), json.loads(json.dumps(found.to_json()))
    assert list(back["scores"]) == [*quality.METRICS, "literature BLEU"]
    assert back["sentences"] == 2 and back["exact_match"] == 0.5
    for name, entry in back["scores"].items():
        assert entry["value"] == found[name].value
        [line] = [line for line in text.splitlines() if line.startswith(name + " ")]
        assert f" {entry['value']:.2f} " in line and line.endswith(entry["signature"])
    assert " ".join(text.splitlines()[-1].split()) == "exact match 50.00 % of 2 sentences"
