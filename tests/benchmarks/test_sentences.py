"""Wrong cuts are counted on a treebank."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.sentences import Sentence, count_cuts, group, read_treebank

TREEBANK = """\
# newdoc
# text = The cat sleeps.
1\tThe\t_
2\tcat\t_

# text = The dog runs!
1\tThe\t_

# newpar id = 2
# text = A title
1\tA\t_
"""


def test_a_treebank_is_read(tmp_path: Path) -> None:
    path = tmp_path / "en_x-ud-test.conllu"
    path.write_text(TREEBANK, encoding="utf-8")
    sentences = [*read_treebank(path)]
    assert [text for text, _ in sentences] == ["The cat sleeps.", "The dog runs!", "A title"]
    assert [*group(sentences)] == [["The cat sleeps.", "The dog runs!"], ["A title"]]


@pytest.mark.parametrize(
    ("texts", "false", "ends", "missed"),
    [
        (["The cat sleeps.", "The dog runs!", "It ends."], 0, 2, 0),
        (["The cat sleeps. The dog runs!", "It ends."], 1, 1, 0),
        (["it did;", "it ends."], 0, 1, 1),
        (["A title", "It ends."], 0, 0, 0),
    ],
)
def test_cuts_are_counted(texts: list[str], false: int, ends: int, missed: int) -> None:
    cuts = count_cuts([Sentence(text, False) for text in texts], "en")
    assert cuts == (len(texts), false, ends, missed)
