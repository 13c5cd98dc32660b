"""Progress on stderr: a bar on a terminal; elsewhere, as in a log file, a line now and then."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

EVERY = 30.0  # seconds between two lines without a terminal
LATEST = 11  # lines whose speed counts for the time that is left: the last five minutes
SOON = 1.0  # only what takes longer than these seconds gets a bar

Advance = Callable[..., None]  # advance(done, total=None, note=""): so much is done by now


class Reporter:
    """A reporter on stderr: what happens, in sentences, and how far it has got."""

    def __init__(self, quiet: bool = False):
        self.quiet, self.said = quiet, set[str]()
        self.bar: Any = None  # that of the phase under way

    def say(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def say_once(self, text: str) -> None:
        """Say what may come up again, but not again."""
        if text not in self.said:
            self.said.add(text)
            self.say(text)

    @contextmanager
    def phase(self, name: str, total: int | None = None, begin: int = 0) -> Iterator[Advance]:
        """Show the progress of a phase; call the yielded function with how much is done.

        It goes on from `begin`.
        """
        if self.quiet or not sys.stderr.isatty():
            lines = ProgressLines(name, total, begin, self.say)
            yield lines.advance
            lines.end()
            return
        outer, self.bar = self.bar, self.bar or make_bar()  # a phase in a phase is a line more
        bar = self.bar
        task, begun = bar.add_task(name, total=total, completed=begin, note=""), monotonic()

        def advance(done: int, total: int | None = total, note: str = "") -> None:
            bar.update(task, completed=done, total=total, note=note)
            if not bar.live.is_started and monotonic() - begun > SOON:
                bar.start()

        try:
            yield advance
        finally:
            bar.remove_task(task)
            self.bar = outer
            if outer is None and bar.live.is_started:
                bar.stop()

    @contextmanager
    def counting(self, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show the progress of a phase; call the yielded function with how many more are done."""
        done = 0
        with self.phase(name, total) as advance:

            def count(more: int) -> None:
                nonlocal done
                done += more
                advance(done)

            yield count


def make_bar() -> Any:
    """Return a bar, a line for each task; it is erased at its end."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True, highlight=False),
        transient=True,
        redirect_stdout=False,
    )


class ProgressLines:
    """Lines of progress: how much is done, how fast, and the time that is left."""

    def __init__(self, what: str, total: int | None, begin: int, say: Callable[[str], Any]):
        self.what, self.total, self.say = what, total, say
        self.done = self.first = begin
        self.begun = self.told = monotonic()
        # How much was done, and when, in the last minutes: a machine that others use, too, is not
        # always as fast.
        self.latest = deque([(self.begun, begin)], maxlen=LATEST)

    def advance(self, done: int, total: int | None = None, note: str = "") -> None:
        """Take how much is done, and print a line if the last one is half a minute old."""
        total = total or self.total
        self.done, now = done, monotonic()
        if now - self.told < EVERY:
            return
        self.told = now
        self.latest.append((now, done))
        before, then = self.latest[0]
        rate = (done - then) / (now - before)
        message = f"{self.what}: {done:,}"
        if total:
            message += f" of {total:,} ({100 * done / total:.0f} %)"
        message += f", {rate:,.{0 if rate >= 100 else 1}f} a second"
        if total and rate:
            message += f", {spell_time((total - done) / rate)} left"
        self.say(f"{message}, {note}" if note else message)

    def end(self) -> None:
        """Print the last line, if there were any before it."""
        if self.told != self.begun:
            done = self.done - self.first
            self.say(f"{self.what}: {done:,} in {spell_time(monotonic() - self.begun)}")


def spell_time(seconds: float) -> str:
    """Return hours, minutes and seconds, as 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
