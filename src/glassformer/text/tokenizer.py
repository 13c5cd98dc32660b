"""Byte-pair encoding (5.1) that loses nothing: any text comes back, as its NFC.

Spaces stay inside the tokens (" cat"). One is put before every text, so that a first word is the
same token as elsewhere, and is taken away again. A character that the training text did not have
becomes the bytes of its UTF-8: nothing is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from tokenizers import Regex
from tokenizers import Tokenizer as Backend
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Split
from tokenizers.trainers import BpeTrainer

from ..disk import write_text
from ..validation_errors import check_list
from .dropout import merge
from .layout import (
    BYTES,
    CONTROLS,
    FIRST_BYTE,
    FIRST_CHARACTER,
    WORD,
    is_unigram,
    read_layout,
    write_layout,
)
from .unicode import Span, clean, clean_with_spans


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text in tokens. The spans are in order and cover the text as it was given.

    They count characters; the bytes of one character share its span.
    """

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    spans: tuple[Span, ...]


class Tokenizer:
    """Text to ids and back. Ids: pad 0, bos 1, eos 2, then bytes, characters, merged tokens.

    No text yields a control id: whoever needs one adds it.
    """

    def __init__(self, vocabulary: Sequence[str], merges: Sequence[tuple[str, str]]) -> None:
        """The tokens in the order of their ids; the merges in the order in which they apply."""
        self.vocabulary, self.merges = tuple(vocabulary), tuple(merges)
        self._ids = {token: id for id, token in enumerate(self.vocabulary)}
        self._merges = {
            (self._ids[left], self._ids[right]): (rank, self._ids[left + right])
            for rank, (left, right) in enumerate(self.merges)
        }
        self._bytes = [b""] * FIRST_BYTE + [bytes([byte]) for byte in range(256)]
        self._bytes += [token.encode() for token in self.vocabulary[FIRST_CHARACTER:]]
        self._split = Split(Regex(WORD), "isolated")
        self._backend = Backend(BPE(self._ids, list(self.merges), byte_fallback=True))
        self._backend.pre_tokenizer = self._split

    @classmethod
    def train(cls, lines: Iterable[str], vocabulary: int) -> Tokenizer:
        """Learn at most `vocabulary` tokens; fewer, if no two neighbours occur twice.

        Every character of the lines becomes a token: ValueError if there is no room for them.
        """
        check_list("lines", lines)
        characters: set[str] = set()

        def prepare() -> Iterator[str]:
            for line in lines:
                text = _led(clean(line))
                characters.update(text)
                yield text

        learner = Backend(BPE())
        learner.pre_tokenizer = Split(Regex(WORD), "isolated")
        room = max(0, vocabulary - FIRST_CHARACTER)
        trainer = BpeTrainer(vocab_size=room, min_frequency=2, show_progress=False)
        learner.train_from_iterator(prepare(), trainer)
        if not characters:
            raise ValueError("there is no text to learn a vocabulary from")
        if len(characters) > room:
            raise ValueError(
                f"vocabulary={vocabulary} is too small: with {len(characters)} different "
                f"characters in the text it must be at least {FIRST_CHARACTER + len(characters)}"
            )
        merges = [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]
        joined = dict.fromkeys(left + right for left, right in merges)
        return cls([*CONTROLS, *BYTES, *sorted(characters), *joined], merges)

    @classmethod
    def load(cls, path: Path | str) -> Tokenizer:
        """Read a tokenizer.json. ValueError for one that is not ours, or is damaged."""
        if is_unigram(path):  # of an imported model
            from .unigram import Unigram

            return Unigram.load(path)
        return cls(*read_layout(path))

    def save(self, path: Path | str) -> None:
        """Write tokenizer.json, which Hugging Face `tokenizers` can also use by itself."""
        write_text(Path(path), self._layout())

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the saved file."""
        return sha256(self._layout().encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        return self.encode_many([text])[0]

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        check_list("texts", texts)
        found = self._backend.encode_batch_fast([_led(clean(text)) for text in texts])
        return [encoding.ids for encoding in found]

    def tokens(self, text: str) -> Tokens:
        """`encode`, and where in the text each token comes from."""
        cleaned, origins = clean_with_spans(text)
        ids = self._backend.encode(_led(cleaned)).ids
        texts = tuple(self.vocabulary[id] for id in ids)
        return Tokens(tuple(ids), texts, tuple(self._locate(ids, cleaned, origins)))

    def find_unknown(self, text: str) -> list[str]:
        """Return the characters, each once, that are no tokens: the training did not have them."""
        characters = dict.fromkeys(clean(text))
        return [each for each in characters if each not in self._ids and not each.isspace()]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of any ids whatever: controls vanish, what is no character becomes U+FFFD."""
        joined = b"".join(self._bytes[id] if 0 <= id < len(self) else b"\xff" for id in ids)
        return joined.decode("utf-8", errors="replace").removeprefix(" ")

    def decode_many(self, rows: Iterable[Iterable[int]]) -> list[str]:
        return [self.decode(ids) for ids in rows]

    def token(self, id: int) -> str:
        """As it is shown: " cat", "<0x41>" for a byte, "</s>" for a control."""
        if not 0 <= id < len(self):
            raise ValueError(f"there is no token {id}: ids go from 0 to {len(self) - 1}")
        return self.vocabulary[id]

    def sample(self, text: str, dropout: float, random: Random) -> list[int]:
        """`encode` with BPE dropout. For a whole corpus `Sampler` is faster."""
        return [id for word in self.words(text) for id in self.sample_word(word, dropout, random)]

    def words(self, text: str) -> list[str]:
        """What of a text is cut up on its own, leading spaces included."""
        return [word for word, _ in self._split.pre_tokenize_str(_led(clean(text)))]

    def sample_word(self, word: str, dropout: float, random: Random) -> list[int]:
        return merge(self._spell(word), self._merges, dropout, random)

    def build_word(self, word: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The symbols that a word begins as, and the merges that make its tokens, in their order:
        the rank of each, and the symbol before which it closes the gap."""
        symbols, closed = self._spell(word), list[tuple[int, int]]()
        merge(symbols, self._merges, 0, Random(0), closed)
        return symbols, closed

    def _spell(self, word: str) -> list[int]:
        """Characters, and the bytes of those that are no token."""
        symbols: list[int] = []
        for character in word:
            known = self._ids.get(character)
            symbols += [FIRST_BYTE + b for b in character.encode()] if known is None else [known]
        return symbols

    def _locate(self, ids: Sequence[int], text: str, origins: Sequence[Span]) -> Iterator[Span]:
        """The span of each token; `origins` has those of the characters of `text`."""
        text, origins = _led(text), [(0, 0), *origins]
        at, read = 0, 0  # a character, and how many of its bytes have passed
        for id in ids:
            if FIRST_BYTE <= id < FIRST_CHARACTER:
                yield origins[at]
                read += 1
                if read == len(text[at].encode()):
                    at, read = at + 1, 0
            else:
                end = at + len(self.vocabulary[id])
                yield origins[at][0], origins[end - 1][1]
                at = end

    def _layout(self) -> str:
        return write_layout(self.vocabulary, self.merges)


def _led(text: str) -> str:
    """With the space that makes its first word like any other; nothing stays nothing."""
    return text and " " + text
