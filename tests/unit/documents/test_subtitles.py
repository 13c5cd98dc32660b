"""Subtitles: a sentence over several cues is one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.extensions.documents.subtitle_tags import SentenceMarkup
from glassformer.extensions.documents.subtitles import Subtitles

FILE = """1
00:00:01,000 --> 00:00:02,000
The animal did not cross the street

2
00:00:02,000 --> 00:00:04,000
because it was <i>too tired.</i>

3
00:00:05,000 --> 00:00:06,000 X1:1
{\\an8}<i>The cat is on the mat.</i>
- I am a student.

4
00:00:07,000 --> 00:00:08,000
"""


def test_what_is_translated() -> None:
    read = Subtitles(FILE.replace("\n", "\r\n"))
    assert read.texts == [
        'The animal did not cross the street because it was <span id="3">too tired.</span>',
        "The cat is on the mat.",
        "I am a student.",
    ]


def test_where_it_goes() -> None:
    said = ['un deux trois <span id="3">quatre</span> cinq six sept huit.']
    said += ["Le chat.", "Je suis étudiant."]
    written = Subtitles(FILE).fill(said)
    assert [block.split("\n")[2:] for block in written.strip().split("\n\n")] == [
        ["un deux trois <i>quatre</i> cinq"],
        ["six sept huit."],
        ["{\\an8}<i>Le chat.</i>", "- Je suis étudiant."],
        [],
    ]
    times = [line for line in FILE.splitlines() if "-->" in line]
    assert [line for line in written.splitlines() if "-->" in line] == times


def cut(text: str, sizes: list[int]) -> list[str]:
    return SentenceMarkup([], is_escaped=False).divide(text, sizes)


def test_chinese_is_divided_between_characters() -> None:
    assert cut("猫在垫子上。", [1, 1]) == ["猫在垫", "子上。"]


@given(st.lists(st.text("ab", min_size=1)), st.lists(st.integers(1, 50), min_size=1))
def test_nothing_is_lost(words: list[str], sizes: list[int]) -> None:
    parts = cut(" ".join(words), sizes)
    assert len(parts) == len(sizes)
    assert " ".join(filter(None, parts)) == " ".join(words)
    assert sum(map(bool, parts)) == min(len(words), len(sizes))


def test_no_subtitles() -> None:
    with pytest.raises(ValueError, match="no subtitle"):
        Subtitles("Hello.\n")


def test_a_blank_line_within_a_cue_loses_nothing() -> None:
    """What follows it, up to the next time, is of the same cue; line ends stay those of Windows."""
    raw = FILE.replace("street\n", "street\n\nand waited.\n").replace("\n", "\r\n")
    read = Subtitles(raw)
    assert read.texts[0] == "The animal did not cross the street and waited."
    said = ["L'animal n'a pas traversé la rue et a attendu."]
    written = read.fill([*said, *read.texts[1:]])
    assert "\r\n\r\n" in written and "\n" not in written.replace("\r\n", "")
    assert " ".join(written.split()).count("attendu.") == 1
    assert Subtitles(written).texts[0] == said[0]
