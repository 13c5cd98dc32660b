"""Links of people and of models: read, measured, joined."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.extensions.alignment.gold import Gold, join_links, measure_links, read_gold
from glassformer.translate.align.links import Links, write_pharaoh
from glassformer.translate.align.pairs import find_words, is_read_by_character, share_out


def links(text: str) -> Links:
    return frozenset((int(i), int(j)) for i, j in (each.split("-") for each in text.split()))


def gold(sure: str, possible: str = "") -> Gold:
    return Gold(links(sure), links(sure) | links(possible))


def test_error_rate_by_hand() -> None:
    """Och and Ney 2003: |A| = 4, |S| = 3, |A and S| = 2, |A and P| = 3."""
    found = measure_links([links("0-0 1-1 2-3 5-5")], [gold("0-0 1-1 2-2", "2-3 4-4")])
    assert found.aer == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert found.precision == pytest.approx(3 / 4) and found.recall == pytest.approx(2 / 3)
    two = measure_links([links("0-0"), links("1-1")], [gold("0-0"), gold("0-0")])
    assert (two.sentences, two.aer) == (2, 0.5)


def test_nothing_found_and_nothing_wanted() -> None:
    assert measure_links([links("")], [gold("0-0")]).aer == 1
    assert measure_links([links("")], [gold("")]).aer == 0


def test_joining_by_hand() -> None:
    one, other = links("0-0 1-1 2-1 4-4"), links("0-0 1-1 1-2 4-0")
    assert join_links(one, other, "intersection") == links("0-0 1-1")
    assert join_links(one, other, "union") == one | other
    # 2-1 and 1-2 touch 1-1 and bring a new word each; 4-4 and 4-0 touch nothing
    assert join_links(one, other, "grow-diag") == links("0-0 1-1 2-1 1-2")


def test_growth_adds_no_link_between_words_that_have_one() -> None:
    assert join_links(links("0-0 1-1 1-0"), links("0-0 1-1"), "grow-diag") == links("0-0 1-1")


def read(tmp_path: Path, text: str, *sizes: tuple[int, int], **how: object) -> list[Gold]:
    path = tmp_path / "gold"
    path.write_text(text, encoding="utf-8")
    return list(read_gold(path, sizes, **how).pairs)  # type: ignore[arg-type]


def test_gold_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "0-1 1p0\n\n", (2, 2), (3, 1)) == [gold("0-1", "1-0"), gold("")]
    assert read(tmp_path, "0-1 1?2\n", (3, 2), swapped=True) == [gold("1-0", "2-1")]


@pytest.mark.parametrize(
    ("first", "size", "wanted"), [(None, (2, 2), "0-1"), (None, (3, 3), "1-2"), (1, (3, 3), "0-1")]
)
def test_gold_counts_from_0_or_1(
    tmp_path: Path, first: int | None, size: tuple[int, int], wanted: str
) -> None:
    """As its numbers suggest: 1-2 is beyond two words only if they count from 0."""
    assert read(tmp_path, "1-2", size, first=first) == [gold(wanted)]


def test_one_slip_in_a_gold_file_can_only_be_missed(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text("0-0 " * 30 + "7-0\n", encoding="utf-8")
    found = read_gold(path, [(2, 2)])
    assert found.beyond == (
        f"{path}, line 1: 7-0 is beyond the sentence, which has 2 source and 2 target words, "
        "counted from 0",
    )
    assert measure_links([links("0-0")], found.pairs).recall == 0.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0-0\n1:2\n", "line 2: '1:2' is no link such as 1-2 or 1p2"),
        ("0-0\n", "has 1 lines, but there are 2 pairs"),
        ("0-0 3-0\n1-9\n", "line 1: 3-0 is beyond the sentence, which has 2 source"),
    ],
)
def test_bad_gold_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ValueError, match="gold") as error:
        read(tmp_path, text, (2, 2), (2, 2))
    assert said in str(error.value)


def test_pharaoh_is_sorted() -> None:
    assert write_pharaoh(links("10-1 2-3 2-1")) == "2-1 2-3 10-1"


def test_words_are_what_stands_between_white_space() -> None:
    assert find_words(" a\u00a0cat,  no ", False) == ((1, 2), (3, 7), (9, 11))
    assert find_words("我 爱 AI", True) == ((0, 1), (2, 3), (4, 5), (5, 6))
    assert is_read_by_character("zh-CN", ["我爱猫", "猫"])
    assert not is_read_by_character("zh", ["我爱猫", "我 爱 猫"])
    assert not is_read_by_character("fr", ["chat"])


def test_tokens_are_shared_out_by_their_characters() -> None:
    """`ab cd` in the tokens ab, space + c, d; and 我爱猫 in the tokens 我爱, 猫."""
    found = share_out(((0, 2), (3, 5)), [(0, 2), (2, 4), (4, 5)])
    assert found.share.tolist() == [[1, 0], [0, 1], [0, 1]]
    assert found.members == ((0,), (1,))
    together = share_out(((0, 1), (1, 2), (2, 3)), [(0, 2), (2, 3)])
    assert together.members == ((0, 1), (2,)) and together.share.tolist() == [[1, 0], [0, 1]]
    across = share_out(((0, 1), (1, 3)), [(0, 2), (2, 3)])
    assert across.share.tolist() == [[0.5, 0.5], [0, 1]]


def test_grow_diag_grows_from_what_it_has_added() -> None:
    """Along a chain of which only the first link is in both; what touches nothing stays out."""
    chain = frozenset((n, n) for n in range(5))
    one, other = chain | {(9, 9)}, frozenset({(0, 0)})
    assert join_links(one, other, "grow-diag") == join_links(other, one, "grow-diag") == chain
