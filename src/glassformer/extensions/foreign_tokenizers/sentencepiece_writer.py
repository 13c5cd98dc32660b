"""Write tokenizers as models of SentencePiece, with the same ids."""

from collections.abc import Sequence
from pathlib import Path

from glassformer.extensions.unigram.learned_unigram import LearnedUnigram
from glassformer.text.layout import BYTES, CONTROLS, FIRST_CHARACTER
from glassformer.text.normalization import Normalization
from glassformer.text.tokenizer import Tokenizer

from .imported import UNKNOWN as UNKNOWN_TOKEN
from .normalizer_spec import SPACE, NormalizerSpec
from .sentencepiece import (
    BPE,
    BYTE,
    BYTE_FALLBACK,
    CHARSMAP,
    CONTROL,
    DUMMY_PREFIX,
    ESCAPES,
    EXTRA_SPACES,
    MODEL_TYPE,
    NORMAL,
    NORMALIZER,
    SUFFIX,
    TOKENS,
    TRAINER,
    UNIGRAM,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    ModelToken,
)
from .unigram import Unigram
from .wire import write_field, write_float

VOCABULARY_SIZE, FIRST_SPECIAL = 4, 40  # fields; from 40 on, ids of unknown, begin, end, padding
SPECIAL = (UNKNOWN_TOKEN, "<s>", "</s>", "<pad>")


def write_sentencepiece(tokenizer: Tokenizer, path: Path) -> None:
    """Write a tokenizer as a model of SentencePiece, with the same ids.

    A BPE of ours becomes one with bytes for what it does not know. It joins what makes the token of
    the highest rank, by whichever pair, so that in rare words its tokens are others. ValueError
    for a tokenizer that has no such form.
    """
    path.write_bytes(spell_model(list_model_tokens(tokenizer), tokenizer))


def list_model_tokens(tokenizer: Tokenizer) -> list[ModelToken]:
    """Return the tokens as SentencePiece has them; one more if none is unknown.

    ValueError for a tokenizer that has no such form.
    """
    if tokenizer.normalization._replace(characters=None) != Normalization():
        raise ValueError(
            "its tokens are of text after nfkc, punctuation or lowercase, which a model of "
            "SentencePiece is not given"
        )
    tokens = _list_imported(tokenizer) if isinstance(tokenizer, Unigram) else _list_own(tokenizer)
    for id, name in enumerate(CONTROLS):
        tokens[id] = ModelToken(name, 0.0, CONTROL)
    if UNKNOWN_TOKEN not in tokenizer.vocabulary:  # SentencePiece must have one
        tokens.append(ModelToken(UNKNOWN_TOKEN, 0.0, UNKNOWN))
    if len({token.text for token in tokens}) != len(tokens):
        raise ValueError(f"two tokens differ only in a space and {SPACE}")
    return tokens


def _list_imported(tokenizer: Unigram) -> list[ModelToken]:
    symbols = tokenizer.spec.user_defined_symbols
    types = dict.fromkeys(symbols, USER_DEFINED) | {UNKNOWN_TOKEN: UNKNOWN}
    if tokenizer.byte_fallback:
        types |= dict.fromkeys(BYTES, BYTE)
    both = zip(tokenizer.vocabulary, tokenizer.scores, strict=True)
    own = [
        ModelToken(token, score or 0.0, types.get(token, UNUSED if score is None else NORMAL))
        for token, score in both
    ]
    return [*own, *(ModelToken(x, score, NORMAL) for x, score in tokenizer.others.items())]


def _list_own(tokenizer: Tokenizer) -> list[ModelToken]:
    if type(tokenizer) not in (Tokenizer, LearnedUnigram):
        raise ValueError(
            "its tokens were made by BPE of another toolkit, which is not written as a model of "
            "SentencePiece"
        )
    scores: Sequence[float] = [-float(id) for id in range(len(tokenizer))]
    if isinstance(tokenizer, LearnedUnigram):
        scores = tokenizer.scores
    return [
        ModelToken(token.replace(" ", SPACE), score, BYTE if id < FIRST_CHARACTER else NORMAL)
        for id, (token, score) in enumerate(zip(tokenizer.vocabulary, scores, strict=True))
    ]


def spell_model(tokens: Sequence[ModelToken], tokenizer: Tokenizer) -> bytes:
    """Return the file of a model with these tokens, and with the normaliser of a tokenizer."""
    entries = b"".join(
        write_field(
            TOKENS,
            write_field(1, text.encode()) + write_float(2, score) + write_field(3, type_),
        )
        for text, score, type_ in tokens
    )
    is_unigram = isinstance(tokenizer, Unigram | LearnedUnigram)
    spec = tokenizer.spec if isinstance(tokenizer, Unigram) else _SPACED
    names = [token.text for token in tokens]
    trainer = write_field(MODEL_TYPE, UNIGRAM if is_unigram else BPE)
    trainer += write_field(VOCABULARY_SIZE, len(tokens))
    trainer += write_field(SUFFIX, int(spec.treat_whitespace_as_suffix))
    trainer += write_field(BYTE_FALLBACK, int(any(token.type == BYTE for token in tokens)))
    for place, name in enumerate(SPECIAL):
        if name in names:
            trainer += write_field(FIRST_SPECIAL + place, names.index(name))
    normalizer = write_field(1, b"identity") + write_field(CHARSMAP, spec.precompiled_charsmap)
    normalizer += write_field(DUMMY_PREFIX, int(spec.add_dummy_prefix))
    normalizer += write_field(EXTRA_SPACES, int(spec.remove_extra_whitespaces))
    normalizer += write_field(ESCAPES, 1)
    return entries + write_field(TRAINER, trainer) + write_field(NORMALIZER, normalizer)


_SPACED = NormalizerSpec(remove_extra_whitespaces=False)  # our own tokenizers keep each space
