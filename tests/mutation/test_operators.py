"""What is changed, what is left alone, and that a sample stays the same."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest
from damage.ledger import write_page

from .__main__ import (
    TITLE,
    Row,
    describe,
    draw,
    list_core,
    merge_rows,
    read_rows,
    write_section,
)
from .nearest import FURTHER, KERNELS, ROOT, SOURCES, TWINS, find_nearest, list_units
from .operators import list_mutants

PYTHON = '''"""A docstring with 1 < 2."""
def act(a: "1 < 2", b=3) -> int:
    assert a < b
    if not a and b is None:
        raise ValueError(f"{a + 1} is wrong")
    self.count += 4
    log(a, b)
    d = max(a, b)
    zip(a, strict=True)
    for each in a:
        continue
    c: int = a - 0.5
    return a <= c
'''
IN_C = """#define WIDE 4  // 5 < 6
/* i < 7 */
for (long i = 8; i < count; i++) {
    sum += x[i] * wide;
    const float *x = rows;
}
"""


def show(path: str, text: str) -> list[tuple[str, str]]:
    return [(each.before, each.after) for each in list_mutants(path, text)]


def test_each_change_of_python() -> None:
    assert set(show("a.py", PYTHON)) == {
        ('def act(a: "1 < 2", b=3) -> int:', 'def act(a: "1 < 2", b=4) -> int:'),
        ('def act(a: "1 < 2", b=3) -> int:', 'def act(a: "1 < 2", b=2) -> int:'),
        ("if not a and b is None:", "if a and b is None:"),
        ("if not a and b is None:", "if not a or b is None:"),
        ("if not a and b is None:", "if not a and b is not None:"),
        ('raise ValueError(f"{a + 1} is wrong")', "pass"),
        ("self.count += 4", "pass"),
        ("self.count += 4", "self.count += 5"),
        ("self.count += 4", "self.count += 3"),
        ("log(a, b)", "pass"),
        ("log(a, b)", "log(b, a)"),
        ("zip(a, strict=True)", "pass"),
        ("continue", "pass"),
        ("c: int = a - 0.5", "c: int = a + 0.5"),
        ("c: int = a - 0.5", "c: int = a - 1.0"),
        ("return a <= c", "return a < c"),
        ("return a <= c", "return not (a <= c)"),
    }


def test_each_change_of_c() -> None:
    """Neither comments nor the preprocessor's lines, nor the star of a pointer."""
    loop, added = "for (long i = 8; i < count; i++) {", "sum += x[i] * wide;"
    assert set(show("a.c", IN_C)) == {
        (loop, "for (long i = 9; i < count; i++) {"),
        (loop, "for (long i = 7; i < count; i++) {"),
        (loop, "for (long i = 8; i <= count; i++) {"),
        (added, "sum -= x[i] * wide;"),
        (added, "sum += x[i] / wide;"),
        (added, ";"),
    }


@pytest.mark.parametrize(
    "path", ["decode/beam.py", "extensions/serve/api/auth.py", "text/sentences.py"]
)
def test_what_is_changed_is_still_python_and_means_something_else(path: str) -> None:
    text = (SOURCES / path).read_text(encoding="utf-8")
    original, mutants = ast.dump(ast.parse(text)), list_mutants(path, text)
    assert len(mutants) > 50 and len({each.id for each in mutants}) == len(mutants)
    for each in mutants:
        assert ast.dump(ast.parse(each.apply(text))) != original, each


def test_a_larger_sample_begins_with_the_smaller_one_and_lines_may_move() -> None:
    text = (SOURCES / "decode/beam.py").read_text(encoding="utf-8")
    one, moved = (list_mutants("decode/beam.py", each) for each in (text, "# more\n\n" + text))
    assert [each.id for each in draw(one, 1)] == [each.id for each in draw(moved, 1)]
    assert [each.id for each in draw(one, 1)] != [each.id for each in draw(one, 2)]
    lines = [each.line for each in draw(one, 1)]
    assert len(set(lines)) == len(lines) == len({each.line for each in one})


@pytest.mark.thorough
def test_the_nearest_tests_are_there() -> None:
    assert find_nearest("decode/beam.py")[0] == "unit/decode/test_beam.py"
    assert find_nearest("engine/kernels/native/train_norm.c")[0] == "unit/kernels/test_residual.py"
    assert KERNELS / "train_attend.c" in list_units(KERNELS / "tiles.h")
    for tests in (*FURTHER.values(), TWINS):
        assert all((ROOT / "tests" / each).is_file() for each in tests)
    for mutant in {each.path: each for each in list_core()}.values():
        assert find_nearest(mutant.path), mutant.path


def test_what_is_called_equivalent_is_there_and_has_a_reason() -> None:
    listed = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text("utf-8"))["mutant"]
    for each in listed:
        shown = show(each["path"], (SOURCES / each["path"]).read_text(encoding="utf-8"))
        assert (each["before"], each["after"]) in shown, each
        assert len(each["reason"].split()) > 3, each


def test_a_row_is_added_to_that_of_other_seeds_and_others_stay() -> None:
    rows = {"decode": Row((1,), 13, 12), "serve": Row((1, 2), 9, 8)}
    assert read_rows(describe(rows)) == rows
    assert "| all | | 22 | 20 (91 %) |" in describe(rows)
    new = {"serve": Row((7,), 4, 4), "text": Row((7,), 2, 1)}
    assert merge_rows(rows, new) == {
        "decode": Row((1,), 13, 12),
        "serve": Row((1, 2, 7), 13, 12),
        "text": Row((7,), 2, 1),
    }
    assert merge_rows(rows, {"decode": Row((1,), 5, 5)})["decode"] == Row((1,), 5, 5)
    page = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
    assert page.endswith(describe(read_rows(page)))


def test_two_commands_write_the_page_and_neither_what_the_other_wrote(tmp_path: Path) -> None:
    page = tmp_path / "reliability.md"
    write_page(page, "faults\n")
    for section in (f"{TITLE}\nmany\n", f"{TITLE}\nmore\n"):
        write_section(page, section)
        assert page.read_text(encoding="utf-8") == f"faults\n\n{section}"
    write_page(page, "more faults\n")
    assert page.read_text(encoding="utf-8") == f"more faults\n\n{section}"
    assert TITLE in (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
