"""The parts that pages and paragraphs are taken apart into, one by one."""

from __future__ import annotations

from random import Random

import pytest

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from glassformer.extensions.documents.inline_parts import InlinePart, merge_texts
from glassformer.extensions.documents.markup import read_markup
from glassformer.extensions.documents.placing import TagMark
from glassformer.extensions.documents.reference_marks import fold_reference_marks
from glassformer.extensions.documents.run_parts import RunPart
from glassformer.extensions.documents.tags import cut_page, find_element_end


def write_tree(random: Random, depth: int) -> str:
    """Elements of two names within each other, all of them closed."""
    inner = "".join(write_tree(random, depth - 1) for _ in range(random.randrange(3) * (depth > 0)))
    name = random.choice("bi")
    return f"<{name}>a{inner}a</{name}>"


def test_an_element_ends_with_its_own_end_tag() -> None:
    """Not with that of one of the same name inside it or after it."""
    random = Random(1)
    for _ in range(30):
        text = "".join(write_tree(random, 4) for _ in range(3))
        tokens = [*cut_page(text)]
        opened: list[int] = []
        for number, token in enumerate(tokens):
            if token.kind == "start":
                opened.append(number)
            elif token.kind == "end":
                assert find_element_end(tokens, opened.pop()) == number + 1


@pytest.mark.parametrize(
    ("page", "end"),
    [
        ("<p>a<p>b", 2),
        ("<p>a<b>b</b></p>c", 6),
        ("<p>a<div>b</div>c", 2),
        ("<li>a<ul><li>b</ul>c<li>d", 7),
        ("<li>a<ul><li>b</li></ul></ul>c", 7),
    ],
)
def test_an_element_without_an_end_tag_ends_where_another_begins_or_ends(
    page: str, end: int
) -> None:
    assert find_element_end([*cut_page(page)], 0) == end
    assert find_element_end([*cut_page(f"<div>{page}</div>")], 1) == end + 1


@pytest.mark.parametrize("rest", [" and more", " and <b>more</b> of it", "."])
def test_only_the_reference_mark_is_folded(rest: str) -> None:
    mark = '<sup><a href="#1">[1]</a></sup>'
    run = read_markup(f"<p>A word{mark}{rest}</p>").runs[0]
    plain = read_markup(f"<p>A word{rest}</p>").runs[0]
    assert run.text == plain.text
    assert f"word{mark}" in run.write(run.text, [(n, n, 1.0) for n in range(9)])


def test_what_follows_a_reference_mark_stays() -> None:
    mark = [
        RunPart("<sup>", "open", "sup"),
        RunPart("2", "text"),
        RunPart("</sup>", "close", "sup"),
    ]
    text, point = RunPart("a", "text"), RunPart("<sup>2</sup>", "point", "sup")
    assert fold_reference_marks([text, *mark, text, text]) == [text, point, text, text]
    assert fold_reference_marks([*mark, *mark]) == [point, point]
    assert fold_reference_marks(mark[:2]) == mark[:2]


def test_a_mark_gives_words_away_at_its_ends() -> None:
    mark = TagMark(0, 9, "<b>", "</b>", first=3, last=7)
    assert not mark.release(4) and not mark.release(2) and not mark.release(7)
    assert mark.release(3) and (mark.first, mark.last) == (4, 7)
    assert mark.release(6) and (mark.first, mark.last) == (4, 6)
    assert mark.release(5) and not mark.release(4) and (mark.first, mark.last) == (4, 5)


def test_texts_of_one_format_are_one() -> None:
    parts = [*map(InlinePart, ["The", " ca", "t"]), InlinePart(verbatim="%s"), InlinePart("is")]
    parts += [InlinePart(""), InlinePart(" old")]
    merged = merge_texts(parts)
    assert [(part.text, part.verbatim) for part in merged] == [
        ("The cat", ""),
        ("", "%s"),
        ("is old", ""),
    ]
