"""Checking: translations with visible faults are searched for once more, with more care."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from ..config import Decode
from ..foundation.extensions import find_addition
from ..foundation.validation_errors import check_list
from .familiarity import Familiarity, measure_confidence
from .options import SearchOptions
from .quality_check import CAPS, UNLIKE, find_problems
from .searching import search_texts
from .sentence import CheckedTranslation, Problem, Sentence, Translation
from .writing import Writer, join_translations

SHOWN = 12  # characters of a word that could not be read
WIDE = 10  # hypotheses, among which one may drop fewer words
MOST = 0.3  # of the score: a translation that drops less may have so much less
ENDLESS = {"loop", "long", "cut"}  # faults of a translation that found no end


class Checker:
    """A model that checks what its writer writes."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.searcher = writer, writer.searcher
        self.language = self.searcher.config.data.target_lang

    @cached_property
    def dropped(self) -> Any:
        """Return what finds dropped words; None if no extension does."""
        make = find_addition("dropped")
        return make(self.searcher) if make else None

    @cached_property
    def familiarity(self) -> Familiarity:
        """Return the check of texts against the training, which is read from the model once."""
        searcher = self.searcher
        return Familiarity(searcher.config.data.source_lang, searcher.tokenizers, searcher.folder)

    def translate(self, sentences: Sequence[Sentence], options: SearchOptions) -> list[Sentence]:
        """Return the sentences with checked translations.

        A sentence whose translation has visible faults is searched for again, if the options say
        so, and the better translation is taken. One that cannot be translated stays as it is, with
        a problem; ValueError if all are such.
        """
        translated, errors = self._translate_most(sentences, options)
        if errors and len(errors) == len(sentences):
            raise errors[0]
        return translated

    def _translate_most(
        self, sentences: Sequence[Sentence], options: SearchOptions
    ) -> tuple[list[Sentence], list[ValueError]]:
        """Return the sentences, translated in halves where some cannot be, and these errors."""
        try:
            return self._translate(sentences, options), []
        except ValueError as error:
            if len(sentences) < 2:
                return [keep_source(each, str(error)) for each in sentences], [error]
        middle, quiet = len(sentences) // 2, options._replace(progress=None)
        first, errors = self._translate_most(sentences[:middle], quiet)
        second, others = self._translate_most(sentences[middle:], quiet)
        return first + second, errors + others

    def _translate(self, sentences: Sequence[Sentence], options: SearchOptions) -> list[Sentence]:
        checked = self.check_all(self.writer.translate(sentences, options))
        if not options.searches_again:
            return checked
        doubtful = [n for n, each in enumerate(checked) if _list_faults(each)]
        for numbers, careful in _plan(options, checked, doubtful):
            others = self.writer.translate([checked[n] for n in numbers], careful)
            for n, other in zip(numbers, others, strict=True):
                if (best := self._choose(checked[n], other)) is not None:
                    checked[n] = self.check(other._replace(translations=[best], retried=True))
        return checked

    def translate_texts(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        *,
        prefixes: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        as_document: bool = False,
        first_line: int = 0,
    ) -> list[CheckedTranslation]:
        """Return the checked translations of texts; see `Translator.search` for the arguments.

        The command line, `Translator.translate`, `evaluate` and the server all translate with these
        stages, so the same text has the same translation everywhere.
        """
        check_list("texts", texts)
        read = self.searcher.reader.read(
            texts,
            split=options.split,
            prefixes=prefixes,
            contexts=contexts,
            as_document=as_document,
            first_line=first_line,
            glossary=options.glossary,
        )
        return [
            join_checked(text, sentences, options)
            for text, sentences in search_texts(texts, read, options, self.translate)
        ]

    def check(self, sentence: Sentence) -> Sentence:
        """Return a sentence with the problems of its best translation."""
        return self.check_all([sentence])[0]

    def check_all(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Return sentences with the problems of their best translations."""
        best = [each.translations[0] for each in sentences]
        faults = self._find_faults([*zip(sentences, best, strict=True)])
        return [
            each._replace(problems=(*own, *self.familiarity.find_problems(each, translation)))
            for each, translation, own in zip(sentences, best, faults, strict=True)
        ]

    def _find_faults(self, ways: Sequence[tuple[Sentence, Translation]]) -> Iterator[list[Problem]]:
        """Yield the visible faults of each translation of a sentence."""
        dropped = self.dropped.find(ways) if self.dropped else [()] * len(ways)
        for (sentence, each), words in zip(ways, dropped, strict=True):
            faults = [
                *find_problems(sentence.text, each, self.language, list_names(sentence)),
                *(Problem.describe("dropped", list=word) for word in words),
            ]
            yield faults

    def _choose(self, former: Sentence, other: Sentence) -> Translation | None:
        """Return the best translation of a second search, if its problems weigh less; else None.

        One that only drops fewer words has to be nearly as probable.
        """
        faults = self._find_faults([(other, each) for each in other.translations])
        known, best = _list_faults(former), former.translations[0]
        least = best.score - MOST if _only_drops(known) else -math.inf
        kept = other.adapted.repeated if other.adapted else ()
        weights = [
            _weigh(own) if each.score >= least and _keeps(each.text, kept) else math.inf
            for each, own in zip(other.translations, faults, strict=True)
        ]
        lowest = min(weights)  # the first of equals
        return other.translations[weights.index(lowest)] if lowest < _weigh(known) else None


def keep_source(sentence: Sentence, why: str) -> Sentence:
    """Return a sentence that cannot be translated with itself as its translation."""
    kept = Translation(sentence.text, [], 0.0, 0.0, [], True, [])
    problem = Problem.describe("failed", why=why)
    return sentence._replace(translations=[kept], problems=(problem,))


def is_kept(sentence: Sentence) -> bool:
    """Return whether a sentence stayed as it is, since it cannot be translated."""
    return any(each.kind == "failed" for each in sentence.problems)


def join_checked(
    text: str, sentences: Sequence[Sentence], options: SearchOptions
) -> CheckedTranslation:
    """Return the best translations of a text with the problems of its sentences' best."""
    best = join_translations(text, sentences, options.n_best)
    problems = [
        problem._replace(part=part)
        for part, each in enumerate(sentences)
        for problem in each.problems
    ]
    if left_out := list_left_out(text, sentences):
        problems.append(Problem.describe("untranslatable", list=" ".join(left_out)))
    confidence = cap_confidence(best[0], problems)
    if not options.split and len(sentences) > 1:  # too long to be translated as a whole
        problems.append(Problem.describe("parts", count=len(sentences)))
    retried = any(each.retried for each in sentences)
    return CheckedTranslation(best, tuple(problems), confidence, retried, sentences)


def list_left_out(text: str, sentences: Sequence[Sentence]) -> list[str]:
    """Return the words of a text that are in no sentence, since the model cannot read them.

    Of each, the first characters are shown.
    """
    ends = [0, *(each.span[1] for each in sentences)]
    starts = [*(each.span[0] for each in sentences), len(text)]
    gaps = (text[end:start] for end, start in zip(ends, starts, strict=True))
    words = (word for gap in gaps for word in gap.split() if any(map(str.isalpha, word)))
    return [word if len(word) <= SHOWN else f"{word[:SHOWN]}…" for word in words]


def cap_confidence(translation: Translation, problems: Sequence[Problem]) -> float:
    """Return how sure a model is of a translation, 0 to 1, and no surer than its problems allow."""
    return round(min([measure_confidence(translation), *(CAPS[p.kind] for p in problems)]), 4)


def _plan(
    options: SearchOptions, sentences: Sequence[Sentence], doubtful: Sequence[int]
) -> Iterator[tuple[list[int], SearchOptions]]:
    """Yield the numbers of sentences that are searched for again together, and how.

    All get a wider beam. Repetition is forbidden for sentences that have one or were too long.
    """
    decode = options.decode
    beam = {"search": "beam", "beam": max(5, decode.beam), "stop": "exact", "beam_groups": 1}
    beam["shortlist"] = False  # which may be too short for a wider beam
    unlike = {**beam, "no_repeat_ngram_size": decode.no_repeat_ngram_size or 3}
    is_endless = {
        n: bool(ENDLESS & {each.kind for each in sentences[n].problems}) for n in doubtful
    }
    endless = [n for n in doubtful if is_endless[n]]
    dropping = [n for n in doubtful if _only_drops(_list_faults(sentences[n]))]
    others = [n for n in doubtful if not is_endless[n] and n not in dropping]
    wide = beam | {"beam": max(WIDE, decode.beam)}
    for numbers, changes in ((endless, unlike), (dropping, wide), (others, beam)):
        if numbers:
            careful: Decode = decode.override(changes)
            yield (
                numbers,
                options._replace(decode=careful, n_best=careful.beam, progress=None),
            )


def _only_drops(faults: Sequence[Problem]) -> bool:
    """Return whether all that is wrong is words of the source that a translation drops."""
    return {each.kind for each in faults} == {"dropped"}


def list_names(sentence: Sentence) -> list[str]:
    """Return what a translation has to have in common with its sentence: names and numbers."""
    if not sentence.adapted:
        return []
    return [*(each.original for each in sentence.adapted.stand_ins), *sentence.adapted.repeated]


def _keeps(text: str, parts: Sequence[str]) -> bool:
    return all(part.casefold() in text.casefold() for part in parts)


def _list_faults(sentence: Sentence) -> list[Problem]:
    """Return the problems that show in the translation alone."""
    return [each for each in sentence.problems if each.kind not in UNLIKE]


def _weigh(problems: Sequence[Problem]) -> float:
    return sum(1 - CAPS[each.kind] for each in problems)
