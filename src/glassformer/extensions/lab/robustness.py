"""A standing test of text as people write it: what a model loses by each of its peculiarities.

The lines of a test set are changed, one way at a time: curly quotes, no-break spaces, capitals,
typing errors, planted names and links. The loss is the share of BLEU that is gone. The changes
are the same each time, so models can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from glassformer.evaluate.quality import score_quality
from glassformer.evaluate.resampling import SEED
from glassformer.extensions.ideas.typos import make_typos
from glassformer.foundation.disk import read_text
from glassformer.text.casing import find_capitals, write_capitals
from glassformer.text.final_stops import WRITTEN
from glassformer.text.spacing import is_unspaced, list_combining, name_base
from glassformer.text.verbatim import find_verbatim

LINES = 200  # of a test set, evenly spread
TYPOS = 0.1  # of the longer words
NAMES = """Kowalski Nguyen Oyelaran Fitzwilliam Takahashi Bergström Castellanos Dubrovin Achterberg
Mbeki Okonkwo Lindqvist Papadakis Yamamoto Szymański Gonçalves Hrdlička Đorđević Müllner Aaltonen"""
LINKS = ("https://example.org/a?b=1", "www.example.com/x_y", "me@example.net", "{name}", "%s")
NUMBERS = ("4712", "3,150.25", "19:35", "2024-03-09", "86%")
EMOJI = "\U0001f642\U0001f389\u2764\U0001f44d"
STOPS = "".join(dict.fromkeys("".join(WRITTEN.values())))
LEAST_CHANGED = 0.5  # of the lines by a case: Arabic script has none, but Latin names in it
LEAST_BLEU = 1.0  # of a lower score, no share is lost or kept but by chance
LONGEST_SHORT = 3  # times the words of a short input, and three more: longer has invented words
LEGEND = (
    "Loss: how much lower this BLEU is than that of the translations of the text as it is, changed "
    "alike: with the name planted in them, say. Kept: translations with what was planted; of short "
    "inputs, those without a doubled word or far too many, whether they are right or wrong."
)

Translate = Callable[[list[str]], list[str]]
Change = Callable[[str, Random], str]


@dataclass(frozen=True)
class Variant:
    """A test set after one change.

    alter_target: what the change does to texts of the target side, to references and to the
    translations of the unchanged sources, with which the changed ones are compared. planted: what
    the translation of each line has to repeat. is_lowercased, drops: what is left out of the score.
    """

    name: str
    sources: list[str]
    alter_target: Callable[[Sequence[str]], list[str]] = list
    planted: list[str] | None = None
    is_lowercased: bool = False
    drops: str = ""  # characters


@dataclass(frozen=True)
class RobustnessRow:
    """The score of a variant: BLEU, the share of it that is lost, and what is kept of the planted.

    Shares are from 0 to 1; None where there is nothing to measure, and of a score near 0.
    """

    name: str
    bleu: float | None
    loss: float | None
    kept: float | None


@dataclass(frozen=True)
class Robustness:
    """The rows of a table, the first of which is the test set as it is."""

    lines: int
    rows: tuple[RobustnessRow, ...]

    def to_json(self) -> dict[str, Any]:
        return {"lines": self.lines, "rows": [asdict(each) for each in self.rows]}

    def __str__(self) -> str:
        """Return a table in Markdown, and how it is read."""
        head = ["| text | BLEU | loss | kept |", "|---|---:|---:|---:|"]
        rows = [
            f"| {each.name} | {_tell(each.bleu)} "
            f"| {_tell_share(each.loss)} | {_tell_share(each.kept)} |"
            for each in self.rows
        ]
        return "\n".join([*head, *rows, "", LEGEND])


def measure_robustness(
    translate: Translate,
    sources: Sequence[str],
    references: Sequence[str],
    languages: tuple[str | None, str | None],
) -> Robustness:
    """Return the score of each variant of a test set, as `translate` translates it.

    languages: of the sources and of the references. ValueError if a side has another length.
    """
    if len(sources) != len(references):
        raise ValueError(f"{len(sources)} sources but {len(references)} references")
    step = max(1, len(sources) // LINES)
    pairs = list(zip(sources, references, strict=True))[::step][:LINES]
    kept_references = [reference for _, reference in pairs]
    rows, plain = list[RobustnessRow](), translate([source for source, _ in pairs])
    for variant in list_variants([source for source, _ in pairs], languages[0]):
        own = translate(variant.sources)
        altered = variant.alter_target(kept_references)
        bleu, ideal = (
            _score(variant, texts, altered, languages[1])
            for texts in (own, variant.alter_target(plain))
        )
        loss = 1 - bleu / ideal if ideal >= LEAST_BLEU else None
        rows.append(RobustnessRow(variant.name, bleu, loss, _count_kept(variant, own)))
    rows.append(_measure_short(translate, languages[0]))
    return Robustness(len(pairs), tuple(rows))


def list_variants(sources: Sequence[str], language: str | None) -> list[Variant]:
    """Return all variants of the sources of a test set, which are in this language."""
    gap = "" if is_unspaced(language) else " "
    upper, title, small = (
        partial(_write_in_case, partial(write, language=language))
        for write in (write_capitals, write_title, write_small)
    )
    cases = [
        _alter(sources, "CAPITALS", upper, is_lowercased=True),
        _alter(sources, "Title Case", title, is_lowercased=True),
        _alter(sources, "small letters", small, is_lowercased=True),
    ]
    return [
        _alter(sources, "as it is", lambda text, _: text),
        _alter(sources, "curly quotes and apostrophes", lambda text, _: curl_quotes(text)),
        _alter(sources, "a no-break space", lambda text, draw: swap_space(text, "\u00a0", draw)),
        _alter(sources, "a tab", lambda text, draw: swap_space(text, "\t", draw)),
        *(each for each in cases if _count_changed(each, sources) >= LEAST_CHANGED * len(sources)),
        _alter(sources, "no final stop", lambda text, _: text.rstrip(STOPS), drops=STOPS),
        _alter(sources, "typing errors", lambda text, draw: make_typos(text, TYPOS, draw)),
        _alter(sources, "an emoji", _add_emoji, drops=EMOJI),
        _plant(sources, "a planted name", NAMES.split(), "{1}, {0}{2}"),
        _plant(sources, "a planted link or placeholder", LINKS, "{1} ({0}){2}"),
        _plant(sources, "a planted number", NUMBERS, "{1} ({0}){2}"),
        Variant("two sentences a line", _pair_up(sources, gap), _pair_up),
    ]


def _alter(sources: Sequence[str], name: str, change: Change, **keywords: Any) -> Variant:
    draw = Random(f"{SEED} {name}")
    return Variant(name, [change(each, draw) for each in sources], **keywords)


def _plant(sources: Sequence[str], name: str, things: Sequence[str], shape: str) -> Variant:
    """Return a variant with a thing in each line. shape: {0} the thing, {1}{2} text and stop."""

    def add(texts: Sequence[str]) -> list[str]:
        planted = (things[place % len(things)] for place in range(len(texts)))
        return [
            shape.format(thing, *_cut_stop(each))
            for thing, each in zip(planted, texts, strict=False)
        ]

    planted = [things[place % len(things)] for place in range(len(sources))]
    return Variant(name, add(sources), add, planted)


def _cut_stop(text: str) -> tuple[str, str]:
    """Return a text without the marks at its end, and these marks."""
    bare = text.rstrip().rstrip(STOPS + " \u00a0\u202f")
    return bare, text.rstrip()[len(bare) :]


def _pair_up(texts: Sequence[str], gap: str = " ") -> list[str]:
    return [gap.join(texts[place : place + 2]) for place in range(0, len(texts), 2)]


def _add_emoji(text: str, draw: Random) -> str:
    return swap_space(text, f" {draw.choice(EMOJI)} ", draw)


def curl_quotes(text: str) -> str:
    """Return a text with the quotes and apostrophes of printed English."""
    text = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", text)
    return text.replace("'", "\u2019")


def swap_space(text: str, new: str, random: Random) -> str:
    """Return a text with something else in the place of one of its spaces; without any, behind."""
    places = [place for place, each in enumerate(text) if each == " "]
    if not places:
        return text + new
    place = random.choice(places)
    return text[:place] + new + text[place + 1 :]


def _write_in_case(write: Callable[[str], str], text: str, _: Random) -> str:
    """Return a text in another case, but for what a translation repeats, as links and %.2lf."""
    written, at = list[str](), 0
    for each in find_verbatim(text):
        written += [write(text[at : each.start]), text[each.start : each.end]]
        at = each.end
    return "".join([*written, write(text[at:])])


def _count_changed(variant: Variant, sources: Sequence[str]) -> int:
    return sum(one != other for one, other in zip(variant.sources, sources, strict=True))


def write_title(text: str, language: str | None = None) -> str:
    """Return a text in which each word begins with a capital."""
    capitals, _ = find_capitals(language)
    return " ".join(
        write_capitals(word[:1].translate(capitals), None) + word[1:] for word in text.split(" ")
    )


def write_small(text: str, language: str | None = None) -> str:
    """Return a text in small letters; in Turkish, I is not that of i."""
    capitals, _ = find_capitals(language)
    return text.translate({ord(high): chr(low) for low, high in capitals.items()}).lower()


def is_sound(source: str, translation: str) -> bool:
    """Return whether the translation of a short input has no word twice, and not far too many.

    What has no letters, like a number or an emoji, has to stay the same. Whether a word is right is
    not asked: nonsense may be sound.
    """
    if not any(map(str.isalpha, source)):
        return translation.strip() == source.strip()
    word = re.compile(rf"\w[\w{list_combining()}]*")
    words, own = (word.findall(text.lower()) for text in (translation, source))
    if _count_doubled(words) > _count_doubled(own):
        return False
    return 0 < len(words) <= LONGEST_SHORT * len(own) + 3


def read_short_inputs(language: str | None) -> list[str]:
    """Return what people type first, a line each; without words if we have none in a language."""
    paths = (
        Path(__file__).with_name("short_inputs") / f"{name}.txt"
        for name in (name_base(language), "any")
    )
    return [line for path in paths if path.exists() for line in read_text(path).splitlines()]


def _count_doubled(words: Sequence[str]) -> int:
    return sum(one == two for one, two in pairwise(words))


def _count_kept(variant: Variant, translations: Sequence[str]) -> float | None:
    """Return the share of what was planted that is in the translations, letter by letter."""
    if variant.planted is None:
        return None
    pairs = zip(variant.planted, translations, strict=True)
    return sum(thing in text for thing, text in pairs) / len(translations)


def _measure_short(translate: Translate, language: str | None) -> RobustnessRow:
    lines = read_short_inputs(language)
    sound = sum(map(is_sound, lines, translate(lines)))
    return RobustnessRow(f"{len(lines)} short inputs", None, None, sound / len(lines))


def _score(
    variant: Variant, translations: Sequence[str], references: Sequence[str], language: str | None
) -> float:
    """Return BLEU of texts in plain quotes, without what the variant leaves out of the score."""
    sides = [
        [_simplify(variant, text, language) for text in side] for side in (translations, references)
    ]
    quality = score_quality(sides[0], [sides[1]], target_lang=language, metrics=("BLEU",))
    return quality["BLEU"].value


def _simplify(variant: Variant, text: str, language: str | None) -> str:
    text = re.sub("[\u2019\u2018]", "'", re.sub("[\u201c\u201d\u201e]", '"', text))
    text = text.translate(dict.fromkeys(map(ord, variant.drops)))
    return write_small(text, language) if variant.is_lowercased else text


def _tell(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _tell_share(share: float | None) -> str:
    return "" if share is None else f"{round(100 * share, 1) + 0.0:.1f} %"  # not -0.0
