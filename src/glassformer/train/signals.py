"""Signals: Ctrl-C or SIGTERM ends a training after the current update; a second one at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def listen_for_stop(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first signal during the body; outside the main thread, do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def answer(number: int, frame: FrameType | None) -> None:
        stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    former = {each: signal.signal(each, answer) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)
