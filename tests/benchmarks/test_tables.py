"""A row says what was measured, and a table says on what."""

from __future__ import annotations

import json

from benchmarks.tables import Row, Table, compare, middle


def test_the_ratio_is_taken_round_by_round() -> None:
    """A machine twice as slow in one round slows both sides."""
    ratio, spread = compare([10.0, 5.0, 12.0], [5.0, 2.5, 4.0])
    assert ratio == 2.0
    assert spread == (2.0, 3.0)


def test_the_middle_of_what_was_answered() -> None:
    assert middle([{"x": 3}, {"x": 1}, {"x": 2}], "x") == 2


def test_every_way_out_says_the_same() -> None:
    first = Row("ours", None, {"speed": 2000.0})
    second = Row("theirs", "1.0", {"speed": 1000.0}, "ours", 2.0, (1.9, 2.1))
    third = Row("others", "3", {"speed": 10.0}, "ours", 200.0, (1.0, 300.0), "lengths differ by 9%")
    table = Table(
        "T",
        "a command",
        "a machine",
        {"n": 3},
        {"fp32": 0.5},
        [first, second, third],
        {"speed": "tokens/s|,.0f", "other": "absent|.1f"},
    )
    lines = table.to_markdown().splitlines()
    assert "a machine" in lines[1] and "fp32 0.50" in lines[1] and lines[2] == "`a command`"
    assert lines[4:] == [
        "| engine | tokens/s | absent | ours |",
        "|---|--:|--:|--:|",
        "| ours | 2,000 |  |  |",
        "| theirs 1.0 | 1,000 |  | 2.00x (1.90-2.10) |",
        "| others 3 | 10 |  | not compared: lengths differ by 9% |",
    ]
    rows = json.loads(json.dumps(table.to_json()))["rows"]
    assert [(row["engine"], row["against"], row["ratio"]) for row in rows] == [
        ("ours", None, None),
        ("theirs", "ours", 2.0),
        ("others", "ours", 200.0),
    ]
