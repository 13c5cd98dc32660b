"""A sentence, which goes down the stages of translating, and its translations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..decode.sentences import PART, Constraint, Hypothesis
from ..foundation.messages import read_messages
from ..text.symbols import SetAside
from ..text.unicode import Span
from .adapting import AdaptedSentence

Progress = Callable[[int], object]  # called with how many more lines are done


class Part(NamedTuple):
    """A sentence or clause that was translated on its own; logarithms are natural."""

    source: Span  # in the text, in characters
    target: Span  # in the translation, in characters
    tokens: Span  # among the tokens of the translation
    log_prob: float  # of its tokens and its end
    score: float  # log_prob over the length penalty
    finished: bool  # False: cut at the greatest length


class Translation(NamedTuple):
    """The translation of a text, with its log-probabilities; logarithms are natural."""

    text: str
    tokens: list[str]
    log_prob: float  # the sum of the parts'
    score: float  # the sum of the parts'
    token_log_probs: list[float]  # for each part, one a token and then its end mark's
    finished: bool  # whether every part is finished
    parts: list[Part]

    def __repr__(self) -> str:
        size = f"{len(self.tokens)} tokens, log-probability {self.log_prob:.3f}"
        return f"<Translation {self.text!r}: {size}{'' if self.finished else ', not finished'}>"


class Problem(NamedTuple):
    """A problem with a translation, or with its source text for this model."""

    kind: str  # one of `quality_check.CAPS`
    said: str  # for people
    part: int = 0  # the index of the translation's part

    @classmethod
    def describe(cls, kind: str, **details: object) -> Problem:
        """Return a problem of this kind, in the words of messages.json."""
        return cls(kind, read_messages().say(f"problem.{kind}", "en", **details))


class Scored(NamedTuple):
    """The log-probability of a given translation; logarithms are natural."""

    log_prob: float
    tokens: list[str]
    token_log_probs: list[float]  # one a token, the end's last


class Sentence(NamedTuple):
    """A sentence or clause that is translated on its own; each stage returns it with more in it."""

    text: str
    line: int = 0  # the number of its text, from 0
    part: int = 0  # among the sentences of its text
    span: Span = (0, 0)  # in its text, in characters
    context: str = ""  # the sentences before it that are read with it, a line each
    prefix: str = ""  # what its translation begins with
    # Reading adds:
    ids: Sequence[int] = ()  # what the network reads: tags, context, sentence, end mark
    adapted: AdaptedSentence | None = None  # how the network reads it, if not as it is
    aside: SetAside | None = None  # what of that the network does not read
    # Searching adds:
    constraints: Sequence[Constraint] = ()  # what its translation contains
    hypotheses: Sequence[Hypothesis] = ()  # the best first
    # Writing adds:
    translations: Sequence[Translation] = ()  # the best first
    is_whole: bool = True  # whether the best one has all that it has to repeat
    # Checking adds:
    problems: tuple[Problem, ...] = ()  # of the best translation
    retried: bool = False  # whether that is the outcome of a second search

    @property
    def read_text(self) -> str:
        """Return what the tokenizer reads of the sentence."""
        read = self.aside or self.adapted
        return read.text if read else self.text

    @property
    def question(self) -> tuple[str, str, str]:
        """Return what the translation depends on, besides the model and its search."""
        return self.context, self.text, self.prefix

    def take(self, other: Sentence) -> Sentence:
        """Return this sentence with the translations and problems of one that is the same."""
        return self._replace(
            translations=other.translations, problems=other.problems, retried=other.retried
        )

    @property
    def key(self) -> int:
        """Return the key that samples of its translation are drawn with."""
        return self.line + PART * self.part


class TranslatedText(NamedTuple):
    """A text and its translation, with their line breaks, and the sentences of both."""

    source: str
    text: str
    parts: tuple[tuple[Span, Span], ...]  # of each sentence, in the source and in the translation
    sentences: Sequence[Sentence]


class CheckedTranslation(NamedTuple):
    """The translations of a text, best first, with the problems of the first one."""

    best: list[Translation]
    problems: tuple[Problem, ...]
    confidence: float  # the geometric mean of its tokens' probabilities, capped by its problems
    retried: bool  # whether a part of it is the outcome of a second search
    sentences: Sequence[Sentence] = ()  # of the text

    def to_json(self) -> dict[str, object]:
        problems = [each._asdict() for each in self.problems]
        return {"confidence": self.confidence, "problems": problems, "retried": self.retried}
