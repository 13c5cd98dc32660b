"""A training is asked to stop by signals: the first one saves, the second ends it."""

import signal

import pytest

from glassformer.train.run.process import listen_for_stop


def test_a_second_signal_while_the_first_is_answered_ends_it() -> None:
    answers: list[str] = []

    def stop() -> None:
        answers.append("asked to stop")
        signal.raise_signal(signal.SIGINT)

    former = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), listen_for_stop(stop):
        signal.raise_signal(signal.SIGINT)
    assert answers == ["asked to stop"]
    assert signal.getsignal(signal.SIGINT) == former
