"""A goal that ends a training: an exam of the model, taken at each validation, or a time limit."""

import time
from collections import deque
from collections.abc import Callable
from statistics import mean, median

from ...translator import Translator

Examine = Callable[[Translator], tuple[bool, str]]  # whether the exam is passed, and its result

WARM = 3  # the first updates also prepare what later ones use
FEWEST, ENOUGH = 8, 1.5  # updates and seconds, before a forecast is made
LATEST = 50  # updates that a forecast is made from
EXAM = 20  # the time of a validation with its exam, in updates, until one was timed


class Forecast:
    """A forecast of the remaining time of a training, from the median of the latest updates.

    A short disturbance does not change the median; a lasting one soon does.
    """

    def __init__(self) -> None:
        self.seen, self.timed = 0, 0.0
        self.updates: deque[float] = deque(maxlen=LATEST)
        self.exams: list[float] = []

    def note(self, seconds: float) -> None:
        """Take the time of one update into account."""
        self.seen += 1
        if self.seen > WARM:
            self.updates.append(seconds)
            self.timed += seconds

    @property
    def is_sure(self) -> bool:
        """Return whether enough updates were timed for a forecast."""
        return len(self.updates) >= FEWEST and self.timed >= ENOUGH

    @property
    def pace(self) -> float:
        """Return the seconds that an update takes."""
        return median(self.updates)

    def estimate(self, updates: int, exams: int) -> float:
        """Return the seconds that so many updates and exams will take."""
        exam = mean(self.exams) if self.exams else EXAM * self.pace
        return updates * self.pace + exams * exam


class Goal:
    """A goal that ends a training once its model passes an exam or its minutes are over.

    The minutes begin with the first update, which is always made. The same goal may be used when
    the training is resumed. It works for a single process only.
    """

    def __init__(
        self, examine: Examine, minutes: float, clock: Callable[[], float] = time.monotonic
    ):
        self.examine, self.minutes, self.clock = examine, minutes, clock
        self.forecast = Forecast()
        self.began: float | None = None
        self.latest = clock()
        self.was_told = self.is_reached = self.is_out_of_time = False

    @property
    def is_over(self) -> bool:
        """Return whether the training is to end."""
        return self.is_reached or self.is_out_of_time

    def note(self, seconds: float, updates: int, exams: int) -> str:
        """Take one update into account; `updates` and `exams` are those to come.

        Return the forecast in words when it is first possible; "" before and after that.
        """
        self.latest = self.clock()
        if self.began is None:
            self.began = self.latest - seconds
        used = (self.latest - self.began) / 60
        self.is_out_of_time = used >= self.minutes
        self.forecast.note(seconds)
        if self.was_told or not self.forecast.is_sure:
            return ""
        self.was_told = True
        left = self.forecast.estimate(updates, exams)
        text = (
            f"This will take about {tell_time(left)} here, at {self.forecast.pace:.3f} s an update"
        )
        if used + left / 60 > self.minutes:
            text += f"; it stops after {self.minutes:g} minutes in any case"
        return text

    def take_exam(self, translator: Translator, updates: int, exams: int) -> str:
        """Examine a model and return the result in words, with the time that is left."""
        self.is_reached, text = self.examine(translator)
        self.forecast.exams.append(self.clock() - self.latest)
        if self.is_reached or not updates or not self.forecast.is_sure:
            return text
        return f"{text}; about {tell_time(self.forecast.estimate(updates, exams))} left"


def tell_time(seconds: float) -> str:
    """Return a rough time in words: 40 seconds, 3 minutes."""
    if seconds < 90:
        return f"{max(10, 10 * round(seconds / 10))} seconds"
    return f"{round(seconds / 60)} minutes"
