"""A text of several sentences is split as `translate` splits it, and each can be looked into."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from glassformer.config import Decode
from glassformer.extensions.pictures.pictures import make_scene
from glassformer.see import Trace, compare_traces
from glassformer.see.summary import summarise, tell_sentence
from glassformer.translator import Translator

TEXT = "The cat is on the mat. The dog bites the cat.\n\n  The street was wide."
SENTENCES = ["The cat is on the mat.", "The dog bites the cat.", "The street was wide."]


@pytest.fixture(scope="module")
def demo() -> Translator:
    return Translator.load("demo", device="cpu", precision="fp32")


@pytest.mark.parametrize(
    "decode",
    [
        None,
        Decode(search="beam", beam=3),
        Decode(search="sample", temperature=1.5, top_k=30),
        Decode(search="sample", temperature=2.0, top_p=0.9),
    ],
)
def test_each_sentence_and_the_whole_are_what_translate_says(
    demo: Translator, decode: Decode | None
) -> None:
    """The server's /translate and the command line read a text line by line."""
    lines = demo.translate(TEXT.split("\n"), decode=decode, seed=3)
    for number, sentence in enumerate(SENTENCES):
        trace = demo.see(TEXT, sentence=number, decode=decode, seed=3, level="attention")
        assert (trace.sentence, trace.text, trace.whole_text) == (number, sentence, TEXT)
        assert trace.whole_translation.split("\n") == lines
        for place, each in enumerate(trace.sentences):
            assert TEXT[slice(*each.source)] == SENTENCES[place]
        here = trace.whole_translation[slice(*trace.sentences[number].target)]
        assert here == trace.translation


def test_the_first_and_the_last(demo: Translator) -> None:
    assert demo.see(TEXT, level="attention").sentence == 0
    assert demo.see(TEXT, level="attention", sentence=-1).sentence == 2


def test_a_picture_says_which_part_of_a_text_it_shows(demo: Translator) -> None:
    trace = demo.see(TEXT, level="attention", sentence=1)
    for lang, told in (("en", "part 2 of the 3 into which"), ("zh", "3 部分中的第 2 部分")):
        assert told in make_scene(trace, "V10", lang=lang).description
        assert told not in make_scene(trace, "V12", lang=lang).description  # of no text
    whole = demo.see(SENTENCES[0], level="attention")
    assert "into which" not in make_scene(whole, "V10").description


def test_one_sentence_is_its_own_whole(demo: Translator) -> None:
    trace = demo.see(SENTENCES[0], level="attention")
    assert trace.document.whole is None and len(trace.sentences) == 1
    assert trace.whole_translation == trace.translation == demo.translate([SENTENCES[0]])[0]


def test_split_off_takes_the_text_as_one(demo: Translator) -> None:
    text = " ".join(SENTENCES[:2])
    trace = demo.see(text, split=False, level="attention")
    assert trace.text == text and trace.translation == demo.translate([text], split=False)[0]


@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("text", [" the cat is on the mat. ", "THE DOG BITES THE CAT."])
def test_one_sentence_of_another_case_is_shown_as_its_user_gets_it(
    demo: Translator, text: str, split: bool
) -> None:
    """The network writes it in the usual case, and that is what is explained."""
    trace = demo.see(text, split=split, level="attention")
    assert trace.translation == demo.translate([text.strip().capitalize()])[0]
    assert trace.whole_translation == demo.translate(text) != trace.translation
    assert summarise(trace).splitlines()[:2] == [text, trace.whole_translation]
    ((start, end),) = (each.target for each in trace.sentences)
    assert trace.whole_translation[start:end].lower() == trace.translation.lower()


def test_what_is_forced_is_in_the_whole(demo: Translator) -> None:
    text = " ".join(SENTENCES[:2])
    trace = demo.see(text, sentence=1, prefix="Un chat", level="attention")
    assert trace.translation.startswith("Un chat")
    assert trace.whole_translation == f"{demo.translate(SENTENCES[:1])[0]} {trace.translation}"


def test_an_edit_changes_the_chosen_sentence(demo: Translator) -> None:
    edits = [{"do": "word", "word": "cat", "by": "dog"}]
    found = compare_traces(demo, " ".join(SENTENCES[:2]), edits, sentence=1, level="attention")
    assert found.before.text == SENTENCES[1]
    assert found.after.text == "The dog bites the dog."
    assert found.after.whole_translation.startswith(demo.translate(SENTENCES[:1])[0])


def test_a_saved_trace_keeps_its_whole(demo: Translator, tmp_path: Path) -> None:
    trace = demo.see(TEXT, sentence=1, level="attention")
    trace.save(tmp_path / "t")
    again = Trace.load(tmp_path / "t")
    assert again.document.whole == trace.document.whole and again.sentence == 1
    head = tmp_path / "t" / "trace.json"
    head.write_text(head.read_text("utf-8").replace('"chosen": 1', '"chosen": 7'), "utf-8")
    with pytest.raises(ValueError, match=r"whole.chosen is 7, of 3 sentences"):
        Trace.load(tmp_path / "t")


def test_the_terminal_says_which_sentence_it_is(demo: Translator) -> None:
    lines = summarise(demo.see(" ".join(SENTENCES), sentence=1, level="attention")).split("\n")
    assert lines[:2] == [" ".join(SENTENCES), " ".join(demo.translate(SENTENCES))]
    assert lines[3] == "3 sentences; inside: 1 The dog bites the cat."
    assert [line.strip() for line in lines[4:7] if "*" in line] == [f"1* {SENTENCES[1]}"]


def test_parts_of_one_sentence_are_not_called_sentences() -> None:
    text = "Mix two cups of flour, then stir it well. Wait an hour."
    ends = [text.index(" then"), text.index(" Wait"), len(text)]
    starts = [0, ends[0] + 1, ends[1] + 1]
    spans = [SimpleNamespace(source=span) for span in zip(starts, ends, strict=True)]

    def tell(count: int) -> str:
        whole = text[: ends[count - 1]]
        given = SimpleNamespace(sentences=spans[:count], whole_text=whole, sentence=0, text="Mix")
        return tell_sentence(given)  # type: ignore[arg-type]

    assert tell(3) == "2 sentences in 3 parts; inside: 0 Mix"
    assert tell(2) == "1 sentence in 2 parts; inside: 0 Mix"
