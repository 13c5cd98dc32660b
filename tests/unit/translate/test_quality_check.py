"""What looks wrong is found, what is right is left alone, and the better of two tries taken."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from glassformer.config import Config, Decode
from glassformer.text.number_words import is_spelled_out
from glassformer.translate.checking import Checker, join_checked
from glassformer.translate.options import SearchOptions
from glassformer.translate.quality_check import (
    CAPS,
    count_repeats,
    find_problems,
    list_lost,
    measure_text,
)
from glassformer.translate.sentence import CheckedTranslation, Sentence, Translation


def translation(text: str, *, finished: bool = True, log_prob: float = -1.0) -> Translation:
    return Translation(text, [text], log_prob, log_prob, [log_prob / 2] * 2, finished, [])


def kinds(source: str, target: str, **how: bool) -> list[str]:
    return [each.kind for each in find_problems(source, translation(target, **how))]


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("The cat sat.", "", ["empty"]),
        ("The cat sat.", "  ", ["empty"]),
        ("...", "", []),
        ("", "", []),
        ("Good evening.", "Guten guten guten guten guten Abend.", ["loop"]),
        ("我喜欢猫。", "I like I like I like I like cats.", ["loop"]),
        ("He said hello to us all.", "他说你好你好你好你好你好你好你好你好。", ["loop"]),
        ("No, no, no, no, no, no!", "Nein, nein, nein, nein, nein, nein!", []),
        ("One. ............", "Eins. ............", []),
        ("The dog sees the old cat.", "The dog sees the old cat.", ["copy"]),
        ("Anna Maria Schmidt", "Anna Maria Schmidt", []),
        ("The dog sees the old cat.", "Der Hund sieht die alte Katze.", []),
        ("It is a very long way from here to the next town.", "Es.", ["short"]),
        ("Yes.", "Ja, das ist eine sehr gute Frage, die man nicht stellt.", ["long"]),
        ("我们明天早上八点在车站见面吧", "Let us meet at the station tomorrow at eight.", []),
        ("Meet us at the station tomorrow morning at eight.", "明早八点车站见。", []),
        ("It costs 1,250.50 dollars.", "Es kostet 1.250,50 Dollar.", []),
        ("It costs 1250 dollars.", "Es kostet 1520 Dollar.", ["lost"]),
        ("In 2020, 20 people came.", "Im Jahr 2020 kamen Leute.", ["lost"]),
        ("It has 1250000 people.", "Es hat 1 250 000 Einwohner.", []),
        ("It has 1,250,000 people.", "Es hat 1250000 Einwohner.", []),
        ("I have 2 cats.", "Ich habe zwei Katzen.", []),
        ("On 12/31/2020 it ended.", "Am 31.12.2020 endete es.", []),
        ("See https://x.org/a?b=1.", "Siehe https://x.org/a?b=1.", []),
        ("See https://x.org/a?b=1.", "Siehe https://x.org/a.", ["lost"]),
        ("Hello {name}, <b>%d</b> new", "Hallo {name}, <b>%d</b> neue", []),
        ("Hello {name}, you have %d", "Hallo Name, du hast %d", ["lost"]),
        ("Write to a.b@c.org", "Schreib an a.b@c.org", []),
        ("١٢٣٤ people", "1234 Menschen", []),
    ],
)
def test_problems(source: str, target: str, found: list[str]) -> None:
    assert kinds(source, target) == found


def test_what_was_cut_says_so() -> None:
    assert kinds("The cat.", "Die Katze", finished=False) == ["cut"]


def test_lost_names_what_is_lost() -> None:
    assert list_lost("2021 and 1999, {x} {x}", "2021, {x}") == ["{x}", "1999"]
    assert list_lost("%sをme@x.orgへ", "to me@x.org") == ["%s"]
    assert list_lost("http://x.org/aを見る", "see http://x.org/a") == []


@pytest.mark.parametrize(
    ("source", "language", "target"),
    [
        ("Platform 12.", "fr", "Quai douze."),
        ("At 12 o'clock.", "fr", "À midi."),
        ("I have 1 cat.", "fr", "Je n'ai qu'un chat."),
        ("I have 1 cat.", "de-AT", "Ich sehe einen Kater."),
        ("The 5th floor.", "de", "Der fünfte Stock."),
        ("The 16th century.", "fr", "Le XVIe siècle."),
        ("At 8 p.m. or 8:00.", "fr", "À 20 h."),
        ("At 6 p.m.", "fr", "À dix-huit heures."),
        ("At 2:30.", "fr", "À 02h30."),
        ("On 7/12/1941.", "en", "On December 7, 1941."),
        ("Mam 2 koty.", "en", "I have two cats."),
        ("I have 2 cats.", "pl", "Mam dwa koty."),
        ("I have 7 cats.", "es", "Tengo siete gatos."),
        ("I have 3 cats.", "it", "Ho tre gatti."),
        ("I have 2 cats.", "pt_BR", "Eu tenho duas gatas."),
        ("I have 2 cats.", "nl", "Ik heb twee katten."),
        ("I have 2 cats.", "zh", "我有两只猫。"),
        ("4万个词条。", "en", "It has 40,000 entries."),
        ("I am 19.", "en", "I am nineteen."),
    ],
)
def test_a_small_number_may_be_spelled_out(source: str, language: str, target: str) -> None:
    assert list_lost(source, target, language) == []


@pytest.mark.parametrize(
    ("source", "language", "target", "lost"),
    [
        ("Platform 12.", "fr", "Le quai.", ["12"]),
        ("Bus 5 leaves.", "fr", "Le bus part.", ["5"]),
        ("Bus 5 leaves.", "fr", "Le bus six part.", ["5"]),
        ("Room 7 and 8.", "de", "Zimmer sieben.", ["8"]),
        ("Room 0.", "en", "A room.", ["0"]),
        ("Room 10.", "en", "A tent.", ["10"]),
        ("Bus 2.", "zh", "公共汽车。", ["2"]),
        ("Bus 1.", "en", "Buses.", ["1"]),
        ("The cat has 1 file.", "fr", "Le chat a treize ans.", ["1"]),
        ("1 file", "fr", "fichier 13", ["1"]),
        ("Bus 5 leaves.", "xx", "Bas.", []),
        ("Bus 5 leaves.", None, "Le bus part.", []),
        ("Bus 13 leaves.", None, "Le bus part.", ["13"]),
    ],
)
def test_a_small_number_is_lost_where_neither_digits_nor_words_stand(
    source: str, language: str | None, target: str, lost: list[str]
) -> None:
    assert list_lost(source, target, language) == lost


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "it", "nl", "pl", "pt", "zh"])
def test_each_number_up_to_twenty_has_words(language: str) -> None:
    """None of them is in a text of another script; the next number is in no table."""
    assert [is_spelled_out(number, "Ωμέγα", language) for number in range(21)] == [False] * 21
    assert is_spelled_out(21, "", language) is None


def test_the_language_of_the_translations_is_that_of_the_model() -> None:
    careful, greedy = [translation("Le bus cinq part.", log_prob=-9.0)], Decode(search="greedy")
    (found,) = check(FakeWriter(careful, "fr"), ["Bus 5"], greedy)
    assert found.retried and found.best[0].text == "Le bus cinq part." and not found.problems
    (found,) = check(FakeWriter(careful), ["Bus 5"], greedy)
    assert not found.retried and not found.problems


@pytest.mark.parametrize(
    "unit", ["ab", "eht ", "the cat and ", "abcdefghijklmnopqrstuvwxyz 0123456789 "]
)
@pytest.mark.parametrize("times", [3, 9])
def test_repeats_are_counted(unit: str, times: int) -> None:
    counted = count_repeats(f"begin {unit * times} end")
    assert counted == (times if len(unit) * times >= 12 else 1)
    assert count_repeats(f"begin {unit * 2} end") == 1


@pytest.mark.parametrize("more", [0, 1, 2])
@pytest.mark.parametrize("times", [1, 3, 4])
def test_a_loop_is_two_repeats_more_than_in_the_source(times: int, more: int) -> None:
    """A translation may repeat what its source repeats, and once more."""
    source = f"He said {'hello, ' * times}and left."
    target = f"Er sagte {'hallo, ' * (times + more)}und ging."
    counted = [count_repeats(each) for each in (source, target)]
    assert counted == [n if n > 2 else 1 for n in (times, times + more)]
    assert kinds(source, target) == (["loop"] if counted[1] > counted[0] + 1 else [])


def test_length_counts_letters() -> None:
    assert (measure_text("a b\nc"), measure_text("猫"), measure_text("")) == (3, 3, 0)


def test_confidence_is_capped_by_problems() -> None:
    assert judge("The cat.", translation("Die Katze.")).confidence == pytest.approx(0.6065)
    looping = judge("Hi.", translation("ja " * 20))
    assert looping.confidence == CAPS["loop"] and looping.problems[0].kind == "loop"


class FakeWriter:
    """Loops, unless asked for more than a greedy search."""

    def __init__(self, careful: list[Translation], target_lang: str | None = None) -> None:
        self.careful, self.asked = careful, list[tuple[list[str], Decode, int]]()
        self.searcher, self.folder = self, None
        self.config = Config.model_validate({"data": {"target_lang": target_lang}})
        self.tokenizers = SimpleNamespace(source=SimpleNamespace(find_unknown=lambda text: []))

    def translate(self, sentences: list[Sentence], options: SearchOptions) -> list[Sentence]:
        texts = [each.text for each in sentences]
        self.asked.append((texts, options.decode, options.n_best))
        if options.decode.search != "greedy":
            return [each._replace(translations=self.careful) for each in sentences]
        ways = [[translation("ja " * 20 if "loop" in text else "gut")] for text in texts]
        return [each._replace(translations=way) for each, way in zip(sentences, ways, strict=True)]


def check(
    writer: FakeWriter, texts: list[str], decode: Decode, again: bool = True
) -> list[CheckedTranslation]:
    options = SearchOptions(decode, again=again)
    sentences = [Sentence(text, line, 0, (0, len(text))) for line, text in enumerate(texts)]
    checked = Checker(writer).translate(sentences, options)  # type: ignore[arg-type]
    return [join_checked(text, [each], options) for text, each in zip(texts, checked, strict=True)]


def judge(source: str, best: Translation) -> CheckedTranslation:
    sentence = Sentence(source, span=(0, len(source)), translations=[best])
    checker = Checker(FakeWriter([]))  # type: ignore[arg-type]
    return join_checked(source, [checker.check(sentence)], SearchOptions(Decode()))


def test_a_loop_is_searched_for_again_and_the_better_is_taken() -> None:
    good = translation("Ja, gut.", log_prob=-9.0)
    writer = FakeWriter([translation("nein " * 20), good, translation("Ja")])
    texts = ["fine", "a loop", "fine too"]
    found = check(writer, texts, Decode(search="greedy"))
    assert [each.best[0].text for each in found] == ["gut", "Ja, gut.", "gut"]
    assert [each.retried for each in found] == [False, True, False]
    (_, (again, safer, n_best)) = writer.asked
    assert again == ["a loop"] and (safer.search, safer.no_repeat_ngram_size, n_best) == (
        "beam",
        3,
        5,
    )


def test_what_is_no_better_is_not_taken() -> None:
    writer = FakeWriter([translation("nein " * 20)])
    (found,) = check(writer, ["a loop"], Decode(search="greedy"))
    assert found.best[0].text.startswith("ja") and not found.retried


def test_sampling_and_n_best_are_judged_and_left_alone() -> None:
    for decode, again in ((Decode(search="sample"), True), (Decode(search="greedy"), False)):
        writer = FakeWriter([translation("nein " * 20)])
        (found,) = check(writer, ["loop"], decode, again=again)
        assert len(writer.asked) == 1 and found.problems
    assert found._replace(retried=True).to_json()["retried"] is True
