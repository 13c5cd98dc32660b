"""A cache of translated sentences, within a number of bytes."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from pydantic import ConfigDict, TypeAdapter

from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Problem, Sentence, Translation
from glassformer.translator import Translator

ENTRY = 220  # bytes of a key, its place in the cache, and the object of an answer; measured
Question = tuple[str, str, str]  # as `Sentence.question`


class Answer(NamedTuple):
    """The part of a translated sentence that the cache keeps: what `Sentence.take` takes."""

    translations: list[Translation]
    problems: tuple[Problem, ...]
    retried: bool


ANSWER = TypeAdapter(Answer, config=ConfigDict(ser_json_inf_nan="constants"))


class AnswerCache:
    """The translations of sentences as JSON, the least recently used dropped first.

    As objects they would take six times the memory. `most`: bytes; 0 keeps nothing. `identify`
    returns the digest of a translator's model: the key of an answer is a digest of this digest, the
    settings of the search, and the sentence. Samples are not kept.
    """

    def __init__(
        self, most: int, identify: Callable[[Translator], str | None] = lambda translator: None
    ) -> None:
        self.most, self.identify = most, identify
        self.size = self.hits = self.misses = 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def find(
        self, translator: Translator, sentences: Sequence[Sentence], options: SearchOptions
    ) -> dict[Question, Sentence]:
        """Return the translated sentences that are known, by what is asked of them."""
        search = self._spell(translator, options)
        if search is None:
            return {}
        different = {each.question: each for each in sentences}
        answers = dict[Question, bytes]()
        with self._lock:
            for question in different:
                key = _digest(search, question)
                if kept := self._kept.get(key):
                    self._kept.move_to_end(key)
                    answers[question] = kept
            hits = sum(each.question in answers for each in sentences)
            self.hits += hits
            self.misses += len(sentences) - hits
        return {
            question: different[question]._replace(**ANSWER.validate_json(kept)._asdict())
            for question, kept in answers.items()
        }

    def keep(
        self, translator: Translator, sentences: Sequence[Sentence], options: SearchOptions
    ) -> None:
        """Add translated sentences, and drop the least recently used ones until all fit."""
        search = self._spell(translator, options)
        if search is None:
            return
        packed = {_digest(search, each.question): _pack(each) for each in sentences}
        with self._lock:
            for key, answer in packed.items():
                self.size += measure(answer) - measure(self._kept.pop(key, None))
                self._kept[key] = answer
            while self.size > self.most:
                self.size -= measure(self._kept.popitem(last=False)[1])

    def _spell(self, translator: Translator, options: SearchOptions) -> str | None:
        """Return the model and the search as text; None if the answers are not kept."""
        if not self.most or options.decode.search == "sample":
            return None
        if not (digest := self.identify(translator)):
            return None
        return json.dumps([digest, options.n_best, options.decode.model_dump(mode="json")])


def measure(answer: bytes | None) -> int:
    """Return the bytes that an answer takes in the cache."""
    return 0 if answer is None else ENTRY + len(answer)


def _digest(search: str, question: Question) -> bytes:
    return sha256(json.dumps([search, *question]).encode()).digest()


def _pack(sentence: Sentence) -> bytes:
    answer = Answer([*sentence.translations], sentence.problems, sentence.retried)
    return ANSWER.dump_json(answer)
