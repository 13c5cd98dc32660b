"""Symbols that a model does not know are no part of a sentence, and are kept in its translation."""

from __future__ import annotations

from typing import Any, cast

import pytest
from damage.growth import is_linear
from tests.checked import translate_checked

from glassformer.see.sentences import choose_sentence, translate_whole
from glassformer.text.sentence_rules import find_list_labels
from glassformer.text.sentences import cut_spans
from glassformer.text.spacing import join_sentences
from glassformer.text.symbols import (
    find_moved_marks,
    is_new_emoticon,
    set_aside,
    split_at_separators,
    split_behind_faces,
    strip_symbols,
)
from glassformer.translate.align.symbols import _Placement
from glassformer.translate.options import choose_options
from glassformer.translator import Translator

FAMILY, FLAG, SCOTLAND = (
    "👨‍👩‍👧‍👦",
    "🇫🇷",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
)


@pytest.fixture(scope="module")
def everyday() -> Translator:
    return Translator.load("everyday-en-fr", device="cpu")


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("🙂 A cat 🎉!", "A cat"),
        ("A cat 🎉", "A cat"),
        ("A cat! 🎉", "A cat!"),
        ("A cat 🎉! 🙂", "A cat"),
        ("A cat👍🏽.", "A cat"),
        (f"{FAMILY} {FLAG}{SCOTLAND} A cat {FAMILY}?!", "A cat"),
        ("1️⃣ A cat #️⃣", "A cat"),
        ("→ A cat ★★★ ✓", "A cat"),
        ("I ❤️ cats.", "I ❤️ cats."),
        ("A 🎉, b", "A 🎉, b"),
        ("1 cat", "1 cat"),
        ("It is 20 °C, ≥ 5 ©", "It is 20 °C, ≥ 5 ©"),
        ("① A cat", "① A cat"),
        ("🙂 🙂  A cat  🎉 🎉 !", "A cat"),
        ("A cat 🎉!!!!", "A cat 🎉!!!!"),
    ],
)
def test_symbols_at_the_edges_are_left_out(text: str, bare: str) -> None:
    assert text[slice(*strip_symbols(text, lambda run: True))] == bare
    assert strip_symbols(text, lambda run: False) == (0, len(text))


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("1) Open the box.", "Open the box."),
        ("2. Open the box.", "Open the box."),
        ("(iv) Open the box.", "Open the box."),
        ("b) 🎉 Open the box.", "Open the box."),
        ("- Open the box.", "Open the box."),
        ("• Open the box.", "Open the box."),
        ("2.3.1 Open the box.", "Open the box."),
        ("2. may is late.", "2. may is late."),
        ("12.5 kg is a lot.", "12.5 kg is a lot."),
        ("3 cats sleep.", "3 cats sleep."),
        ("-5 is cold.", "-5 is cold."),
        ("A. Smith sleeps.", "A. Smith sleeps."),
        ("I am (a) cat.", "I am (a) cat."),
        ("1)", "1)"),
        ("Re: the open box", "the open box"),
        ("Fwd: RE: FW : Hello", "Hello"),
        ("Read: it is open.", "Read: it is open."),
        ("Re:", "Re:"),
    ],
)
def test_the_label_of_a_line_is_left_out(text: str, bare: str) -> None:
    labels = find_list_labels("en")
    assert text[slice(*strip_symbols(text, lambda run: True, labels))] == bare
    assert strip_symbols(text, lambda run: False) == (0, len(text))


def test_an_ordinal_is_no_label(everyday: Translator) -> None:
    text = "2. Mai ist spät."
    assert strip_symbols(text, lambda run: True, find_list_labels("de")) == (0, len(text))
    assert everyday.translate("1) She sings. 2) He sleeps.") == "1) Elle chante. 2) Il dort."


@pytest.mark.parametrize("text", ["🙂", f"{FAMILY}{FLAG} 👍🏽", "1️⃣", "🎉! 🎉!"])
def test_nothing_but_symbols_stays_as_it_is(everyday: Translator, text: str) -> None:
    assert everyday.reader.split(text) == [] and everyday.translate(text) == text
    assert choose_sentence(everyday, text, 0).text == text


def test_marks_are_translated_with_the_sentence_and_written_once() -> None:
    text, spans = "A 🙂! B 🎉?! 🙂", [(0, 1), (5, 6)]
    assert cut_spans(text, spans) == ["A!", "B?!"]
    joined, places = join_sentences(text, spans, ["Un !", "Deux ?!"])
    assert joined == "Un ! 🙂 Deux ?! 🎉 🙂"
    assert [joined[slice(*place)] for place in places] == ["Un !", "Deux ?!"]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("A! 🙂!", [(0, 2)]),
        ("A, b", [(0, 1)]),
        ("A 🙂!", [(0, 1), (2, 4)]),  # parts of a long sentence
        ("A 🙂", [(0, 1)]),
        ("", []),
    ],
)
def test_other_marks_stay(text: str, spans: list[tuple[int, int]]) -> None:
    assert all(start == end for start, end in find_moved_marks(text, spans))


@pytest.mark.parametrize(
    ("text", "bare", "lead", "trail"),
    [
        ("🙂 I am happy 🎉!", "I am happy!", "🙂 ", " 🎉"),
        ("I am happy! 👍🏽", "I am happy!", "", " 👍🏽"),
        (f"{FAMILY}{FLAG} Thank you.", "Thank you.", f"{FAMILY}{FLAG} ", ""),
        ("1️⃣ Wash your hands.", "Wash your hands.", "1️⃣ ", ""),
        ("★★★ It is very good →", "It is very good", "★★★ ", " →"),
    ],
)
def test_a_sentence_is_translated_as_without_symbols(
    everyday: Translator, text: str, bare: str, lead: str, trail: str
) -> None:
    said = everyday.translate(bare)
    (judged,) = translate_checked(everyday, [text])
    best = judged.best[0]
    (part,) = best.parts
    assert best.text == f"{lead}{said}{trail}" and not judged.problems
    assert best.text[slice(*part.target)] == said
    assert text[slice(*part.source)] == bare.removesuffix("!") + "!" * ("! " in text)
    excerpt = choose_sentence(everyday, text, 0)
    assert excerpt.text == bare
    whole = translate_whole(
        everyday, text, excerpt, (said, said), choose_options(everyday.config.decode)
    )
    assert whole and (whole.text, whole.translation) == (text, best.text)


def test_each_sentence_has_its_symbols(everyday: Translator) -> None:
    found = everyday.translate("I am happy 🎉! 🙂 You are sad. 😢")
    happy, sad = everyday.translate(["I am happy!", "You are sad."])
    assert found == f"{happy} 🎉 🙂 {sad} 😢"


def test_a_long_sentence_is_measured_without_its_symbols(everyday: Translator) -> None:
    text = "I am happy " + "🎉" * 300 + "!"
    assert everyday.reader.split(text) == [(0, 10)]
    many = "🙂 " + "I am very happy, " * 200 + "you are sad 🎉!!!"
    sentences = cut_spans(many, everyday.reader.split(many))
    assert len(sentences) > 1 and sentences[-1].endswith("!!!")
    assert (
        max(len(everyday.reader.tokenize(each).ids) for each in sentences) < everyday.reader.longest
    )
    assert not any("🙂" in each or "🎉" in each for each in sentences)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("I love 🍕 and pasta.", "I love and pasta."),
        ("Pizza 🍕, cheese🧀, and wine 🍷.", "Pizza, cheese, and wine."),
        ("Paris❤last summer (🇫🇷).", "Paris last summer."),
        (f"My {FAMILY} family{SCOTLAND} 1️⃣ here", "My family here"),
        ("« 🍕 » et « vin 🍷 »", "«» et « vin »"),
        ("Our product™ → the best®!", "Our product the best!"),
        ("👍🏽 Yes ❤️ 🎉 no 🙂", "Yes no"),
    ],
)
def test_symbols_within_a_sentence_are_set_aside(text: str, bare: str) -> None:
    found = set_aside(text, lambda run: True)
    assert found and found.text == bare and len(found.origins) == len(bare)
    for character, (start, end) in zip(bare, found.origins, strict=True):
        assert text[start:end] == character or character == " "
    assert not any(each.symbols in bare for each in found.asides)
    assert set_aside(text, lambda run: False) is None


@pytest.mark.parametrize("text", ["A cat", "Déjà vu: 20 € – « là » №", "🙂 🎉", "5️⃣", "20 °C ≥ £5"])
def test_a_text_without_symbols_or_without_words_stays(text: str) -> None:
    assert set_aside(text, lambda run: True) is None


def test_symbols_within_a_sentence_are_placed_by_its_alignment(everyday: Translator) -> None:
    bare = everyday.translate("I know him very well.")
    (judged,) = translate_checked(everyday, ["I know him very 🍕 well."])
    best = judged.best[0]
    assert (bare, best.text) == ("Je le connais très bien.", "Je le connais très 🍕 bien.")
    assert not judged.problems and best.text[slice(*best.parts[0].target)] == best.text
    assert everyday.translate("Give ❤ me that.") == "Donne-moi ❤ ça."
    assert everyday.translate("I want pizza🍕 tonight 🎉.", split=False).count("pizza🍕") == 1
    once, twice = everyday.translate(["Give me that.", "Give 🎉 me that. 🍕 Give 🎉 me that."])
    assert twice.replace(" 🎉", "") == f"{once} 🍕 {once}"


def test_tags_beside_each_other_stay_apart(everyday: Translator) -> None:
    translation = everyday.translate("Good morning #monday #coffee #work")
    assert translation == "Bonjour #monday #coffee #work"


def test_symbols_keep_their_order(everyday: Translator) -> None:
    found = everyday.translate("The red 🍎 apple 🍏 and the 🍊 orange 🍋 are 🍇 good.")
    assert [each for each in found if each in "🍎🍏🍊🍋🍇"] == [*"🍎🍏🍊🍋🍇"]


def test_a_model_without_attention_places_symbols_in_proportion() -> None:
    plain = Translator.load("demo-rnn", device="cpu")
    found = plain.translate("The cat is 🍕 on the mat.")
    assert found.replace(" 🍕", "") == plain.translate("The cat is on the mat.")
    assert 0 < found.index("🍕") < len(found) - 1


def test_a_recording_reads_the_sentence_without_its_symbols(everyday: Translator) -> None:
    text = "I know him very 🍕 well."
    excerpt = choose_sentence(everyday, text, 0)
    assert excerpt.text == "I know him very well."
    own = everyday.translate(excerpt.text)
    options = choose_options(everyday.config.decode)
    whole = translate_whole(everyday, text, excerpt, (own, own), options)
    assert whole and whole.translation == everyday.translate(text) != own
    read, bare = everyday.reader.tokenize(text), everyday.reader.tokenize(excerpt.text)
    assert read.ids == bare.ids and text[slice(*read.spans[-2])].strip() == "well"


def test_a_long_sentence_with_symbols_ends(everyday: Translator) -> None:
    text = "I am very happy 🍕 and " * 200 + "you are sad, product™"
    spans = everyday.reader.split(text)
    assert len(spans) > 1 and text[spans[-1][1] :] in ("", "™")
    assert (
        max(len(everyday.reader.tokenize(each).ids) for each in cut_spans(text, spans))
        < everyday.reader.longest
    )
    assert everyday.translate(text).count("🍕") == 200


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Thanks :)", "Thanks"),
        ("Thanks :-) !", "Thanks"),
        (":( I miss you <3 xD", "I miss you"),
        ("Really? :O", "Really?"),
        ("Fine ;) ^^ >_< :))))", "Fine"),
        ("Great!:) happy:D", "Great!:) happy"),
        ("Happy :)😊 ☀️:)", "Happy"),
        (
            "Note:) 1:2 :3 a=) x) f(x) =(3) (he smiled:)",
            "Note:) 1:2 :3 a=) x) f(x) =(3) (he smiled:)",
        ),
        ("See http://a.b :/c", "See http://a.b :/c"),
    ],
)
def test_faces_that_are_typed_are_left_out(text: str, read: str) -> None:
    assert text[slice(*strip_symbols(text, lambda run: True))] == read
    assert strip_symbols(text, lambda run: False) == (0, len(text))


def test_a_face_within_a_sentence_is_set_aside() -> None:
    aside = set_aside("We :) are here <3 now", lambda run: True)
    assert aside and aside.text == "We are here now"
    assert [each.symbols for each in aside.asides] == [":)", "<3"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Thanks :) See you", ["Thanks :) ", "See you"]),
        ("Hi 😀👋 How are you? :D", ["Hi 😀👋 ", "How are you? :D"]),
        ("hi :) how are you", ["hi :) ", "how are you"]),
        ("Hi:) How are you", ["Hi:) ", "How are you"]),
        ("I love you <3 Come home", ["I love you <3 ", "Come home"]),
        ("Hi 😀 you", ["Hi 😀 you"]),
        ("its raining 🙄 i hate it", ["its raining 🙄 ", "i hate it"]),
        ("i really <3 this", ["i really <3 this"]),
        ("I <3 Paris and ❤ Rome", ["I <3 Paris and ❤ Rome"]),
        (":) Thanks", [":) Thanks"]),
        ("", [""]),
    ],
)
def test_a_face_ends_a_sentence(text: str, parts: list[str]) -> None:
    spans = split_behind_faces(text, lambda run: True)
    assert [text[start:end] for start, end in spans] == parts
    assert split_behind_faces(text, lambda run: False) == [(0, len(text))]


def test_a_face_that_is_a_token_is_left_to_the_network() -> None:
    assert is_new_emoticon(":) xD", {"x"}.__contains__)
    assert not is_new_emoticon(":) xD", {" :)"}.__contains__)
    assert not is_new_emoticon("no face: D", {"x"}.__contains__)


def test_messages_with_faces_are_translated(everyday: Translator) -> None:
    assert everyday.translate("Thanks :) See you tomorrow!") == "Merci :) À demain !"
    assert everyday.translate("I miss you :(") == "Tu me manques :("
    trace = everyday.see("Thanks :) See you tomorrow!")
    assert not any(":" in token.text for token in trace.source)


def test_an_imported_model_reads_faces_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its vocabulary is not ours, and its own toolkit gives it the text as it is."""
    reader = Translator.load("everyday-en-fr").reader
    text = "Thanks :) See you tomorrow"
    assert reader.split(text) == [(0, 6), (10, 26)]
    monkeypatch.setattr(type(reader.tokenizers.source), "has_character_map", False)
    assert reader.split(text) == [(0, 26)] and reader.set_aside(text) is None


@pytest.mark.parametrize("part", ["a :) ", "A <3 A ", "a:) b", "😀 A", ":(", "a 😀 ", "*a_b~ "])
def test_faces_take_linear_time(everyday: Translator, part: str) -> None:
    def read(text: str) -> None:
        split_behind_faces(text, bool)
        strip_symbols(text, bool)
        set_aside(text, bool, enclosures=everyday.reader.enclosures.find(text))

    assert is_linear(read, lambda length: part * (length // len(part)))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("File > Save as | Exit", ["File", "Save as", "Exit"]),
        ("If x > y, a->b and 5 > 3", ["If x > y, a->b and 5 > 3"]),
        ("« Oui » dit-il", ["« Oui » dit-il"]),
        ("A menu -> an entry >  the button", ["A menu", "an entry", "the button"]),
        ("Monday | 5 comments", ["Monday", "5 comments"]),
        ("%d files | {n} folders | @us", ["%d files", "{n} folders", "@us"]),
        ("In 2019 · (new) · A dog", ["In 2019", "(new)", "A dog"]),
        ("> Well, 5 > 3 for x > 2 |", ["Well, 5 > 3 for x > 2"]),
    ],
)
def test_unknown_signs_part_what_stands_beside_them(text: str, parts: list[str]) -> None:
    spans = [*split_at_separators(text, lambda sign: True)]
    assert [text[start:end] for start, end in spans] == parts
    assert [*split_at_separators(text, lambda sign: False)] == [(0, len(text))]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Home » Blog » Contact", ["Home", "Blog", "Contact"]),
        ("Read more »", ["Read more"]),
        ("« Back | Next »", ["Back", "Next"]),
        ("A :: B1 :: The end", ["A :: B1", "The end"]),
        ("Home / Blog", ["Home", "Blog"]),
        ("Second baseman / Shortstop", ["Second baseman", "Shortstop"]),
        ("Any HR / Legal act that may occur", ["Any HR / Legal act that may occur"]),
        ("Bring your ID (Passport / Licence)", ["Bring your ID (Passport / Licence)"]),
        ('He said "Yes / No"', ['He said "Yes / No"']),
        ("he / she", ["he / she"]),
        ("It is › new ‹ now", ["It is › new ‹ now"]),
    ],
)
def test_some_signs_part_words_though_a_model_knows_them(text: str, parts: list[str]) -> None:
    def cut(quotes: tuple[str, str]) -> list[str]:
        spans = split_at_separators(text, "|".__eq__, quotes)
        return [text[start:end] for start, end in spans]

    assert cut(("“", "”")) == parts
    assert ("»" in "".join(cut(("«", "»")))) == ("»" in text)


def test_separators_take_linear_time() -> None:
    for part in ("ab > ", " ", "ab  ", "> ", "« a", "a » ", "a / B ", "(a ", "a b c d / "):
        assert is_linear(lambda text: [*split_at_separators(text, bool)], part.__mul__)


@pytest.mark.parametrize(
    ("translation", "linked", "expected"),
    [
        ("ฉันชอบอาหารไทย", [(1, 4)], "ฉันชอบ 🙂 อาหารไทย"),
        ("ฉันชอบเกมส์ไทย", [], "ฉันชอบเก 🙂 มส์ไทย"),  # in proportion, and in no syllable
        ("ខ្ញុំចូលចិត្តម្ហូប", [(1, 4)], "ខ្ញុំចូលចិត្ត 🙂 ម្ហូប"),
        ("J'aime bien-être et thé", [(1, 1)], "J'aime bien-être 🙂 et thé"),
    ],
)
def test_a_symbol_stays_at_its_word_in_text_without_spaces(
    translation: str, linked: list[tuple[int, int]], expected: str
) -> None:
    source = set_aside("I like 🙂 Thai food", lambda symbols: True)
    assert source is not None
    placement = _Placement(cast("Any", None), None, source, translation)
    placement.links = [(s, t, 1.0) for s, t in linked]
    assert placement.write() == expected


def test_a_symbol_in_text_without_spaces_gets_those_of_the_translation() -> None:
    source = set_aside("音楽🙂好き", lambda symbols: True)
    assert source is not None
    written = []
    for translation in ("I like music", "喜欢音乐"):
        placement = _Placement(cast("Any", None), None, source, translation)
        placement.links = [(1, 0, 1.0)]
        written.append(placement.write())
    assert written == ["I 🙂 like music", "喜🙂欢音乐"]
