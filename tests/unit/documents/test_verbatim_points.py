"""Placeholders, links and short code in a document are read with their sentence."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from damage.growth import is_linear

from glassformer.extensions.documents.formats import open_document
from glassformer.extensions.documents.markup import Run, read_markup
from glassformer.extensions.documents.translating import list_run_texts, translate_document
from glassformer.extensions.documents.verbatim_points import write_attribute
from glassformer.model.files.directory import locate
from glassformer.translate.options import choose_options
from glassformer.translator import Translator

EVERYDAY = "everyday-en-fr"


@pytest.fixture(scope="module")
def everyday() -> Translator:
    return Translator.load(EVERYDAY, device="cpu")


def read_run(text: str) -> Run:
    (run,) = read_markup(text).runs
    return run


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("%s", True),
        ("{0}", True),
        ("https://a.org/x?a=1&b=2", True),
        ("a@b.org", True),
        ("<b>", False),
        ("cat", False),
        ("%s and", False),
        ("", False),
    ],
)
def test_what_is_read_of_a_tag(text: str, is_read: bool) -> None:
    run = read_run(f"The cat <img{write_attribute(text)}> is here.")
    assert [each.text for each in run.points] == [text] * is_read


def test_code_and_what_stays_is_read_as_code() -> None:
    run = read_run("Use <code>a &lt; b</code> or <b translate=no>Rex</b>, <code><i>x</i></code>.")
    assert run.whole and run.whole.text == "Use `a < b` or `Rex`, `#3`."
    assert run.text == "Use or , ." and not run.whole.marks


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Press [<img>] or (<i></i>).", "Press [`#1`] or (`#2`)."),
        ("[<img><img>] It is here.", "[`#1``#2`] It is here."),
        ("It has <img>, <img> and <img>.", "It has , `#1` and `#2`."),
        ("Click on <b><img></b> to go on.", "Click on `#1` to go on."),
        ("<img>, a cat", "`#1`, a cat"),
        ("The cat <img> and<img>, (<!-- a -->) a dog <img>.", ""),
        ("It is with <img>and without.", ""),
        ("I see the cat, <img> the dog, and <img> a bird <wbr>, too.", ""),
        ('Where are you from <a id="p20"></a>?', ""),
        ('Are you from <span epub:type="pagebreak" id="p12"></span>?', ""),
        ("He is the man I live with <sup></sup>.", ""),
        ('What are you looking for <a href="#f"><img></a>?', ""),
        ('What is it? Is it for <a href="#f"><img></a>?', "What is it? Is it for `#1`?"),
        ('He is with <i id="x"></i>. Click on <i class="y"></i>.', "He is with . Click on `#1`."),
        ('Click on <span class="fa fa-x"></span>.', "Click on `#1`."),
        ('Click on <img name="x" src="y">.', "Click on `#1`."),
    ],
)
def test_what_has_no_words_is_read_where_its_sentence_has_a_hole(text: str, whole: str) -> None:
    run = read_run(text)
    assert (run.whole.text if run.whole else "") == whole
    assert len(run.points) == whole.count("#")


def test_brackets_around_a_picture_stay(everyday: Translator) -> None:
    document = open_document(b"Press the button [<img src=a>] to go on.", "a.html")
    options = choose_options(everyday.config.decode)
    written = translate_document(document, everyday, locate(EVERYDAY), options).decode()
    assert "[<img src=a>]" in written and not re.search(r"\bX\b", written)


def test_only_what_is_repeated_is_read_and_all_of_it_counts() -> None:
    run = read_run('A <img data-verbatim="text that nobody counts"> cat')
    assert not run.points and run.full_text == "A cat"
    run = read_run("A <code>long name</code> cat")
    assert run.full_text == "A `long name` cat" and run.text == "A cat"


def test_reference_marks_and_tags_around_a_point() -> None:
    run = read_run("The cat<sup>[1]</sup> is here<sup>2</sup>.")
    assert not run.points and run.whole is None
    run = read_run('The <b><img data-verbatim="{x}"></b> is <i>here</i>.')
    assert run.whole and run.whole.text == "The {x} is here." and len(run.whole.marks) == 1
    assert run.points[0].tags == '<b><img data-verbatim="{x}"></b>'
    written = run.write_whole("Le {x} est ici.", [(3, 3, 1.0)])
    assert written.startswith('Le <b><img data-verbatim="{x}"></b> est')


def test_a_tag_that_cuts_a_point_loses_nothing() -> None:
    run = read_run('The <b>old <img data-verbatim="{x}"></b> is here.')
    written = run.write_whole("Le {x} est ici.", [(1, 1, 1.0), (2, 2, 1.0)])
    assert written.count("<b>") == written.count("</b>") == written.count("{x}") == 1


def test_tags_are_written_for_their_texts() -> None:
    run = read_run('A <b>cat</b> <img id="0" data-verbatim="%s"> <img id="1" data-verbatim="%s">.')
    assert run.whole
    links = [(0, 0, 1.0), (1, 1, 1.0)]
    written = run.write_whole("Un chat %s et %s.", links)
    assert re.sub(' data-verbatim="%s"', "", written) == (
        'Un <b>chat</b> <img id="0"> et <img id="1">.'
    )


@pytest.mark.parametrize("translation", ["un chat.", "un chat %s.", "%s %s un chat %s."])
def test_lost_and_doubled_texts_lose_no_tag(translation: str) -> None:
    run = read_run('A <b>cat</b> <img id="0" data-verbatim="%s"> <img id="1" data-verbatim="%s">.')
    written = run.write_whole(translation, [])
    assert written.count('id="0"') == written.count('id="1"') == written.count("</b>") == 1
    assert re.sub("<[^>]*>", "", written).replace(" ", "") == "unchat."


@pytest.mark.parametrize("repeats", [True, False])
def test_only_a_model_that_repeats_placeholders_reads_them(repeats: bool) -> None:
    """One of another toolkit reads what that would give it."""
    tokenizers = SimpleNamespace(source=SimpleNamespace(has_character_map=repeats))
    translator: Any = SimpleNamespace(tokenizers=tokenizers)
    texts = list_run_texts([read_run('A <img data-verbatim="%s"> cat')], translator)
    assert texts == ["A %s cat" if repeats else "A cat"]


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("a.po", 'msgid "Open the door, %s."\nmsgstr ""\n', r'msgstr "Ouvre\w* la porte, %s\."'),
        ("a.po", 'msgid "I saw %d dogs."\nmsgstr ""\n', r'msgstr "J\'ai vu %d chiens\."'),
        ("a.html", "<p>Are you ready, <code>x</code>?</p>", r"prête?, <code>x</code>\s\?</p>$"),
        ("a.html", "<p>I like <b>Tom</b> and <code>x</code>.</p>", r"<b>Tom</b> et <code>x</code>"),
    ],
)
def test_sentences_keep_what_they_are_about(
    everyday: Translator, name: str, text: str, kept: str
) -> None:
    document = open_document(text.encode(), name)
    options = choose_options(everyday.config.decode)
    translated = translate_document(document, everyday, locate(EVERYDAY), options)
    assert re.search(kept, translated.decode()), translated.decode()


def test_points_take_linear_time() -> None:
    for part in ("<code>x</code> a ", '<img data-verbatim="%s">a', "<code>", "<img data-verbatim="):

        def read(text: str) -> None:
            for run in read_markup(text).runs:
                run.write_whole(run.whole.text, None) if run.whole else None

        assert is_linear(read, lambda length, part=part: part * (length // len(part)))
