"""A cache of translated sentences, within a number of bytes."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from glassformer.checks.quality_check import Judged
from glassformer.config import Decode
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
        self._kept: OrderedDict[Hashable, tuple[Judged, int]] = OrderedDict()
        self._lock = threading.Lock()

    def find(
        self, translator: Translator, sentences: Sequence[str], decode: Decode, n_best: int
    ) -> dict[str, Judged]:
        """Return those sentences whose translations are known, with them."""
        how = self._name(translator, decode, n_best)
        found = dict[str, Judged]()
        if how is None:
            return found
        with self._lock:
            for text in sentences:
                if kept := self._kept.get((how, text)):
                    self._kept.move_to_end((how, text))
                    found[text] = kept[0]
            hits = sum(text in found for text in sentences)
            self.hits += hits
            self.misses += len(sentences) - hits
        return found

    def keep(
        self,
        translator: Translator,
        sentences: Sequence[str],
        decode: Decode,
        n_best: int,
        found: Sequence[Judged],
    ) -> None:
        """Add translations, and drop the least recently used ones until all fit."""
        how = self._name(translator, decode, n_best)
        if how is None:
            return
        with self._lock:
            for text, judged in zip(sentences, found, strict=True):
                size = ENTRY + measure(text) + measure(judged)
                _, before = self._kept.pop((how, text), (None, 0))
                self._kept[how, text] = judged, size
                self.size += size - before
            while self.size > self.most:
                _, (_, size) = self._kept.popitem(last=False)
                self.size -= size

    def _name(self, translator: Translator, decode: Decode, n_best: int) -> Hashable | None:
        """Return the key of model and search; None if the answers are not kept."""
        if not self.most or decode.search == "sample":
            return None
        digest = self.identify(translator)
        return digest and (digest, decode, n_best)


def measure(value: object) -> int:
    """Return the bytes that a value and all that is in it take, shared parts counted again."""
    if isinstance(value, list | tuple):
        return sys.getsizeof(value) + sum(map(measure, value))
    fields = getattr(value, "__dict__", None)
    if fields is None:
        return sys.getsizeof(value)
    return sys.getsizeof(value) + sys.getsizeof(fields) + sum(map(measure, fields.values()))
