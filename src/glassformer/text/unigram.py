"""A tokenizer with a unigram language model (Kudo 2018), which segments as SentencePiece does.

Its vocabulary is not learned here but comes with an imported model. Unlike our BPE it is not
lossless: decoding returns the text as its normaliser changed it, and characters without a token
become "<unk>".
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self

from tokenizers import Encoding
from tokenizers import Tokenizer as Backend

from ..disk import read_text
from ..validation_errors import check_list
from .dropout import LatticeSampler
from .layout import CONTROLS, HEAD, is_tag, spell_layout
from .normalization import PLAIN, Normalization
from .tokenizer import Sampling, Tokenizer, Tokens
from .unicode import Span, replace_surrogates

SPACE = "▁"  # stands for a space inside a token
UNKNOWN = "<unk>"
PROBE = "".join(map(chr, range(0x20, 0x250)))  # characters that a normaliser must be able to read
CODE = re.compile(r"(>>[^<>]*<<)")
ADDED = ("single_word", "lstrip", "rstrip", "normalized")  # of an added token, all off
OUT_OF_REACH = " "  # before a token that no text yields: segmented text has no spaces


class Unigram(Tokenizer):
    """A unigram tokenizer. Ids: pad 0, bos 1, eos 2, then tokens, "<unk>" one of them.

    A language code like ">>fra<<" is one token; it names the target language. A tag like "<2fr>",
    which no text yields, is added by callers.
    """

    sampling: ClassVar[Sampling] = "sampling_alpha"
    normalization = PLAIN
    has_character_map: ClassVar[bool] = False

    def __init__(
        self, vocabulary: Sequence[str], scores: Sequence[float | None], charsmap: bytes
    ) -> None:
        """Take the tokens in the order of their ids, their ln p, and the normaliser.

        A score of None means that no text yields the token. The normaliser is in SentencePiece's
        compiled form, empty for none; raise ValueError if it is invalid.
        """
        self.vocabulary, self.merges = tuple(vocabulary), ()
        self.scores, self.charsmap = tuple(scores), charsmap
        self.tags = {
            token: id
            for id, (token, score) in enumerate(zip(vocabulary, scores, strict=True))
            if _is_code(token) or (score is None and is_tag(token) and token != UNKNOWN)
        }
        self._bytes = [b"" if token in self.tags else _read(token).encode() for token in vocabulary]
        with refuse_panics():
            self._backend = Backend.from_str(self._layout())
            self._backend.encode(PROBE)
        self._unknown = self.vocabulary.index(UNKNOWN)
        self._ids = {token: id for id, token in enumerate(vocabulary) if id >= len(CONTROLS)}

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a tokenizer.json; raise ValueError for one that `save` would not write."""
        try:
            return cls._parse(json.loads(read_text(Path(path))))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            raise ValueError(f"{path}: not a tokenizer of glassformer, or a damaged one") from None

    @classmethod
    def _parse(cls, found: Mapping[str, Any]) -> Self:
        entries: list[tuple[str, float]] = [tuple(entry) for entry in found["model"]["vocab"]]
        vocabulary = [token.removeprefix(OUT_OF_REACH) for token, _ in entries]
        scores = [
            None if token.startswith(OUT_OF_REACH) or _is_code(token) else score
            for token, score in entries
        ]
        first = found["normalizer"]["normalizers"][0]
        charsmap = b64decode(first.get("precompiled_charsmap", ""))
        if vocabulary[: len(CONTROLS)] != list(CONTROLS) or found != _describe(
            vocabulary, scores, charsmap
        ):
            raise ValueError
        return cls(vocabulary, scores, charsmap)

    def with_tags(self, tags: Sequence[str]) -> Tokenizer:
        """Raise ValueError for a tag that is not in the vocabulary: it cannot grow."""
        self.find_tags(tags)
        return self

    def with_normalization(self, normalization: Normalization) -> Tokenizer:
        """Raise ValueError for any: this tokenizer has a normaliser of its own."""
        if normalization != PLAIN:
            raise ValueError("tokens of another toolkit take the text as it is: no nfkc, lowercase")
        return self

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        check_list("texts", texts)
        with refuse_panics():
            found = self._backend.encode_batch([replace_surrogates(text) for text in texts])
        return [self._look_up(encoding) for encoding in found]

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of a text, with the span of the text that each comes from."""
        with refuse_panics():
            found = self._backend.encode(replace_surrogates(text))
        ids = tuple(self._look_up(found))
        texts = tuple(self.vocabulary[id] for id in ids)
        return Tokens(ids, texts, tuple(_cover(found.offsets, len(text))))

    def spell(self, text: str) -> str:
        return self.decode(self.encode(text))

    def find_unknown(self, text: str) -> list[str]:
        """Return the parts of a text that are encoded as "<unk>", each once."""
        found = self.tokens(text)
        unknown = (
            text[start:end].strip()
            for id, (start, end) in zip(found.ids, found.spans, strict=True)
            if id == self._unknown
        )
        return list(dict.fromkeys(filter(None, unknown)))

    def words(self, text: str) -> list[str]:
        """Return the parts of a text that are segmented separately, each after its space mark.

        A text is one part if tokens span several words. A language code is a part of its own.
        """
        found: list[str] = []
        for part in CODE.split(replace_surrogates(text)):
            if part in self.tags:
                found.append(part)
            elif part:
                found += self._cut_words(part)
        return found

    def sample_word(self, word: str, rate: float, random: Random) -> list[int]:
        if word in self.tags:
            return [self.tags[word]]
        word = word.replace(" ", SPACE)
        if rate:
            drawn = self._lattices.draw(word, rate, random)
        else:
            drawn = [each.value for each in self._backend.model.tokenize(word)]
        return [self._ids.get(token, self._unknown) for token in self._fuse(drawn)]

    def _cut_words(self, text: str) -> list[str]:
        with refuse_panics():
            normal = self._backend.normalizer.normalize_str(text)
            parts = [part for part, _ in self._backend.pre_tokenizer.pre_tokenize_str(normal)]
        if self._spans_words:
            return parts
        return [word for part in parts for word in re.findall(f"{SPACE}?[^{SPACE}]*", part) if word]

    @cached_property
    def _spans_words(self) -> bool:
        return any(SPACE in token[1:] for token in self.vocabulary)

    @cached_property
    def _known(self) -> dict[str, float]:
        """Return the ln p of each token that texts yield."""
        both = zip(self.vocabulary, self.scores, strict=True)
        silent = {*CONTROLS, UNKNOWN, *self.tags}
        return {token: score for token, score in both if score is not None and token not in silent}

    @cached_property
    def _lattices(self) -> LatticeSampler:
        return LatticeSampler(self._known)

    def _fuse(self, tokens: Iterable[str]) -> Iterator[str]:
        """Yield the tokens, characters that follow each other without a token as one."""
        unknown = ""
        for token in tokens:
            if token in self._known:
                if unknown:
                    yield unknown
                unknown = ""
                yield token
            else:
                unknown += token
        if unknown:
            yield unknown

    def _look_up(self, found: Encoding) -> list[int]:
        """Return the ids, with unknown tokens looked up in the joint vocabulary.

        A token that is unknown to this side, such as a name in another script, may be one of the
        other side.
        """
        if self._unknown not in found.ids:
            return found.ids
        return [
            self._ids.get(token, id) if id == self._unknown else id
            for id, token in zip(found.ids, found.tokens, strict=True)
        ]

    def _layout(self) -> str:
        return spell_layout(_describe(self.vocabulary, self.scores, self.charsmap))


@contextmanager
def refuse_panics() -> Iterator[None]:
    """Raise ValueError for any error of the library; a panic in Rust is not an Exception."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        said = f"the tokenizer is damaged: its normaliser or its vocabulary is of no use ({error})"
        raise ValueError(" ".join(said.split())) from None


def _is_code(token: str) -> bool:
    return token.startswith(">>") and token.endswith("<<")


def _read(token: str) -> str:
    if token == UNKNOWN:
        return "\ufffd"
    return "" if token in CONTROLS else token.replace(SPACE, " ")


def _cover(offsets: Iterable[Span], length: int) -> Iterator[Span]:
    """Yield spans without gaps: characters that the normaliser removed join the next token."""
    found = list(offsets)
    end = 0
    for place, (start, stop) in enumerate(found):
        start, end = min(start, end), max(stop, end)
        yield start, length if place == len(found) - 1 else end


def describe_spaces(charsmap: bytes) -> dict[str, Any]:
    """Return how SentencePiece's normaliser and its spaces are told to `tokenizers`."""
    clean = [{"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap).decode()}]
    trim = [
        {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
        for pattern, content in (("^ +| +$", ""), (" {2,}", " "))
    ]
    space = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": False}
    near = {"type": "Replace", "pattern": {"String": OUT_OF_REACH}, "content": ""}
    return {
        "normalizer": {"type": "Sequence", "normalizers": [*clean[: len(charsmap)], *trim]},
        "pre_tokenizer": space,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [near, space]},
    }


def _describe(
    vocabulary: Sequence[str], scores: Sequence[float | None], charsmap: bytes
) -> dict[str, Any]:
    return {
        **HEAD,
        "added_tokens": [
            {"id": id, "content": token, "special": True, **dict.fromkeys(ADDED, False)}
            for id, token in enumerate(vocabulary)
            if _is_code(token)
        ],
        **describe_spaces(charsmap),
        "model": {
            "type": "Unigram",
            "unk_id": vocabulary.index(UNKNOWN),
            "vocab": [
                [token, 0.0]
                if _is_code(token)
                else [OUT_OF_REACH + token, 0.0]
                if score is None
                else [token, score]
                for token, score in zip(vocabulary, scores, strict=True)
            ],
            "byte_fallback": False,
        },
    }
