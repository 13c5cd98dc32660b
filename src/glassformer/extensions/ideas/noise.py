"""Noise on both sides of a pair, as pipelines for students have it (Mozilla's OpusTrainer).

Texts that people type lack the mark at their end, and hold symbols and lines that no corpus has.
What stands at the same place on both sides teaches to copy it. Each change is a function of the
texts and of a `Random`.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from random import Random

STOP = re.compile(r"\s*[.!?…。！？؟।]+\s*$")
SYMBOLS = "→★☆♥♪✓✗•■◆☀☎😀😂🙏👍🎉🔥"
# Blocks of Unicode that noise is drawn from: a line has characters of one of them.
BLOCKS = [range(0x21, 0x7F), range(0xA1, 0x180), range(0x391, 0x3CA), range(0x410, 0x450)]
BLOCKS += [range(0x5D0, 0x5EB), range(0x4E00, 0x9FA6), range(0x1F600, 0x1F650)]
MOST_WORDS, MOST_CHARACTERS = 3, 4  # of a line of noise


def drop_stop(text: str) -> str:
    """Return a text without the punctuation mark at its end; one of nothing else stays."""
    return STOP.sub("", text) or text


def drop_stops(source: str, target: str) -> tuple[str, str]:
    """Return a pair without the marks at both ends, if both sides end with one."""
    if STOP.search(source) and STOP.search(target):
        return drop_stop(source), drop_stop(target)
    return source, target


def insert_symbol(source: str, target: str, random: Random) -> tuple[str, str]:
    """Return a pair in which a symbol stands at places that surely belong together.

    These are both beginnings, both ends, and those before a word that each side has once.
    """
    words = source.split(" "), target.split(" ")
    counts = [Counter(side) for side in words]
    shared = [word for word in words[0] if word and counts[0][word] == counts[1][word] == 1]
    places = [(0, 0), (len(words[0]), len(words[1]))]
    places += [(words[0].index(word), words[1].index(word)) for word in shared]
    symbol, chosen = random.choice(SYMBOLS), random.choice(places)
    sides = ([*side[:at], symbol, *side[at:]] for side, at in zip(words, chosen, strict=True))
    first, second = map(" ".join, sides)
    return first, second


def draw_noise(random: Random) -> str:
    """Return a short line of random characters, of one block of Unicode."""
    block = random.choice(BLOCKS)
    sizes = [random.randint(1, MOST_CHARACTERS) for _ in range(random.randint(1, MOST_WORDS))]
    words = ([chr(random.choice(block)) for _ in range(size)] for size in sizes)
    return "".join(chain.from_iterable([" ", *word] for word in words))[1:]
