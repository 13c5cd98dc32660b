"""What one sees of a long command where standard error is no terminal."""

from __future__ import annotations

import io
import sys

import pytest

from glassformer.cli import main
from glassformer.cli.terminal import show_progress
from glassformer.foundation import progress
from glassformer.translate.searching import Searcher


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "monotonic", made)
    return made


def test_a_line_every_half_a_minute(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("translating", 10_000) as tell:
        for _ in range(20):
            clock.now += 9
            tell(500)
    lines = capsys.readouterr().err.splitlines()
    # 500 lines in 9 s are 55.6 a second; it is told after 36, 72, ... s, and how long it took.
    assert lines[0] == "translating: 2,000 of 10,000 (20 %), 55.6 a second, 0:02:24 left"
    assert len(lines) == 180 // 36 + 1 and lines[-1] == "translating: 10,000 in 0:03:00"
    left = [line.split(", ")[-1] for line in lines[:-1]]
    assert left == [f"0:0{n // 60}:{n % 60:02} left" for n in (144, 108, 72, 36, 0)]


def test_the_time_left_follows_the_speed_of_the_last_minutes(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """A machine that others use, too, was fast an hour ago and is slow now."""
    with show_progress("training", 100_000) as tell:
        for rate in (100, 1):
            for _ in range(20):
                clock.now += 40
                tell(40 * rate)
    lines = capsys.readouterr().err.splitlines()
    assert " 100 a second" in lines[10] and " 1.0 a second" in lines[-2]
    done = 20 * 40 * 101
    assert lines[-2].startswith(f"training: {done:,} of")


def test_without_a_total_there_is_no_time_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress("checking") as tell:
        clock.now += 3600
        tell(3_600_000)
    assert capsys.readouterr().err.splitlines() == [
        "checking: 3,600,000, 1,000 a second",
        "checking: 3,600,000 in 1:00:00",
    ]


def test_what_is_quick_or_fails_says_nothing_more(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress("translating", 10) as tell:
        clock.now += 29
        tell(10)
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="line 7"), show_progress("translating", 10) as tell:
        clock.now += 40
        tell(6)
        raise ValueError("line 7")
    assert capsys.readouterr().err.count("\n") == 1


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_phase_within_a_phase_shares_its_bar(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a validation within a training, whose messages stand above the bar."""
    screen, report = Screen(), progress.Reporter()
    monkeypatch.setattr(sys, "stderr", screen)
    with report.phase("training", 9, 3) as advance:
        clock.now += 2
        advance(4, note="loss 2.5")
        with report.counting("validating", 5) as count:
            count(5)
            report.say("[red] is no markup")
        advance(5)
    assert all(text in screen.getvalue() for text in ("training", "validating", "loss 2.5"))
    assert "[red] is no markup" in screen.getvalue() and report.bar is None


def test_a_training_that_goes_on_does_not_count_what_was_done(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.Reporter().phase("training", 400, 300) as advance:
        clock.now += 40
        advance(320, note="loss 2.5")
    first, last = capsys.readouterr().err.splitlines()
    assert first == "training: 320 of 400 (80 %), 0.5 a second, 0:02:40 left, loss 2.5"
    assert last == "training: 20 in 0:00:40"


def test_translate_shows_it(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line from a pipe, though the translations go to a pipe too."""
    search = Searcher.search

    def search_slowly(*given: object) -> object:
        clock.now += 31
        return search(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Searcher, "search", search_slowly)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The cat.\nThe dog.\n")))
    assert main(["translate", "demo", "--precision", "fp32", "--chunk", "1"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 2
    told = [line for line in err.splitlines() if line.startswith("translating:")]
    assert [line.split(",")[0] for line in told] == [
        "translating: 1",
        "translating: 2",
        "translating: 2 in 0:01:02",
    ]
