"""A cache of translated sentences, within a number of bytes."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Sentence
from glassformer.translator import Translator

ENTRY = 400  # bytes of a key and its place in the cache


class AnswerCache:
    """The translations of sentences, the least recently used dropped first.

    `most`: bytes; 0 keeps nothing. `identify` returns the digest of a translator's model: the key
    of an answer is this digest, the settings of the search, and the sentence. Samples are not kept.
    """

    def __init__(
        self, most: int, identify: Callable[[Translator], str | None] = lambda translator: None
    ) -> None:
        self.most, self.identify = most, identify
        self.size = self.hits = self.misses = 0
        self._kept: OrderedDict[Hashable, tuple[Sentence, int]] = OrderedDict()
        self._lock = threading.Lock()

    def find(
        self, translator: Translator, sentences: Sequence[Sentence], options: SearchOptions
    ) -> dict[Hashable, Sentence]:
        """Return the translated sentences that are known, by what is asked of them."""
        search = self._name(translator, options)
        known = dict[Hashable, Sentence]()
        if search is None:
            return known
        with self._lock:
            for question in (each.question for each in sentences):
                if kept := self._kept.get((search, question)):
                    self._kept.move_to_end((search, question))
                    known[question] = kept[0]
            hits = sum(each.question in known for each in sentences)
            self.hits += hits
            self.misses += len(sentences) - hits
        return known

    def keep(
        self,
        translator: Translator,
        sentences: Sequence[Sentence],
        options: SearchOptions,
    ) -> None:
        """Add translated sentences, and drop the least recently used ones until all fit."""
        search = self._name(translator, options)
        if search is None:
            return
        with self._lock:
            for each in sentences:
                answer = each._replace(ids=(), aside=None, constraints=(), hypotheses=())
                size = ENTRY + measure(answer)
                _, before = self._kept.pop((search, each.question), (None, 0))
                self._kept[search, each.question] = answer, size
                self.size += size - before
            while self.size > self.most:
                _, (_, size) = self._kept.popitem(last=False)
                self.size -= size

    def _name(self, translator: Translator, options: SearchOptions) -> Hashable | None:
        """Return the key of model and search; None if the answers are not kept."""
        if not self.most or options.decode.search == "sample":
            return None
        digest = self.identify(translator)
        return digest and (digest, options.decode, options.n_best)


def measure(value: object) -> int:
    """Return the bytes that a value and all that is in it take, shared parts counted again."""
    if isinstance(value, list | tuple):
        return sys.getsizeof(value) + sum(map(measure, value))
    fields = getattr(value, "__dict__", None)
    if fields is None:
        return sys.getsizeof(value)
    return sys.getsizeof(value) + sys.getsizeof(fields) + sum(map(measure, fields.values()))
