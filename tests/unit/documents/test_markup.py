"""HTML: what is no text stays as it was, and tags go where their words go."""

from __future__ import annotations

import re
import time
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from damage.growth import is_linear
from hypothesis import given
from hypothesis import strategies as st

from glassformer.extensions.documents.markup import read_markup
from glassformer.extensions.documents.placing import TagMark
from glassformer.translate.align.marked_words import MarkedLink, find_marked_words

PAGES = tomllib.loads(Path(__file__).with_name("pages.toml").read_text(encoding="utf-8"))["page"]
TAG = re.compile(r"<[^<>]*>")


def link(text: str, order: list[int] | None = None) -> list[MarkedLink]:
    places = order or [*range(len(find_marked_words(text)))]
    return [(source, target, 1.0) for target, source in enumerate(places)]


def keep(page: str) -> str:
    """Each word translated by itself, in place."""
    read = read_markup(page)
    return read.fill([run.write(run.text, link(run.text)) for run in read.runs])


def turn(page: str) -> str:
    """The words of each run in reverse."""
    read, written = read_markup(page), []
    for run in read.runs:
        words = [run.text[slice(*span)] for span in find_marked_words(run.text)]
        order = [*range(len(words))][::-1]
        written.append(run.write(" ".join(words[::-1]), link(run.text, order)))
    return read.fill(written)


def test_there_are_enough() -> None:
    assert len(PAGES) >= 50


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["in"][:30])
def test_page(page: dict[str, str]) -> None:
    assert keep(page["in"]) == page.get("out", page["in"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["in"][:30])
def test_every_tag_once(page: dict[str, str]) -> None:
    assert Counter(TAG.findall(turn(page["in"]))) == Counter(TAG.findall(page["in"]))


@pytest.mark.parametrize(
    ("page", "said", "pairs", "expected"),
    [
        (
            "The <b>black</b> cat",
            "le chat noir",
            [(0, 0), (2, 1), (1, 2)],
            "le chat <b>noir</b>",
        ),
        (
            "The <b>black</b> <i>cat</i>",
            "le chat noir",
            [(0, 0), (2, 1), (1, 2)],
            "le <i>chat</i> <b>noir</b>",
        ),
        (
            "I <b>do not <i>know</i></b>",
            "je ne sais pas",
            [(0, 0), (2, 1), (3, 2), (2, 3)],
            "je <b>ne <i>sais</i> pas</b>",
        ),
        ("<b>all of it</b>.", "tout", [(0, 0)], "<b>tout</b>"),
        ("<b>The cat</b>", "le gros chat", [(0, 0)], "<b>le gros chat</b>"),
        ("no <b>link</b>", "sans lien", [], "sans <b></b>lien"),
        ("no <a href=x>link</a>", "sans lien", [], "sans <a href=x>lien</a>"),
        ("<a href=x>no</a> link", "sans lien", [(1, 1)], "<a href=x>sans</a> lien"),
        (
            "a <a href=x>link</a> <b>here</b>",
            "un lien",
            [(0, 0), (2, 1)],
            "<a href=x>un</a> <b>lien</b>",
        ),
        ("<a href=x></a> link", "lien", [(0, 0)], "<a href=x></a> lien"),
        ("see <img src=x> it", "vois le", [(0, 0), (1, 1)], "vois <img src=x> le"),
        ("open the <img src=x>", "ouvre le.", [(0, 0), (1, 1)], "ouvre le <img src=x>."),
        ("open it. <img src=x>", "ouvre le.", [(0, 0), (1, 1), (2, 2)], "ouvre le. <img src=x>"),
        ("the <b>cat</b>", "猫很累", [(1, 0)], "<b>猫</b>很累"),
        (
            "the <a href=x>mat</a>.",
            "le tapis.",
            [(1, 0), (1, 1), (1, 2)],
            "le <a href=x>tapis</a>.",
        ),
        ("I <b>eat.</b>", "je mange.", [(0, 0), (1, 1), (1, 2)], "je <b>mange.</b>"),
        (
            "my <i>brother</i> and my <b>sister</b> eat",
            "mon frère et ma sœur mangent",
            [(1, 0), (1, 1), (1, 2), (4, 3), (4, 4), (5, 5)],
            "mon <i>frère</i> et ma <b>sœur</b> mangent",
        ),
        (
            "eat <b>potatoes</b>",
            "mange des pommes",
            [(0, 0), (1, 1), (1, 2)],
            "mange <b>des pommes</b>",
        ),
        ("the <b>cat</b>", "小猫", [(1, 0), (1, 1)], "<b>小猫</b>"),  # one word in two characters
        ("a <a href=x>dog</a>.", "dimanche.", [(0, 0), (2, 1)], "<a href=x>dimanche</a>."),
        ("a <b>b</b> c", "x &lt;b&gt; y", [(1, 0)], "<b>x</b> &amp;lt;b&amp;gt; y"),
        (
            "a CO<sub>2</sub> leak",
            "fuite de CO2",
            [(0, 1), (1, 2), (2, 0)],
            "fuite de CO<sub>2</sub>",
        ),
        ("drink H<sub>2</sub>O.", "bois H2O.", [(0, 1), (0, 0), (2, 2)], "bois H<sub>2</sub>O."),
        ("x<sub>ij</sub>", "das xij", [(0, 0), (0, 1)], "das x<sub>ij</sub>"),
        (
            "x<sub>i</sub>, x<sub>i</sub>",
            "xi, xi",
            [(0, 2), (1, 1), (2, 0)],
            "x<sub>i</sub>, x<sub>i</sub>",
        ),
        (
            "the 1<sup>st</sup> of May",
            "le 1er mai",
            [(0, 0), (1, 1), (3, 2)],
            "le<sup></sup> 1er mai",
        ),
        ("the 1<SUP><b>st</b> </SUP>", "第一", [(1, 0), (1, 1)], "<SUP><b></b></SUP>第一"),
        ("un<b>believ</b>able", "incroyable", [(0, 0)], "<b>incroyable</b>"),
        ("the <sub>cat</sub>", "le chat", [(0, 0), (1, 1)], "le <sub>chat</sub>"),
        ("I read <b>books</b>", "मैं किताबें पढ़ता", [(0, 0), (2, 1), (1, 2)], "मैं <b>किताबें</b> पढ़ता"),
        ("my <b>house</b>", "บ้านฉัน", [(1, 0), (1, 1), (0, 2), (0, 3)], "<b>บ้าน</b>ฉัน"),
        ("<b>I</b> want", "می\u200cخواهم من", [(1, 0), (0, 1)], "می\u200cخواهم <b>من</b>"),
        ("the <b>cat</b>", "<script>x</script>", [(1, 1)], "&lt;<b>script</b>&gt;x&lt;/script&gt;"),
    ],
)
def test_tags_follow_the_words(
    page: str, said: str, pairs: list[tuple[int, int]], expected: str
) -> None:
    read = read_markup(page)
    (run,) = read.runs
    assert read.fill([run.write(said, [(s, t, 1.0) for s, t in pairs])]) == expected


def test_the_surest_words_keep_a_tag_together() -> None:
    """One stray link far away does not stretch a tag over everything between."""
    (run,) = read_markup("it was too <b>wide</b>").runs
    links = [(3, 0, 0.3), (1, 1, 0.9), (2, 2, 0.9), (3, 3, 0.9)]
    assert run.write("qu'elle était trop large", links) == "qu'elle était trop <b>large</b>"


@pytest.mark.parametrize(
    ("tag", "is_read"),
    [
        ("span translate=no", False),
        ("span translate='no'", False),
        ('div TRANSLATE="NO"', False),
        ("span class=notranslate", False),
        ('div class="big notranslate"', False),
        ("p lang=en class='notranslate big'", False),
        ("code", False),
        ("pre", False),
        ("span translate=yes", True),
        ('div class="translate"', True),
        ('span class="big" title="notranslate"', True),
        ("b", True),
    ],
)
def test_what_is_marked_as_not_to_be_translated_is_no_text(tag: str, is_read: bool) -> None:
    name = tag.partition(" ")[0]
    runs = read_markup(f"<p>the cat</p><{tag}>Cat <i>Inc</i></{name}><p>the dog</p>").runs
    assert ("Inc" in " ".join(run.text for run in runs)) == is_read
    assert runs[0].text == "the cat" and runs[-1].text == "the dog"


def test_entities_are_written_as_they_were() -> None:
    (run,) = read_markup("<p>&copy; caf&eacute; &#8212; x &amp; y</p>").runs
    assert run.text == "© café — x & y"
    assert run.write("y & x — café ©", None) == "y &amp; x &#8212; caf&eacute; &copy;"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("&nbsp;&nbsp;The cat", "The cat"),
        ("Total:&nbsp;", "Total:"),
        (" \u2003The cat &amp; the dog&#x202f; &thinsp;", "The cat & the dog"),
        ("&nbsp The cat&#160", "The cat"),
        ("&amp;nbsp;", "&nbsp;"),
        ("&copy;&emsp;2024 A&amp;B;&ensp;", "© 2024 A&B;"),
        ("10&#8239;km", "10 km"),
    ],
)
def test_white_space_around_a_text_stays_as_it_was(page: str, text: str) -> None:
    (run,) = read_markup(f"<p>{page}</p>").runs
    assert run.text == text
    assert keep(f"<p>{page}</p>") == f"<p>{page}</p>"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<b>&nbsp;The cat</b> sat", "&nbsp;<b>The cat</b> sat"),
        ("<b> The cat </b>", "<b>The cat</b>"),
        (
            "<i>&ensp; </i>&nbsp;The <b>cat&nbsp;</b>&emsp;",
            "&ensp; <i></i> The <b>cat</b>&nbsp;&emsp;",
        ),
        ("<img src=x>&nbsp;The cat", "<img src=x> The cat"),
    ],
)
def test_wide_spaces_within_tags_at_the_ends_of_a_text(page: str, expected: str) -> None:
    assert keep(page) == expected


@pytest.mark.parametrize(
    "unit", ["&nbsp;", "&nbsp", "&", "<b>&nbsp;", "&a", "a&emsp;", "x<sub>1</sub>"]
)
def test_the_time_for_spaces_and_parts_of_words_is_linear(unit: str) -> None:
    assert is_linear(keep, lambda length: f"a1{unit * (length // len(unit))}a")


def test_what_is_tied_stays_tied() -> None:
    (run,) = read_markup("<p>It is 10&nbsp;km long</p>").runs
    assert run.text == "It is 10 km long"
    assert run.write("Cela fait 10 km", None) == "Cela fait 10&nbsp;km"


PIECES = [
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<p>",
    "</p>",
    "<br>",
    "<img src=x>",
    "<code>c</code>",
    "the",
    "cat",
    " ",
    "&amp;",
    "<",
    "<!-- x -->",
    "<a href='b'>",
    "</a>",
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_soup_keeps_its_tags(page: str) -> None:
    for made in (keep(page), turn(page)):
        assert Counter(TAG.findall(made)) == Counter(TAG.findall(page))


@pytest.mark.parametrize(
    "page",
    [
        "<b>" * 6000 + "x",
        "x" + "</b>" * 5000,
        "<b>a</b> " * 2000,
        "<a '" * 5000,
        '<a "' * 5000,
        "<!--" * 5000,
        "<code>" * 3000,
        "<" * 20000,
        "<i><b>a</i>" * 1500,
        "<svg x" * 3000,
    ],
    ids=lambda page: page[:9],
)
def test_no_page_takes_long(page: str) -> None:
    begun = time.process_time()
    keep(page)
    assert time.process_time() - begun < 2


def test_what_is_not_translated_ends_with_its_own_tag() -> None:
    """Elements of the same name inside it end before."""
    page = read_markup('<div translate="no"><div>a dog</div>b</div><p>The cat</p>')
    assert [run.text for run in page.runs] == ["The cat"]


def test_an_element_that_nothing_ends_goes_on_to_the_end() -> None:
    """Also if one of its name ends inside it."""
    (run,) = read_markup("<b>The old <b>black</b> cat runs").runs
    (outer,) = run.marks
    assert (outer.start, outer.end) == (0, len(run.text))
    assert [(each.start, each.end) for each in outer.children] == [(8, 13)]


def test_a_reference_mark_ends_with_its_tag() -> None:
    (run,) = read_markup("The cat<sup>1</sup><b>is</b> old.").runs
    assert [(each.open, each.start, each.end) for each in run.marks] == [
        ("<sup>1</sup>", 7, 7),
        ("<b>", 7, 9),
    ]


def test_a_word_at_the_edge_of_an_element_can_be_given_away() -> None:
    mark = TagMark(0, 9, "<b>", "</b>", first=2, last=6)
    assert not mark.release(3)  # it is in the middle
    assert mark.release(2) and (mark.first, mark.last) == (3, 6)
    assert mark.release(5) and (mark.first, mark.last) == (3, 5)
    assert mark.release(4) and not mark.release(3)  # it is the only one
    assert (mark.first, mark.last) == (3, 4)
