"""Word alignments of texts, by one model or by one for each direction, with chosen heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glassformer.model.files.directory import ALIGNMENT, SHIPPED, locate
from glassformer.translate.align.choose_head import (
    AlignmentChoice,
    check_candidate,
    choose_alone,
    load_choice,
    save_choice,
)
from glassformer.translate.align.links import write_pharaoh
from glassformer.translate.align.pairs import (
    AlignedPair,
    AlignmentCandidate,
    Pair,
    Row,
    align_pairs,
    find_words,
    is_read_by_character,
    read_pair,
)
from glassformer.translator import Translator

from .gold import GoldSet, Joining, join_links
from .head_choice import choose_by_agreement, choose_by_gold

# Ways to choose a head that agreement does not change.
SURER = ("hand", "gold", "guided", "agreement")
SAMPLE = 500  # pairs on which a head is chosen if there is no gold
TextPair = tuple[str, str]


@dataclass(frozen=True)
class Direction:
    """A model for one direction, its folder, and the head that its alignments are read from."""

    folder: Path
    translator: Translator
    choice: AlignmentChoice | None = None
    is_new: bool = False  # the choice was made now, not loaded

    def take(self, choice: AlignmentChoice) -> Direction:
        return replace(self, choice=choice, is_new=True)

    def align(self, pairs: Sequence[Pair]) -> list[AlignedPair]:
        assert self.choice is not None
        return align_pairs(self.translator.searcher, pairs, self.choice.candidate)


@dataclass(frozen=True)
class Aligner:
    """An aligner of texts. `forward` translates source to target; `backward`, if any, the reverse.

    by_character: for source and target, whether each character is a word.
    """

    forward: Direction
    backward: Direction | None
    by_character: tuple[bool, bool]
    how: Joining

    @classmethod
    def load(
        cls,
        model: Path | str,
        texts: Sequence[TextPair],
        *,
        reverse: Path | str | None = None,
        how: Joining = "grow-diag",
        device: str = "auto",
    ) -> Aligner:
        """Load models with their stored choices of a head; `texts` show how words are written.

        Raises ValueError if the models are not of opposite directions.
        """
        forward, backward = _load(model, device), _load(reverse, device) if reverse else None
        data = forward.translator.config.data
        if backward:
            _check_opposite(forward, backward)
        by_character = (
            is_read_by_character(data.source_lang, (source for source, _ in texts)),
            is_read_by_character(data.target_lang, (target for _, target in texts)),
        )
        return cls(forward, backward, by_character, how)

    @property
    def directions(self) -> list[Direction]:
        return [self.forward, self.backward] if self.backward else [self.forward]

    @property
    def choices(self) -> list[AlignmentChoice]:
        return [each.choice for each in self.directions if each.choice]

    def count_words(self, texts: Sequence[TextPair]) -> list[tuple[int, int]]:
        """Return the number of source and target words of each pair."""
        one, other = self.by_character
        return [(len(find_words(s, one)), len(find_words(t, other))) for s, t in texts]

    def take(self, layer: int, head: int | None, row: Row) -> Aligner:
        """Return an aligner that reads this head of the forward model.

        Raises ValueError if there is no such head.
        """
        where = check_candidate(
            AlignmentCandidate(layer, head, row), self.forward.translator.config.model
        )
        choice = AlignmentChoice(**where._asdict(), chosen_by="hand")
        return replace(self, forward=replace(self.forward, choice=choice))

    def remember(self) -> Iterator[tuple[Path, str]]:
        """Store measured choices in the model directories; yield files that cannot be written.

        A choice by information alone is not stored. ValueError for a model of the package.
        """
        for each in self.directions:
            if SHIPPED in each.folder.resolve().parents:
                raise ValueError(f"{each.folder.name} is a model of the package: copy it first")
        for each in self.directions:
            if each.is_new and each.choice and each.choice.chosen_by != "information":
                try:
                    save_choice(each.choice, each.folder)
                except OSError as error:
                    yield each.folder / ALIGNMENT, str(error.strerror)

    def read(self, texts: Sequence[TextPair]) -> list[list[Pair]]:
        """Return the pairs in tokens and words, for each direction."""
        there, back = self.by_character, self.by_character[::-1]
        pairs = [[read_pair(self.forward.translator.searcher, *text, there) for text in texts]]
        if self.backward:
            other = self.backward.translator.searcher
            pairs.append([read_pair(other, *text[::-1], back) for text in texts])
        return pairs

    def choose(self, texts: Sequence[TextPair], gold: GoldSet | None = None) -> Aligner:
        """Return an aligner with a head for each direction.

        It is the one taken by hand; else chosen by gold, if given; else the stored one, or the one
        that training guided; else chosen by agreement, if there are two directions; else by this
        direction alone.
        """
        texts = texts if gold else texts[:SAMPLE]
        pairs, sides = self.read(texts), self.directions
        if gold:
            links = [gold.pairs, [each.turn() for each in gold.pairs]]
            chosen = [
                side
                if _is(side, "hand")
                else side.take(choose_by_gold(side.translator.searcher, of, by))
                for side, of, by in zip(sides, pairs, links[: len(sides)], strict=True)
            ]
        elif len(sides) == 2 and not any(_is(side, *SURER) for side in sides):
            result = choose_by_agreement(
                (sides[0].translator.searcher, sides[1].translator.searcher), pairs
            )
            chosen = [side.take(choice) for side, choice in zip(sides, result, strict=True)]
        else:
            chosen = [
                side if side.choice else side.take(choose_alone(side.translator.searcher, of))
                for side, of in zip(sides, pairs, strict=True)
            ]
        return replace(self, forward=chosen[0], backward=chosen[1] if len(chosen) > 1 else None)

    def align(self, texts: Sequence[TextPair]) -> list[AlignedPair]:
        """Return the alignment of each pair of texts, without links if one is empty or too long."""
        pairs = self.read(texts)
        results = [each.align(of) for each, of in zip(self.directions, pairs, strict=True)]
        if len(results) == 1:
            return results[0]
        return [_join(one, other, self.how) for one, other in zip(*results, strict=True)]


def align_texts(model: Path | str, texts: Sequence[TextPair]) -> Iterator[str]:
    """Yield the links that a model finds in each pair of texts, as a line like 0-0 1-2.

    Words are what stands between white space, also where a language has none.
    """
    aligner = replace(Aligner.load(model, texts), by_character=(False, False))
    aligner = aligner.choose([pair for pair in texts if all(map(str.strip, pair))])
    for start in range(0, len(texts), SAMPLE):
        for aligned in aligner.align(texts[start : start + SAMPLE]):
            yield write_pharaoh(aligned.links)


def _load(model: Path | str, device: str) -> Direction:
    translator = Translator.load(model, device=device)
    return Direction(locate(model), translator, load_choice(model, translator.config))


def _check_opposite(forward: Direction, backward: Direction) -> None:
    one, other = (each.translator.config.data for each in (forward, backward))
    if (one.source_lang, one.target_lang) != (other.target_lang, other.source_lang):
        raise ValueError(
            f"{forward.folder.name} translates {one.source_lang} to {one.target_lang}, and "
            f"{backward.folder.name} {other.source_lang} to {other.target_lang}: "
            "not the other way round"
        )


def _is(direction: Direction, *ways: str) -> bool:
    return direction.choice is not None and direction.choice.chosen_by in ways


def _join(one: AlignedPair, other: AlignedPair, joining: Joining) -> AlignedPair:
    """Return the joined links of both directions, with the forward weight, else the backward."""
    back = {(i, j): weight for (j, i), weight in other.weights.items()}
    both = join_links(one.links, frozenset(back), joining)
    weights = {link: one.weights.get(link, back.get(link, 0.0)) for link in sorted(both)}
    return replace(one, weights=weights, fits=one.fits and other.fits)
