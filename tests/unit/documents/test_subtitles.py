"""Subtitles: a sentence over several cues is one sentence."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.extensions.documents.formats import open_document
from glassformer.extensions.documents.subtitle_tags import SentenceMarkup, close_at_cues
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


@pytest.mark.parametrize("said", ["a --> b", "a ---> b", "--> b", "-> b", "JOHN: --> b"])
def test_no_text_becomes_a_time(said: str) -> None:
    head = "1\n00:00:01,000 --> 00:00:02,000"
    subtitles = Subtitles(f"{head}\n{said}\n")
    written = subtitles.fill([text.replace("-&gt;", "---&gt;") for text in subtitles.texts])
    assert written.startswith(head)
    assert "-->" not in written.removeprefix(head)


def cut(text: str, sizes: list[int]) -> list[str]:
    return SentenceMarkup([], is_escaped=False).divide(text, sizes)


def test_chinese_is_divided_between_characters() -> None:
    assert cut("猫在垫子上。", [1, 1]) == ["猫在垫", "子上。"]


def test_marks_with_a_space_before_them_begin_no_line() -> None:
    assert cut("Où es-tu ?", [9, 4]) == ["Où", "es-tu ?"]
    assert cut("Il a dit « non » ? Oui !", [10, 8, 6]) == ["Il a dit", "« non » ?", "Oui !"]


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


def shout(text: str) -> str:
    """Subtitles whose sentences are in capitals, tags as they were."""
    read = Subtitles(text)
    parts = (re.split(r"(<[^<>]*>)", each) for each in read.texts)
    return read.fill(["".join(p if p[:1] == "<" else p.upper() for p in each) for each in parts])


NO_BLANKS = "1\n00:00:01,000 --> 00:00:02,000\nThe cat.\n2\n00:00:03,000 --> 00:00:04,000\nA dog.\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (NO_BLANKS, [2, 5]),
        (NO_BLANKS.replace("2\n", "\n2\n"), [2, 6]),
        (NO_BLANKS.replace("000 --> ", "000\t->").replace(",000", ""), [2, 5]),
        (NO_BLANKS.replace("00:00:0", "0:0:"), [2, 5]),
        (NO_BLANKS.replace("00:00:0", "00: 00: 0"), [2, 5]),
        ("By Ann\n\n\n" + NO_BLANKS, [5, 8]),
        (re.sub(r"(?m)^\d\n", "", NO_BLANKS), [1, 3]),
        (NO_BLANKS.replace("\n", "\r"), [2, 5]),
        (NO_BLANKS.replace("1\n00", "1\n\n00").replace("2\n00", "2\n\n00"), [3, 7]),
    ],
)
def test_only_text_changes_however_cues_are_written(text: str, lines: list[int]) -> None:
    expected = re.split(r"\r|\n", text)
    for line in lines:
        expected[line] = expected[line].upper()
    assert re.split(r"\r|\n", shout(text)) == expected


def test_vtt_keeps_notes_styles_names_and_settings() -> None:
    text = (
        "WEBVTT - a title\nKind: captions\n\nSTYLE\n::cue(b) {color: red}\n\n"
        "NOTE a cat\nis here\n\n"
        "intro\n00:01.000 --> 00:02.000 align:start\n<v Mary>The <i.loud>cat</i> &amp; a dog.\n\n"
        "00:00:03.000 --> 00:00:04.000\n<c.red>A <00:00:03.500>boy.</c>\n"
    )
    expected = (
        text.replace("The <", "THE <").replace(">cat<", ">CAT<").replace(" a dog.", " A DOG.")
    )
    made = shout(text.replace("&amp;", "and")).replace("AND", "&amp;")
    assert made == expected.replace(">boy.", ">BOY.")


def sentences(*cues: tuple[str, str, str]) -> list[str]:
    blocks = (f"00:00:{begin} --> 00:00:{end}\n{text}\n" for begin, end, text in cues)
    return Subtitles("\n".join(blocks)).texts


def test_only_cues_that_follow_at_once_are_joined() -> None:
    first, soon, late = ("01,0", "02,0", "we went"), ("03,0", "04,0", "home"), ("09,0", "10,0", "x")
    assert sentences(first, soon, late) == ["we went home", "x"]
    assert sentences(soon, first) == ["home", "we went"]


@pytest.mark.parametrize("mark", ["؟", "।", "。", "!", "…", '."', "?)"])
def test_marks_of_many_scripts_end_a_sentence(mark: str) -> None:
    assert len(sentences(("01,0", "02,0", f"a{mark}"), ("02,0", "03,0", "b"))) == 2


def test_thai_has_no_mark_so_a_cue_ends_its_sentence() -> None:
    assert len(sentences(("01,0", "02,0", "แมว"), ("02,0", "03,0", "หมา"))) == 2


def test_two_voices_in_a_line_and_names_before_a_colon() -> None:
    text = "00:00:01,0 --> 00:00:02,0\n- Hello. - Good morning.\nJOHN: I am here.\nMARY: So am I.\n"
    assert Subtitles(text).texts == ["Hello.", "Good morning.", "I am here.", "So am I."]
    assert shout(text).splitlines()[1] == "- HELLO. - GOOD MORNING."
    assert shout(text).splitlines()[3] == "MARY: SO AM I."


TAGS = [
    "<i>",
    "</i>",
    "<b>",
    "</b>",
    '<font color="#fff">',
    "</font>",
    "{\\an8}",
    "a ",
    "cat",
    "\n",
]


@given(st.lists(st.sampled_from(TAGS), max_size=20).map("".join))
def test_each_tag_is_written_once(text: str) -> None:
    text = "00:00:01,0 --> 00:00:02,0\n" + re.sub(r"\n+", "\n", text)
    made = shout(text)
    tags = re.compile(r"<[^<>]*>|\{[^{}]*\}")
    assert sorted(tags.findall(made)) == sorted(tags.findall(text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cp1251", "Кошка сидит на ковре. Собака спит в доме, а мальчик читает книгу у окна."),
        ("gb18030", "猫坐在垫子上。狗睡在房子里，男孩在窗边看书。我们明天去学校。"),
        ("shift_jis", "猫はマットの上に座っています。犬は家で寝ています。"),
        ("utf-16-le", "The cat is on the mat."),
    ],
)
def test_old_encodings_are_guessed(name: str, text: str) -> None:
    data = f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n".encode(name)
    document = open_document(data, "a.srt")
    assert document.texts == [text]
    assert document.fill([text]).decode("utf-16-le" if name == "utf-16-le" else "utf-8") == (
        data.decode(name)
    )


def test_another_script_is_another_sentence() -> None:
    """Words of one language are not divided among the lines of two."""
    assert sentences(("01,0", "02,0", "日本語\nThis text"), ("02,0", "03,0", "is here.")) == [
        "日本語",
        "This text is here.",
    ]


def test_a_file_of_vtt_may_have_no_cue() -> None:
    assert Subtitles("WEBVTT\n\nNOTE nothing\n").texts == []


@given(st.lists(st.lists(st.text("abc", min_size=1), min_size=1), min_size=1, max_size=8))
def test_a_sentence_that_stays_the_same_keeps_its_lines(rows: list[list[str]]) -> None:
    lines = "\n".join(map(" ".join, rows))
    text = f"00:00:01,0 --> 00:00:02,0\n{lines}\n"
    read = Subtitles(text)
    assert len(read.texts) == 1 and read.fill(read.texts) == text


def test_where_a_cue_is_shown_stays_with_its_line() -> None:
    text = "00:00:01,0 --> 00:00:02,0\none{\\an7}\n\n"
    text += "00:00:02,0 --> 00:00:03,0\ntwo {\\pos(1,2)}three.\n"
    made = shout(text)
    assert made.splitlines()[1] == "ONE{\\an7}"
    assert made.splitlines()[4] == "{\\pos(1,2)}TWO THREE."


def test_cues_at_the_same_time_are_two_sentences() -> None:
    assert sentences(("01,0", "02,0", "one"), ("01,0", "02,0", "two")) == ["one", "two"]


def test_a_pair_of_tags_ends_with_its_cue() -> None:
    """Players do not carry it on into the next one."""
    read = Subtitles(FILE)
    said = 'un deux trois <span id="3">quatre cinq six sept</span> huit.'
    written = read.fill([said, *read.texts[1:]])
    first, second = (block.split("\n")[2] for block in written.split("\n\n")[:2])
    assert (first, second) == ("un deux trois <i>quatre cinq</i>", "<i>six sept</i> huit.")
    assert close_at_cues(["<i><b>a", "b</b></i> c"], [1, 1]) == ["<i><b>a", "b</b></i> c"]
    assert close_at_cues(["<i><b>a", "b</b></i> c"], [1, 2]) == [
        "<i><b>a</b></i>",
        "<i><b>b</b></i> c",
    ]
