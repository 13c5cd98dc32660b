"""Learning of merges (byte-pair encoding), and the characters of the text that is learned from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator

from .layout import FIRST_CHARACTER
from .normalization import Normalization
from .tokenizer import add_space, make_split


def prepare_texts(
    lines: Iterable[str], normalization: Normalization, characters: set[str]
) -> Iterator[str]:
    """Yield the texts as they are cut into words, and add their characters to a set."""
    for line in lines:
        text = add_space(normalization.clean(line))
        characters.update(text)
        yield text


def learn_merges(texts: Iterable[str], tokens: int) -> list[tuple[str, str]]:
    """Return the merges that make so many tokens, the characters counted."""
    from tokenizers import Tokenizer as Backend
    from tokenizers.models import BPE
    from tokenizers.trainers import BpeTrainer

    learner = Backend(BPE())
    learner.pre_tokenizer = make_split()
    trainer = BpeTrainer(vocab_size=tokens, min_frequency=2, show_progress=False)
    learner.train_from_iterator(texts, trainer)
    return [(left, right) for left, right in json.loads(learner.to_str())["model"]["merges"]]


def check_room(characters: Collection[str], vocabulary: int) -> None:
    """Raise ValueError if a vocabulary cannot have all characters, or if there are none."""
    if not characters:
        raise ValueError("there is no text to learn a vocabulary from")
    if FIRST_CHARACTER + len(characters) > vocabulary:
        raise ValueError(
            f"vocabulary={vocabulary} is too small: with {len(characters)} different "
            f"characters in the text it must be at least {FIRST_CHARACTER + len(characters)}"
        )
