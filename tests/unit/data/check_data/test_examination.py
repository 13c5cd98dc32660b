"""What is found in a corpus, and what is left of it when it is mended."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

from glassformer.extensions.check_data import Report, check_kinds, examine, fix, realign
from glassformer.extensions.check_data.characters import count_scripts
from glassformer.extensions.check_data.languages import SideLanguage, identify, leave_own
from glassformer.extensions.check_data.lengths import find_outliers
from glassformer.extensions.check_data.ragged import Block
from glassformer.extensions.check_data.report import CHECKS
from glassformer.extensions.check_data.words import split_words
from glassformer.text.function_words import NAMES, WORDS
from tools.demo_corpus import pairs

COUNT = 2000


@pytest.fixture(scope="module")
def clean() -> tuple[list[str], list[str]]:
    source, target = zip(*pairs("en", "fr", COUNT, 5), strict=True)
    return list(source), list(target)


def _places(report: Report, kind: str) -> list[int]:
    found = report[kind]
    return [] if found is None else found.places.tolist()


def test_a_clean_corpus(clean: tuple[list[str], list[str]]) -> None:
    report = examine(*clean, source_lang="en", target_lang="fr")
    assert report.languages == ("en", "fr") and report.pairs == COUNT
    assert sum(each.count for each in report.findings if each.kind != "near-duplicate") < 20


@pytest.mark.parametrize("count", [120, COUNT])
def test_sides_in_different_orders(clean: tuple[list[str], list[str]], count: int) -> None:
    source, target = (side[:count] for side in clean)
    shuffled = Random(4).sample(target, count)
    for thorough in (False, True):
        assert examine(source, target, thorough=thorough)["unrelated"] is None
        report = examine(source, shuffled, thorough=thorough)
        assert _places(report, "unrelated") == list(range(count))
        assert report["misaligned"] is None and report["unrelated"].is_serious
        warnings = [each for each in report.warnings() if "do not belong together" in each]
        assert len(warnings) == 1
    assert examine(source, sorted(target), thorough=False)["unrelated"] is not None


def test_a_lost_first_line_is_noticed_quickly_and_placed_thoroughly(
    clean: tuple[list[str], list[str]],
) -> None:
    source, target = clean[0][1:], clean[1][:-1]
    assert examine(source, target, thorough=False)["unrelated"] is not None
    report = examine(source, target)
    assert report["unrelated"] is None and len(_places(report, "misaligned")) > 0.9 * COUNT


def test_lines_are_put_beside_their_partners(clean: tuple[list[str], list[str]]) -> None:
    source, target = clean
    source = source[:700] + source[702:]  # two lines lost here, three there, one added
    target = [*target[:300], *target[303:1000], "Une ligne de trop.", *target[1000:]]
    report = examine(source, target)
    assert len(report.misalignments) == 3
    ours, theirs = map(list, realign(source, target, report))
    right = {*zip(*clean, strict=True)}
    wrong = sum(pair not in right for pair in zip(ours, theirs, strict=True))
    assert wrong <= 4 and len(ours) > COUNT - 15
    assert examine(ours, theirs)["misaligned"] is None


def test_equal_lengths_and_few_pairs_say_nothing(clean: tuple[list[str], list[str]]) -> None:
    numbers = [f"{n:04}" for n in range(200)]
    assert examine(numbers, numbers[::-1], thorough=False)["unrelated"] is None
    few = clean[0][:99], Random(4).sample(clean[1][:99], 99)
    assert examine(*few, thorough=False)["unrelated"] is None


def test_the_app_has_a_text_for_each_kind() -> None:
    table = json.loads(Path("web/src/own/messages.json").read_text("utf-8"))
    assert set(table["kinds"]) == set(CHECKS)


def test_each_kind_is_found_in_its_line(clean: tuple[list[str], list[str]]) -> None:
    source, target = map(list, clean)
    source[10], target[10] = source[3], target[3]
    source[20], target[20] = source[4].upper() + "!!", target[4].lower()
    target[30] = ""
    source[40] = target[40] = "The old horse sleeps in the garden."
    target[50] = "Кошка спит на ковре."
    target[60] = target[60].replace("e", "Ã©", 1)
    source[70] = source[70].replace("a", "\u0430", 1).replace("o", "\u043e")
    target[80] = "Oui. " * 40
    target[90] = "Der Hund und die Katze sind nicht in dem Haus, aber ich bin auch hier."
    for line in range(100, 140):
        source[line], target[line] = target[line], source[line]
    source[170], target[170] = (" ".join(side[200:320]) for side in (source, target))
    held_out = {"test": (["x", source[150].upper()], ["y", "z"]), "dev": (["y"], [target[160]])}
    report = examine(source, target, held_out=held_out, thorough=False)
    found = {kind: _places(report, kind) for kind in CHECKS}
    assert 10 in found["duplicate"] and 3 not in found["duplicate"]
    assert 20 in found["near-duplicate"]
    assert found["empty"] == [30]
    assert found["copy"] == [40]
    assert found["script"] == [50]
    assert found["encoding"] == [60]
    assert found["look-alike"] == [70]
    assert 80 in found["length"]
    assert found["long"] == [170]
    assert 90 in found["language"]
    assert len(set(found["swapped"]) & set(range(100, 140))) >= 35
    assert not set(found["swapped"]) - set(range(100, 140))
    assert {150, 160} <= set(found["leak"])
    assert not found["misaligned"] and not found["mismatch"] and not report.thorough


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (("fr", "en"), None),
        ((None, None), None),
        (("xx", "qqq"), None),
        (("fr", "fra"), "the target looks English, not French"),
        (("fr", "fr-CA"), "the target looks English, not French"),
        (
            ("en", "fr"),
            "the source looks French, not English; the target looks English, not French",
        ),
        (("fr", "de"), "the target looks English, not German"),
    ],
)
def test_languages_are_those_that_were_said(
    clean: tuple[list[str], list[str]], codes: tuple[str | None, str | None], said: str | None
) -> None:
    source, target = (side[:500] for side in clean)
    report = examine(target, source, source_lang=codes[0], target_lang=codes[1], thorough=False)
    assert (report["sides"] and report["sides"].note) == said
    assert len(_places(report, "sides")) == (500 if said else 0)


@pytest.mark.parametrize(
    ("codes", "is_seen"),
    [
        (("ka", "en"), True),
        (("kat", "eng"), True),
        (("xx", "en"), True),
        ((None, "en"), True),
        (("en", "ka"), False),
        (("ru", "ka"), False),  # in Latin letters
        (("ka", "xx"), False),
        (("ru", "xx"), False),
        (("chr", "chr-Latn"), False),
    ],
)
def test_exchanged_sides_are_seen_by_their_scripts(
    codes: tuple[str | None, str | None], is_seen: bool
) -> None:
    source = ["The NATO meeting was long.", "He came home.", "What did she say?"] * 20
    target = ["NATO-ს შეხვედრა გრძელი იყო.", "ის სახლში მოვიდა.", "რა თქვა მან?"] * 20
    source[::5] = target[::5]  # left as they were
    report = examine(source, target, source_lang=codes[0], target_lang=codes[1], thorough=False)
    found = report["sides"]
    assert bool(found) == is_seen
    assert not found or found.note.count(" looks ") == 2


def test_a_corpus_in_both_directions_is_not_exchanged() -> None:
    """Nor is one in Latin letters with a few lines of another script."""
    georgian = ["ის სახლში მოვიდა.", "რა თქვა მან?"] * 20
    english = ["He came home.", "What did she say?"] * 20
    both = georgian[:25] + english[25:], english[:25] + georgian[25:]
    few = [*georgian[:4], *english], [*english[:4], *english]
    for sides in (both, few):
        assert not examine(*sides, source_lang="en", target_lang="ka", thorough=False)["sides"]


def test_what_a_terminal_must_not_get_is_spelt_out() -> None:
    lines = ["\x1b[31mred", "half \ud800", "\u202eback", "fine\tas it is"]
    shown = str(examine(lines, ["a"] * 4)).encode("utf-8").decode()
    assert "\\u001b[31mred" in shown and "half \\ud800" in shown and "\x1b" not in shown


def test_unequal_and_empty_sides() -> None:
    with pytest.raises(ValueError, match="the source has 2 lines but the target has 1:"):
        examine(["a", "b"], ["c"])
    with pytest.raises(ValueError, match="the target: the file is empty"):
        examine(["a", "b"], [])


@pytest.mark.parametrize(
    "pair", [("a", "b"), ("", ""), ("\ud800", "\x00"), ("1", "..."), ("我", "x")]
)
def test_the_smallest_corpora(pair: tuple[str, str]) -> None:
    for count in (1, 2, 5):
        report = examine([pair[0]] * count, [pair[1]] * count)
        assert len(_places(report, "duplicate")) == count - 1
        assert all(np.isfinite(each.share) for each in report.findings)


def test_a_report_for_people_and_for_programs(clean: tuple[list[str], list[str]]) -> None:
    source, target = map(list, clean)
    source[7] = ""
    report = examine(source, target, thorough=False)
    assert "empty: 1 pair (0.05 %): an empty side\n  lines 8\n" in str(report)
    assert report.warnings() == []
    source[11] = target[11] = "The same on both sides."
    warning = f"1 of 2,000 pairs, from line 12 on: {CHECKS['copy'].meaning}"
    assert warning in examine(source, target, thorough=False).warnings()
    found = json.loads(json.dumps(report.to_json()))
    empty = next(each for each in found["findings"] if each["kind"] == "empty")
    assert (empty["count"], empty["share"], empty["lines"]) == (1, 1 / COUNT, [8])
    assert empty["examples"] == [{"line": 8, "source": "", "target": target[7], "note": ""}]


def test_mended_pairs(clean: tuple[list[str], list[str]]) -> None:
    source, target = map(list, clean)
    for line in range(100, 130):
        source[line], target[line] = target[line], source[line]
    source[5] = ""
    target[6] += "\ufffd"
    target[7] = "L\u00c3\u00a9a" + target[7]
    source[8] = source[8] + " c\u0430pital"
    report = examine(source, target)
    mended = list(fix(source, target, report))
    lost = {place for kind in ("empty", "duplicate", "language") for place in _places(report, kind)}
    assert len(mended) == COUNT - len(lost | {6})
    assert clean[1][7] not in dict(mended) and ("Léa" + clean[1][7]) in {each[1] for each in mended}
    assert any(each[0].endswith(" capital") for each in mended)
    swapped = _places(report, "swapped")
    assert len(swapped) > 25
    kept = set(mended)
    assert all((clean[0][place], clean[1][place]) in kept for place in swapped if place not in lost)
    again = examine(*zip(*mended, strict=True))
    assert not {each.kind for each in again.findings} & {
        "empty",
        "duplicate",
        "encoding",
        "look-alike",
        "swapped",
    }


def test_kinds_are_named_one_by_one_or_together() -> None:
    sure = {kind for kind, check in CHECKS.items() if not check.is_guess}
    assert check_kinds(["empty", "length"]) == {"empty", "length"}
    assert check_kinds(["sure"]) == sure and check_kinds(["sure", "length"]) == sure | {"length"}
    assert check_kinds(["all"]) == {*CHECKS} > sure
    assert check_kinds([]) == frozenset()
    with pytest.raises(ValueError, match="no kind of finding 'emty'; there are all, sure, "):
        check_kinds(["emty"])


def _language(texts: list[str], named: str | None = None) -> SideLanguage:
    block = Block(texts)
    return SideLanguage(texts, split_words(block), count_scripts(block), named)


def _find_others(language: SideLanguage, block: Block) -> dict[int, str]:
    """Return the lines in another language, beside partners that have none of their words."""
    return language.find_others(block, split_words(block), [[]] * block.size)


@pytest.mark.parametrize("code", sorted(WORDS))
def test_a_language_is_known_by_its_function_words(code: str) -> None:
    random = Random(4)
    words = [random.choices(sorted(WORDS[code]), k=6) for _ in range(300)]
    block = Block([" ".join(line) for line in words])
    assert identify(words, count_scripts(block)) == code


def test_languages_known_by_their_script() -> None:
    for text, code in (
        ("我喜欢学习。", "zh"),
        ("これは本です。", "ja"),
        ("안녕하세요", "ko"),
        ("Καλημέρα", "el"),
        ("שלום", "he"),
        ("สวัสดี", "th"),
        ("123", None),
        ("Zxq vbn", None),
    ):
        assert _language([text] * 5).code == code
    assert {*WORDS, "ja", "ko", "zh", "he", "th", "el"} == NAMES.keys()


def test_a_language_without_a_list_learns_its_own_words() -> None:
    """What is common in it is not taken for another language's, though that has the word too."""
    random = Random(6)
    common = ["en", "de", "le", "ka", "mu", "to", "ri"]
    texts = [" ".join(random.sample(common, 4)) + f" w{random.random()}" for _ in range(500)]
    language = _language(texts)
    block = Block(texts)
    assert _find_others(language, block) == {}


def test_a_language_is_no_other_one_for_two_common_words() -> None:
    """Many languages have an "e" or a "di", and some lines of them nothing else of Italian."""
    random = Random(8)
    words = [f"{a}{b}{c}" for a in "mwny" for b in "aou" for c in ("ku", "zi", "tha", "mbe")]
    texts = [" ".join([*random.choices(words, k=6), "e", "di"]) for _ in range(400)]
    assert _language(texts).code is None


def test_a_language_that_was_named_and_has_no_list_is_no_other_one(
    clean: tuple[list[str], list[str]],
) -> None:
    """Such as Nigerian Pidgin, most of whose words are English."""
    for named, code in (("pcm", None), ("hau-NG", None), ("en-GB", "en"), (None, "en")):
        assert _language(clean[0][:300], named).code == code


def test_words_that_both_sides_have_do_not_tell_the_language() -> None:
    line = ["na", "Bank", "of", "England", "and", "The", "Times"]
    partner = ["of", "the", "Bank", "of", "England"]
    assert leave_own(line, partner) == ["na", "and", "The", "Times"]
    assert leave_own(line, [*line[1:], "too"]) == line, "a copy but for a word"
    assert leave_own([], partner) == []


def test_a_title_in_the_other_language_is_no_foreign_line(
    clean: tuple[list[str], list[str]],
) -> None:
    title = "The Song of the Cat and the Dog"
    lines = [
        (f"My sister reads {title} to her children.", f"Ma sœur lit {title} à ses enfants."),
        ("My sister reads a book to her children.", f"So he said of {title} to my sister."),
    ]
    ours, theirs = zip(*lines, strict=True)
    report = examine([*clean[0][:500], *ours], [*clean[1][:500], *theirs], thorough=False)
    assert _places(report, "language") == [501]


def test_short_lines_may_be_the_same_in_close_languages() -> None:
    """Of whose words two thirds are the same; a long line that is the same is a copy."""
    random = Random(5)
    words = [f"{a}{b}" for a in ("pan", "kol", "mir", "tes", "dov") for b in ("ati", "uje", "ova")]
    source = [" ".join(random.choices(words, k=6)) for _ in range(300)]
    target = [line.replace("ati", "ata") for line in source]
    short, long = "mirova tesuje", " ".join(words[1::3] * 3)
    report = examine([*source, short, long], [*target, short, long], thorough=False)
    assert 301 in _places(report, "copy") and 300 not in _places(report, "copy")


@pytest.mark.parametrize("count", [3, 40])
def test_lines_of_another_language_are_named(
    clean: tuple[list[str], list[str]], count: int
) -> None:
    """By their function words; if there are thirty and more, by letters learned from them."""
    random = Random(7)
    words = sorted(WORDS["de"] - WORDS["fr"])
    german = [" ".join(random.sample(words, 5)) for _ in range(count)]
    texts = [*clean[1][:600], *german]
    language, block = _language(texts), Block(texts)
    found = _find_others(language, block)
    assert {*found.values()} == {"de"} and min(found) >= 600
    assert len(found) == 3 if count == 3 else len(found) > 25


@pytest.mark.parametrize(("beside", "is_strange"), [(0.55, False), (0.25, True)])
def test_a_word_that_is_often_beside_own_words_is_an_own_word(
    beside: float, is_strange: bool
) -> None:
    """Two fifths of its lines decide whether a function word of another language is strange."""
    random, common = Random(3), [f"ka{n}" for n in range(20)]
    own = [" ".join(random.sample(common, 5)) for _ in range(900)]
    pairs = ["nicht und ka1" if n < 20 * beside else "nicht und zu" for n in range(20)]
    language, block = _language(own + pairs), Block(["nicht und zo"])
    assert (_find_others(language, block) == {0: "de"}) == is_strange


def test_outliers_of_length() -> None:
    random = Random(3)
    source = np.array([random.randint(5, 200) for _ in range(3000)])
    target = (source * np.exp([random.gauss(0.1, 0.1) for _ in source])).astype(int)
    assert find_outliers(source, target).tolist() == []
    target[17], target[1700] = 6 * source[17] + 30, source[1700] // 8
    assert set(find_outliers(source, target).tolist()) == {17, 1700}
    assert find_outliers(np.zeros(3, int), np.zeros(3, int)).tolist() == []
