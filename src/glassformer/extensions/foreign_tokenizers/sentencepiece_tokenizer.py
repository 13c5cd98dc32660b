"""The common part of the tokenizers that segment as SentencePiece does.

A text is normalised, segmented into tokens of the file, and these are looked up in the vocabulary
of the network, which need not have them all.
"""

import re
from abc import abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from glassformer.text.layout import BYTES, CONTROLS, is_tag
from glassformer.text.unicode import Span, replace_surrogates

from .imported import OUT_OF_REACH, UNKNOWN, ImportedTokenizer
from .normalizer_spec import SPACE, NormalizerSpec

MARKS = ("<", ">", OUT_OF_REACH)  # begin tokens that are not text: controls, tags, codes, bytes
CODE = re.compile(r"(>>[^<>]*<<)")
_WORD = re.compile(f"{SPACE}[^{SPACE}]*|[^{SPACE}]+")


class SentencepieceTokenizer(ImportedTokenizer):
    """A tokenizer that segments as SentencePiece does.

    A language code like ">>fra<<" is one token; it names the target language. With bytes, a
    character without a token becomes those of its UTF-8.
    """

    def _take_vocabulary(
        self, vocabulary: Sequence[str], spec: NormalizerSpec, byte_fallback: bool
    ) -> None:
        self.vocabulary, self.merges = tuple(vocabulary), ()  # none that may be skipped or shown
        self.spec, self.byte_fallback = spec, byte_fallback
        self._unknown = self.vocabulary.index(UNKNOWN)
        first = len(CONTROLS)
        ids = dict(zip(self.vocabulary[first:], range(first, len(self.vocabulary)), strict=True))
        self._byte_ids = [ids.pop(b, self._unknown) for b in BYTES] if byte_fallback else []
        marked = [token for token in ids if token[:1] in MARKS]  # few of many thousands
        self.tags = {token: ids[token] for token in marked if self._is_tag(token)}
        for token in (*self.tags, UNKNOWN):
            ids.pop(token, None)
        self._ids = ids

    @abstractmethod
    def _is_tag(self, token: str) -> bool:
        """Return whether no text yields a token, but callers add it."""

    @abstractmethod
    def _is_known(self, token: str) -> bool:
        """Return whether a token stands in SentencePiece's file."""

    @abstractmethod
    def _segment(self, text: str) -> Iterable[str]:
        """Yield the tokens of a normalised text; a character without a token is one."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of any ids: controls and tags are left out, unknown ones are U+FFFD."""
        joined = b"".join(self._texts[id] if 0 <= id < len(self) else b"\xff" for id in ids)
        text = joined.decode("utf-8", errors="replace")
        is_led = self.spec.add_dummy_prefix and not self.spec.treat_whitespace_as_suffix
        return text.removeprefix(" ") if is_led else text.rstrip(" ")

    def words(self, text: str) -> list[str]:
        """Return the parts of a text that are segmented separately, each after its space mark.

        A text is one part if tokens span several words. A language code is a part of its own.
        """
        parts = (part for part in CODE.split(replace_surrogates(text)) if part)
        return [word for part in parts for word in self._cut_words(part)]

    def _cut_words(self, part: str) -> list[str]:
        if part in self.tags:
            return [part]
        normal, _ = self.spec.normalize(part)
        return self._split_words(normal)

    def _split_words(self, normal: str) -> list[str]:
        if self._spans_words:
            return [normal] if normal else []
        return split_at_spaces(normal)

    @cached_property
    def _spans_words(self) -> bool:
        """Return whether a token has a space mark elsewhere than at its beginning."""
        return self.spec.treat_whitespace_as_suffix or any(
            token.rfind(SPACE) > 0 for token in self._list_all()
        )

    @abstractmethod
    def _list_all(self) -> Iterable[str]:
        """Return the tokens that texts yield, also those that the network has not."""

    @cached_property
    def _texts(self) -> dict[int, bytes]:
        """Return the text of each token in UTF-8: nothing for controls and tags."""
        single = {id: bytes([byte]) for byte, id in enumerate(self._byte_ids)}
        single.pop(self._unknown, None)
        return _Texts(lambda id: self._read(self.vocabulary[id]).encode(), single)

    def _read(self, token: str) -> str:
        if token == UNKNOWN:
            return "\ufffd"
        is_silent = token in CONTROLS or token in self.tags or token.startswith(OUT_OF_REACH)
        return "" if is_silent else token.replace(SPACE, " ")

    def cut(self, text: str) -> list[str]:
        """Return the tokens of a text as SentencePiece spells them, unknown ones as in the text."""
        normal, _ = self.spec.normalize(replace_surrogates(text))
        tokens = list[str]()
        for token in self._fuse(self._segment(normal)):
            if self.byte_fallback and not self._is_known(token):
                tokens += [BYTES[byte] for byte in token.encode()]
            else:
                tokens.append(token)
        return tokens

    def _cut(self, text: str) -> Iterator[tuple[int, Span]]:
        begin = 0
        for part in CODE.split(text):
            if part in self.tags:
                yield self.tags[part], (begin, begin + len(part))
            elif part:
                normal, origins = self.spec.normalize(part)
                at = 0
                for token in self._fuse(self._segment(normal)):
                    span = begin + origins[at][0], begin + origins[at + len(token) - 1][1]
                    at += len(token)
                    yield from ((id, span) for id in self._identify(token))
            begin += len(part)

    def _fuse(self, tokens: Iterable[str]) -> Iterator[str]:
        """Yield the tokens, characters that follow each other without a token as one."""
        unknown = ""
        for token in tokens:
            if self._is_known(token):
                if unknown:
                    yield unknown
                unknown = ""
                yield token
            else:
                unknown += token
        if unknown:
            yield unknown

    def _identify(self, token: str) -> list[int]:
        """Return the id of a token, or those of its bytes.

        A token that is unknown to this side, such as a name in another script, may be one of the
        other side in a joint vocabulary.
        """
        if (id := self._ids.get(token)) is not None:
            return [id]
        if self.byte_fallback and not self._is_known(token):
            return [self._byte_ids[byte] for byte in token.encode()]
        return [self._unknown]


class _Texts(dict[int, bytes]):
    """The texts of tokens, each made when it is asked for: few sentences need few of them."""

    def __init__(self, make: Callable[[int], bytes], known: Mapping[int, bytes]) -> None:
        super().__init__(known)
        self._make = make

    def __missing__(self, id: int) -> bytes:
        text = self[id] = self._make(id)
        return text


def split_at_spaces(normal: str) -> list[str]:
    """Return the words of a normalised text, each with the space mark before it."""
    return _WORD.findall(normal)


def describe_spaces(spec: NormalizerSpec, byte_fallback: bool) -> dict[str, Any]:
    """Return how SentencePiece's normaliser and its spaces are told to `tokenizers`.

    That library joins fewer characters than SentencePiece, and has no space mark after a word.
    """
    charsmap = b64encode(spec.precompiled_charsmap).decode()
    clean = [{"type": "Precompiled", "precompiled_charsmap": charsmap}] if charsmap else []
    trim = [
        {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
        for pattern, content in (("^ +| +$", ""), (" {2,}", " "))
    ]
    scheme = "always" if spec.add_dummy_prefix else "never"
    space = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": False}
    near = {"type": "Replace", "pattern": {"String": OUT_OF_REACH}, "content": ""}
    whole = [{"type": "ByteFallback"}] * byte_fallback
    return {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [*clean, *(trim if spec.remove_extra_whitespaces else [])],
        },
        "pre_tokenizer": space,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [near, *whole, space]},
    }


def describe_spec(spec: NormalizerSpec) -> dict[str, Any]:
    """Return the entry of a spec that is not the usual one in the model of tokenizer.json."""
    result = spec.describe()
    return {"normalizer_spec": result} if result else {}


def parse_spec(fields: Mapping[str, Any]) -> NormalizerSpec:
    """Return the normaliser of a tokenizer.json."""
    steps = fields["normalizer"]["normalizers"]
    charsmap = b64decode(steps[0].get("precompiled_charsmap", "")) if steps else b""
    spec = NormalizerSpec.parse(charsmap, fields["model"].get("normalizer_spec", {}))
    spec.normalize(PROBE)  # raises ValueError if it is damaged
    return spec


PROBE = "".join(map(chr, range(0x20, 0x250)))  # characters that a normaliser must be able to read


def is_code(token: str) -> bool:
    """Return whether a token names a target language, like ">>fra<<"."""
    return token[:2] == ">>" and token[-2:] == "<<"


def is_silent_tag(token: str) -> bool:
    """Return whether a token is a tag that is not "<unk>"."""
    return is_tag(token) and token != UNKNOWN
