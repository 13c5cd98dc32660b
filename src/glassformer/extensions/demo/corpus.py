"""The built-in corpus: English and French sentences, and the exam of a model that learned them.

It is made for looking inside a model. In "The animal didn't cross the street because it was too
tired" only the adjective says which noun `it` refers to, and French il or elle is wrong unless the
model found that noun. `python -m tools.demo_corpus` writes the file from a grammar, which also
knows Chinese and other directions.
"""

import gzip
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

FILE = Path(__file__).with_name("demo.json.gz")
GOAL = (0.98, 0.99)  # the shares of right answers to pass: sentences, riddles
REHEARSAL = (200, 800)  # questions of each kind: first a few, then enough to be sure

Split = Literal["train", "valid", "test"]
Translate = Callable[[list[str]], Sequence[str]]
Questions = Mapping[str, Collection[str]]  # a source -> all its right translations
Riddles = Mapping[str, str]  # a source in which `it` may be two nouns -> il or elle
T = TypeVar("T")


class DemoCorpus(NamedTuple):
    """The corpus from English to French; no words of a question were together in training."""

    pairs: Mapping[Split, list[tuple[str, str]]]
    notes: Questions  # the sentences by which the Transformer is explained
    questions: Mapping[Split, Questions]
    riddles: Mapping[Split, Riddles]


@dataclass(frozen=True)
class ExamMark:
    """The result of one kind of questions: how many were asked, and the wrong answers."""

    asked: int
    wrong: list[tuple[str, str]]  # a source, and its wrong translation

    @property
    def share(self) -> float:
        return 1 - len(self.wrong) / self.asked

    def __str__(self) -> str:
        return f"{100 * self.share:.1f} % of {self.asked:,}"


@cache
def read_corpus() -> DemoCorpus:
    raw = json.loads(gzip.decompress(FILE.read_bytes()))
    pairs = {split: [(source, target) for source, target in rows] for split, rows in raw[0].items()}
    return DemoCorpus(pairs, *raw[1:])


def write_pairs(
    folder: Path, languages: tuple[str, str], pairs: Mapping[Split, Sequence[tuple[str, str]]]
) -> None:
    """Write the pairs of each split to a new folder, as train.en, train.fr and so on."""
    folder.mkdir(parents=True)
    for split, rows in pairs.items():
        for language, lines in zip(languages, zip(*rows, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8", newline="\n")


def mark_exact(translate: Translate, questions: Questions) -> ExamMark:
    """Ask for translations: one is right if it is any of those that the grammar allows."""
    return _mark(translate, list(questions), lambda text, answer: answer in questions[text])


def mark_pronouns(translate: Translate, riddles: Riddles) -> ExamMark:
    """Ask riddles: a French translation is right if it has the right pronoun."""
    return _mark(
        translate, list(riddles), lambda text, answer: has_pronoun(answer, only=riddles[text])
    )


def has_pronoun(translation: str, *, only: str) -> bool:
    """Return whether a French translation has this one of il and elle, and not the other."""
    return set(re.findall(r"\b(?:il|elle)\b", translation.lower())) == {only}


def has_passed(exact: ExamMark, resolved: ExamMark) -> bool:
    """Return whether a model has reached GOAL."""
    return all(mark.share >= share for mark, share in zip((exact, resolved), GOAL, strict=True))


def take_exam(translate: Translate) -> tuple[ExamMark, ExamMark]:
    """Return the marks of a model on held-out sentences and riddles."""
    corpus = read_corpus()
    exact = mark_exact(translate, corpus.questions["test"])
    return exact, mark_pronouns(translate, corpus.riddles["test"])


def rehearse(translate: Translate) -> tuple[bool, str]:
    """Give a model the questions of the exam, but from the validation split.

    Return whether it makes at most half the mistakes that GOAL allows, and the shares in words.
    """
    corpus = read_corpus()
    for count in REHEARSAL:
        exact = mark_exact(translate, _first(corpus.questions["valid"], count))
        resolved = mark_pronouns(translate, _first(corpus.riddles["valid"], count))
        shares = zip((exact, resolved), GOAL, strict=True)
        is_ready = all(mark.share >= (1 + share) / 2 for mark, share in shares)
        if not is_ready:
            break
    return is_ready, f"{exact} new sentences and {resolved} new riddles are right"


def _first(asked: Mapping[str, T], count: int) -> dict[str, T]:
    return dict(islice(asked.items(), count))


def _mark(
    translate: Translate, sources: list[str], is_right: Callable[[str, str], bool]
) -> ExamMark:
    answers = zip(sources, translate(sources), strict=True)
    return ExamMark(len(sources), [each for each in answers if not is_right(*each)])
