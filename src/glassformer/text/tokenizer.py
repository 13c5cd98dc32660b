"""A byte-pair encoding tokenizer (paper 5.1) without loss: decoding returns the NFC of the text.

Without merges its tokens are the characters. Spaces stay inside the tokens (" cat"). A space is put
before every text, so that its first word has the same tokens as elsewhere, and decoding removes it.
A character that the training text did not contain is encoded as its UTF-8 bytes, so no character is
unknown. A normalization that changes more than the form of characters is applied before; decoding
returns what it leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from ..foundation.disk import write_text
from ..foundation.validation_errors import check_list
from .characters import CharacterMap, count_in_tokens
from .layout import (
    FIRST_BYTE,
    FIRST_CHARACTER,
    WORD,
    is_tag,
    write_layout,
)
from .normalization import PLAIN, Normalization
from .unicode import Span

Sampling = Literal["dropout", "sampling_alpha"]  # settings of [text]

if TYPE_CHECKING:  # a model is opened without them
    from random import Random

    from tokenizers import Tokenizer as Backend
    from tokenizers.pre_tokenizers import Split


class Tokens(NamedTuple):
    """A text as tokens, with the span of each in the text that was given.

    Spans are in order, cover the text and count characters; the bytes of one character share its
    span.
    """

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    spans: tuple[Span, ...]


class Tokenizer:
    """A BPE tokenizer. Ids: pad 0, bos 1, eos 2, then bytes, characters, merged tokens, tags.

    No text yields a control id or a tag, like <2de>: callers that need one add it. `sampling` is
    the setting by which other segmentations are drawn.
    """

    sampling: ClassVar[Sampling] = "dropout"
    has_character_map: ClassVar[bool] = True  # whether texts may be read through one
    _twin: Tokenizer | None = None  # the same tokens without a map of characters

    def __init__(
        self,
        vocabulary: Sequence[str],
        merges: Sequence[tuple[str, str]],
        normalization: Normalization = PLAIN,
    ) -> None:
        """Take the tokens in the order of their ids, and the merges in the order of their ranks."""
        self.merges = tuple(merges)
        self._take(vocabulary, normalization)

    def _take(self, vocabulary: Sequence[str], normalization: Normalization) -> None:
        """Take a vocabulary that begins with the controls and the bytes."""
        self.vocabulary, self.normalization = tuple(vocabulary), normalization
        self._ids = {token: id for id, token in enumerate(self.vocabulary)}
        tags = (token for token in self.vocabulary[FIRST_CHARACTER:] if token[:1] == "<")
        self.tags = {token: self._ids[token] for token in tags if is_tag(token)}

    @cached_property
    def _split(self) -> Split:
        return make_split()

    @cached_property
    def _backend(self) -> Backend:
        """Return the tokenizer of Hugging Face that encodes; opening a model does not need it."""
        if self._twin:
            return self._twin._backend
        from tokenizers import Tokenizer as Backend
        from tokenizers.models import BPE

        backend = Backend(BPE(self._ids, list(self.merges), byte_fallback=True))
        backend.pre_tokenizer = self._split
        return backend

    @cached_property
    def _merges(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return the rank of each merge, and what it makes; opening a model does not need it."""
        return {
            (self._ids[left], self._ids[right]): (rank, self._ids[left + right])
            for rank, (left, right) in enumerate(self.merges)
        }

    @cached_property
    def _bytes(self) -> list[bytes]:
        """Return the text of each token in UTF-8: nothing for controls and tags."""
        controls, single = [b""] * FIRST_BYTE, [bytes([byte]) for byte in range(256)]
        texts = [token.encode() for token in self.vocabulary]
        for id in self.tags.values():
            texts[id] = b""
        return [*controls, *single, *texts[FIRST_CHARACTER:]]

    def with_tags(self, tags: Sequence[str]) -> Tokenizer:
        """Return the tokenizer with further tokens, which no text yields: callers add them."""
        more = [tag for tag in tags if tag not in self._ids]
        return self._renew(more, self.normalization) if more else self

    def with_normalization(self, normalization: Normalization) -> Tokenizer:
        """Return the tokenizer with another normalization before it."""
        return self if normalization == self.normalization else self._renew((), normalization)

    def know_characters(
        self, counts: Mapping[str, int] | None, *, is_source: bool, keeps_narrow: bool = False
    ) -> Tokenizer:
        """Return the same tokens, with texts read through a map to characters that are known.

        counts: see `CharacterMap`; without them those in the tokens are counted. The tokens of an
        imported model are read as its own toolkit does.
        """
        if not self.has_character_map:
            return self
        counted = (
            counts if counts is not None else count_in_tokens(self.vocabulary[FIRST_CHARACTER:])
        )
        known = CharacterMap(
            counted,
            self._ids.__contains__,
            is_source=is_source,
            is_counted=counts is not None,
            keeps_narrow=keeps_narrow,
        )
        twin = copy(self)
        twin.normalization, twin._twin = self.normalization._replace(characters=known), self
        return twin

    def rename(self, names: Mapping[str, str]) -> Tokenizer:
        """Return a tokenizer for writing alone, which writes some tokens otherwise.

        names: what is written for a token, whose space before it stays.
        """
        twin = copy(self)
        twin.vocabulary = tuple(
            " " * each.startswith(" ") + names[bare] if (bare := each.strip(" ")) in names else each
            for each in self.vocabulary
        )
        twin.__dict__.pop("_bytes", None)
        return twin

    def _renew(self, tags: Sequence[str], normalization: Normalization) -> Tokenizer:
        return Tokenizer([*self.vocabulary, *tags], self.merges, normalization)

    def find_tags(self, tags: Sequence[str]) -> list[int]:
        """Return the ids of tags. ValueError for one that is not in the vocabulary."""
        for tag in tags:
            if tag not in self.tags:
                known = f"known here: {', '.join(self.tags)}" if self.tags else "there are none"
                raise ValueError(f"{tag} is no tag of these tokens; {known}")
        return [self.tags[tag] for tag in tags]

    def save(self, path: Path | str) -> None:
        """Write tokenizer.json, which Hugging Face `tokenizers` can also read."""
        write_text(Path(path), self._layout())

    def __len__(self) -> int:
        return len(self.vocabulary)

    def has_token(self, token: str) -> bool:
        """Return whether a text is one token, such as " cat" with the space before a word."""
        return token in self._ids

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the saved file."""
        from hashlib import sha256

        return sha256(self._layout().encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        return self.encode_many([text])[0]

    def encode_inside(self, text: str) -> list[int]:
        """Return the ids of a text as it stands inside another, where no space is before it."""
        result: list[int] = self._backend.encode(self.normalization.clean(text)).ids
        return result

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        check_list("texts", texts)
        clean = self.normalization.clean
        encodings = self._backend.encode_batch_fast([add_space(clean(text)) for text in texts])
        return [encoding.ids for encoding in encodings]

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of a text, with the span of the text that each comes from."""
        cleaned, origins = self.normalization.clean_with_spans(text)
        ids = self._backend.encode(add_space(cleaned)).ids
        texts = tuple(self.vocabulary[id] for id in ids)
        return Tokens(tuple(ids), texts, tuple(self._locate(ids, cleaned, origins)))

    def find_unknown(self, text: str) -> list[str]:
        """Return the characters, each once, that are no tokens: training lacked them."""
        characters = dict.fromkeys(self.normalization.clean(text))
        return [each for each in characters if each not in self._ids and not each.isspace()]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of any ids: controls are left out, invalid bytes or ids become U+FFFD."""
        joined = b"".join(self._bytes[id] if 0 <= id < len(self) else b"\xff" for id in ids)
        return joined.decode("utf-8", errors="replace").removeprefix(" ")

    def spell(self, text: str) -> str:
        """Return what decoding the tokens of a text gives."""
        return self.normalization.clean(text)

    def decode_many(self, rows: Iterable[Iterable[int]]) -> list[str]:
        return [self.decode(ids) for ids in rows]

    def token(self, id: int) -> str:
        """Return the spelling of a token: " cat", "<0x41>" for a byte, "</s>" for a control.

        Raise ValueError for an id that is not in the vocabulary.
        """
        if not 0 <= id < len(self):
            raise ValueError(f"there is no token {id}: ids go from 0 to {len(self) - 1}")
        return self.vocabulary[id]

    def sample(self, text: str, rate: float, random: Random) -> list[int]:
        """Return the ids of a text, segmented at random. For a whole corpus `Sampler` is faster.

        rate: the value of the setting `sampling`; 0: the ids of `encode`.
        """
        return [id for word in self.words(text) for id in self.sample_word(word, rate, random)]

    def words(self, text: str) -> list[str]:
        """Return the parts of a text that are segmented separately, with their leading spaces."""
        cleaned = self.normalization.clean(text)
        return [word for word, _ in self._split.pre_tokenize_str(add_space(cleaned))]

    def sample_word(self, word: str, rate: float, random: Random) -> list[int]:
        from .dropout import merge

        return merge(self._spell(word), self._merges, rate, random)

    def build_word(self, word: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the symbols of a word before any merge, and its merges in their order.

        Each merge is its rank and the index of its right symbol.
        """
        from random import Random

        from .dropout import merge

        symbols, closed = self._spell(word), list[tuple[int, int]]()
        merge(symbols, self._merges, 0, Random(0), closed)
        return symbols, closed

    def _spell(self, word: str) -> list[int]:
        """Return the ids of a word's characters, and of the bytes of those that are no tokens."""
        symbols: list[int] = []
        for character in word:
            known = self._ids.get(character)
            symbols += [FIRST_BYTE + b for b in character.encode()] if known is None else [known]
        return symbols

    def _locate(self, ids: Sequence[int], text: str, origins: Sequence[Span]) -> Iterator[Span]:
        """Yield the span of each token; `origins` has those of the characters of `text`."""
        text, origins = add_space(text), [(0, 0), *origins]
        at, read = 0, 0  # the index of a character, and the number of its bytes read
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
        return write_layout(self.vocabulary, self.merges, self.normalization)


def make_split() -> Split:
    """Return what cuts a text into the parts that are segmented separately."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    return Split(Regex(WORD), "isolated")


def add_space(text: str) -> str:
    """Return the text with a space before it, so that its first word is like any other.

    An empty text stays empty.
    """
    return text and " " + text
