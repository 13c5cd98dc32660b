"""What the network reads of a text, and of a translation that is scored."""

from __future__ import annotations

import pytest

from glassformer.text.symbols import set_aside
from glassformer.translate.reading import leave_out_asides
from glassformer.translator import Translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("everyday-en-de", device="cpu", precision="fp32")


@pytest.mark.parametrize(
    ("source", "target", "bare"),
    [
        ("Thank you. ❤", "Danke. ❤", ("Thank you.", "Danke.")),
        ("I like 😀 tea.", "Ich mag 😀 Tee.", ("I like tea.", "Ich mag Tee.")),
        ("I like “tea”.", "Ich mag »Tee«.", ("I like tea.", "Ich mag Tee.")),
        ("I <b>like</b> tea.", "Ich <b>mag</b> Tee.", ("I like tea.", "Ich mag Tee.")),
        (
            "I (often) like tea.",
            "Ich (oft) mag Tee.",
            ("I, often, like tea.", "Ich, oft, mag Tee."),
        ),
    ],
)
def test_a_translation_is_scored_without_what_was_set_aside(
    translator: Translator, source: str, target: str, bare: tuple[str, str]
) -> None:
    assert translator.score(source, target).log_prob == translator.score(*bare).log_prob
    tokens = translator.searcher.tokenize_target(source, target)
    words = zip(tokens.texts, tokens.spans, strict=True)
    spelt = [(word.strip(), target[slice(*span)]) for word, span in words]
    assert all(own.strip() in ("", word) for word, own in spelt if word != ",")


def test_a_translation_keeps_what_its_source_does_not_have() -> None:
    aside = set_aside("I 😀 like tea.", lambda symbols: True)
    assert aside and leave_out_asides(aside, "Ich mag Tee ❤.") is None
    quoted = aside._replace(asides=[aside.asides[0]._replace(symbols="'", around=(2, 6))])
    left = leave_out_asides(quoted, "Wie geht's 'dir?")
    assert left and left.text == "Wie geht's dir?"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("3. Open the door.", "Open the door."),
        (" - Open the door. 😀", "Open the door."),
        (" Open the door. ", " Open the door. "),
        ("3.", "3."),
    ],
)
def test_a_whole_text_is_read_without_its_label(
    translator: Translator, text: str, own: str
) -> None:
    ((sentence,),) = translator.reader.read([text], split=False)
    assert sentence.text == own == text[slice(*sentence.span)]
