"""Tokens with their places in a text: the source's as it was given, the target's as it came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..config import BOS, EOS
from ..text import Tokenizer
from ..translation import LINE_BREAKS
from ..translator import Translator
from .document import Merge, Token, WordMerges


def read_source(translator: Translator, text: str) -> list[Token]:
    """What the encoder reads: the tokens of a text without the white space around it, and EOS."""
    found, left = translator.read(text.strip()), len(text) - len(text.lstrip())
    tokens = [
        Token(text=token, id=id, start=left + start, end=left + end)
        for token, id, (start, end) in zip(found.texts, found.ids, found.spans, strict=True)
    ]
    return [*tokens, _mark(translator.tokenizers.source, EOS, len(text.rstrip()))]


def read_words(tokenizer: Tokenizer, tokens: Sequence[Token]) -> tuple[WordMerges, ...]:
    """How the tokens of a source came about, word by word."""
    if not tokenizer.merges:  # they come from a unigram model
        return ()
    text = tokenizer.decode(token.id for token in tokens)
    return tuple(_build(tokenizer, word) for word in tokenizer.words(text))


def _build(tokenizer: Tokenizer, word: str) -> WordMerges:
    symbols, closed = tokenizer.build_word(word)
    merges = tuple(Merge(rank=rank, place=place) for rank, place in closed)
    return WordMerges(symbols=tuple(map(tokenizer.token, symbols)), merges=merges)


def read_target(
    tokenizer: Tokenizer, ids: Sequence[int], text: str, finished: bool
) -> tuple[list[Token], list[Token]]:
    """The rows of the decoder, and what each of them predicts: the same, one token later.

    `text` is what the tokens spell, without white space around it.
    """
    spans = _locate(tokenizer, ids, text)
    written = [
        Token(text=tokenizer.token(id), id=id, start=start, end=end)
        for id, (start, end) in zip(ids, spans, strict=True)
    ]
    predicted = [*written, _mark(tokenizer, EOS, len(text))] if finished else written
    return [_mark(tokenizer, BOS, 0), *predicted[:-1]], predicted


def _mark(tokenizer: Tokenizer, id: int, place: int) -> Token:
    return Token(text=tokenizer.token(id), id=id, start=place, end=place)


def spell_word(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of the tokens of a translation."""
    return tokenizer.decode(ids).translate(LINE_BREAKS).strip()


def _locate(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> Iterator[tuple[int, int]]:
    """The tokens of one character, its bytes, share its span."""
    spelled = [tokenizer.decode(ids[:place]) for place in range(len(ids) + 1)]
    left = len(spelled[-1]) - len(spelled[-1].lstrip())  # white space that the text is without
    for before, after in pairwise(map(len, spelled)):
        start = before - 1 if before == after else before
        yield _clip(start - left, text), _clip(after - left, text)


def _clip(place: int, text: str) -> int:
    return min(max(place, 0), len(text))
