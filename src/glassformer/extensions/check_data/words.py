"""The words of lines, for hashing and for the lexicon, and a sample of the lines of a corpus."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from unicodedata import normalize
from zlib import crc32

import numpy as np

from glassformer.data.files import cut_chunks
from glassformer.text.spacing import SOUTH_EAST

from .characters import word_table
from .ragged import MARGIN, Block, RaggedArray

STEM = 5  # letters: words with the same stem count as one
MOST, RAREST = 20_000, 3  # the most words of a vocabulary (16 bits), and the least count of each

# Scripts written without spaces: every character is a word.
UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff])")
FEW_LETTERS = re.compile(f"[{SOUTH_EAST}]")  # of these, scripts in which a letter says little
FIRST_UNSPACED = 0x0E00
IN_A_ROW = 3  # characters that stand for a word
DIGITS = re.compile(r"\d+")
LARGEST = 50_000  # pairs of a sample

Texts = Iterable[str]  # to be read several times


def split_words(block: Block) -> list[list[str]]:
    """Return the words of each line, without case and punctuation."""
    codes = word_table()[block.codes]
    codes[block.starts - len(MARGIN)] = ord("\n")  # the only line breaks left
    joined = normalize("NFC", codes.tobytes().decode("utf-32-le"))
    if codes.max(initial=0) >= FIRST_UNSPACED:
        joined = UNSPACED.sub(r" \1 ", joined)
    return [line.split() for line in joined.split("\n")[1:]]


def gather_words(texts: Texts) -> list[list[str]]:
    """Return the words of all lines of a text."""
    return [words for block in cut_chunks(texts, 10_000) for words in split_words(Block(block))]


def join_characters(words: Sequence[str], script: re.Pattern[str]) -> list[str]:
    """Return the words of a line; each character of a script goes on with the two after it."""
    return [
        "".join(words[place : place + IN_A_ROW]) if script.match(word) else word
        for place, word in enumerate(words)
    ]


class Vocabulary:
    """The vocabulary of one side: its common words have numbers; other words become hashes."""

    def __init__(self, lines: Iterable[Sequence[str]]) -> None:
        counts = Counter(stem for words in lines for stem in {word[:STEM] for word in words})
        common = (word for word, count in counts.most_common(MOST) if count >= RAREST)
        self.numbers = {word: number for number, word in enumerate(common)}

    def __len__(self) -> int:
        return len(self.numbers)

    def look_up(self, lines: Sequence[Sequence[str]]) -> tuple[RaggedArray, RaggedArray]:
        """Return the known words of each line as numbers, and the others as hashes, each once."""
        known, rare = [], []
        get = self.numbers.get
        for words in lines:
            numbers = {word: get(word[:STEM]) for word in words}
            known.append(list({n: None for n in numbers.values() if n is not None}))
            rare.append([_hash(word) for word, n in numbers.items() if n is None])
        return RaggedArray.join(known, np.uint16), RaggedArray.join(rare)


def _hash(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


class Sample:
    """A sample of evenly spread pairs, and the number of lines of each side."""

    def __init__(self, source: Texts, target: Texts) -> None:
        kept: list[tuple[str | None, str | None]] = []
        every = 1
        self.counts = [0, 0]
        for number, pair in enumerate(zip_longest(source, target)):
            self.counts[0] += pair[0] is not None
            self.counts[1] += pair[1] is not None
            if number % every == 0:
                kept.append(pair)
                if len(kept) > LARGEST:
                    kept, every = kept[::2], 2 * every
        self.texts = [[pair[side] or "" for pair in kept] for side in (0, 1)]
        self.blocks = [Block(texts) for texts in self.texts]
        self.words = [split_words(block) for block in self.blocks]
