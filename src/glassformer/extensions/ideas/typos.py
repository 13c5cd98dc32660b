"""Changes of a sentence pair that a translator should bear: case, digits, typos, lost words.

Each is a function of the texts, or of the token ids, and of a `Random`. What people type is not
what a corpus of edited text has; a source that is changed so, with the same target, teaches the
difference. Changed tokens keep a network from learning a small corpus by heart.
"""

import math
import re
from collections.abc import Callable, Sequence
from random import Random

from glassformer.config import MASK

NUMBER = re.compile(r"\d+")
SHORT = 4  # letters: shorter words have no typos, which could make them other words
CASES: tuple[Callable[[str], str], ...] = (str.lower, str.upper, str.title)


def change_case(text: str, random: Random) -> str:
    """Return a text all in small letters, all in capitals, or with capitals in front."""
    return random.choice(CASES)(text)


def change_digits(source: str, target: str, random: Random) -> tuple[str, str]:
    """Return a pair in which each number that both sides have is another of as many digits."""
    shared = {*NUMBER.findall(source)} & {*NUMBER.findall(target)}
    new = {number: _draw_number(len(number), random) for number in sorted(shared)}

    def replace(match: re.Match[str]) -> str:
        return new.get(match[0], match[0])

    return NUMBER.sub(replace, source), NUMBER.sub(replace, target)


def drop_words(text: str, share: float, random: Random) -> str:
    """Return a text without some of its words, each with this chance; one at least stays."""
    words = text.split(" ")
    kept = [word for word in words if random.random() >= share]
    return " ".join(kept) if any(kept) else text


def make_typos(text: str, share: float, random: Random) -> str:
    """Return a text in which each longer word has a typing error with this chance.

    Two letters are swapped, or one is left out or typed twice.
    """
    return " ".join(
        _make_typo(word, random) if len(word) >= SHORT and random.random() < share else word
        for word in text.split(" ")
    )


def hide_tokens(ids: Sequence[int], share: float, random: Random) -> list[int]:
    """Return token ids of which each is hidden by MASK with this chance."""
    return [MASK if random.random() < share else id for id in ids]


def switch_out(
    ids: Sequence[int], others: Sequence[int], temperature: float, random: Random
) -> list[int]:
    """Return token ids of which some are exchanged for any of `others` (Wang et al. 2018).

    How many of the n are to change is drawn first, k with a chance in proportion to
    exp(-k / temperature); then each changes with the chance k / n.
    """
    counts = range(len(ids) + 1)
    weights = [math.exp(-count / temperature) for count in counts]
    share = random.choices(counts, weights)[0] / max(len(ids), 1)
    return [random.choice(others) if random.random() < share else id for id in ids]


def _make_typo(word: str, random: Random) -> str:
    at = random.randrange(len(word) - 1)
    before, pair, after = word[:at], word[at : at + 2], word[at + 2 :]
    return before + random.choice((pair[::-1], pair[1:], pair[0] + pair)) + after


def _draw_number(digits: int, random: Random) -> str:
    first = random.choice("123456789")
    return first + "".join(random.choice("0123456789") for _ in range(digits - 1))
