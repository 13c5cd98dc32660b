"""Writing: hypotheses become the translations of sentences, and these those of whole texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..decode.sentences import Hypothesis
from ..text import Tokenizer
from ..text.spacing import join_sentences
from ..text.typography import Typography
from ..text.unicode import Span
from .adapting import TRIES
from .options import SearchOptions
from .searching import Searcher
from .sentence import CheckedTranslation, Part, Sentence, TranslatedText, Translation

if TYPE_CHECKING:  # a sentence is translated without NumPy
    from .align.alignments import Alignments
    from .align.marked_words import MarkedLink

LINE_BREAKS = str.maketrans({c: " " for c in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"})
Ranked = TypeVar("Ranked", bound="Hypothesis | Translation")


class Writer:
    """A model that writes what its searcher finds; its attention places what was set aside."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher, self.reader = searcher, searcher.reader
        self.target = searcher.tokenizers.target

    def translate(self, sentences: Sequence[Sentence], options: SearchOptions) -> list[Sentence]:
        """Return the sentences with the translations that a search finds."""
        kind = options.decode.typography
        searched = self.searcher.search(sentences, options)
        written = [self.write(each, kind) for each in searched]
        for attempt in range(1, TRIES + 2):  # the last one follows a prefix as it is
            numbers = [
                n
                for n, each in enumerate(written)
                if not each.is_whole and (attempt < TRIES or bool(each.prefix) == (attempt > TRIES))
            ]
            if not numbers:
                continue
            doubtful = [written[n] for n in numbers]
            again = self.reader.read_again(doubtful, attempt, options.glossary)
            others = self.searcher.search(again, options._replace(progress=None))
            for n, other in zip(numbers, others, strict=True):
                written[n] = self.write(other, kind)
        return written

    def write(self, sentence: Sentence, kind: Typography = "source") -> Sentence:
        """Return a sentence with the translations that its hypotheses spell, best first."""
        best = [read_hypothesis(each, self.target) for each in sentence.hypotheses]
        adapter, adapted, prefix = self.reader.adapter, sentence.adapted, sentence.prefix
        if adapted and adapted.stand_ins:
            best.sort(key=lambda way: not adapter.is_whole(adapted, way.text, prefix))
        is_whole = not best or adapter.is_whole(adapted, best[0].text, prefix)
        placed = [way._replace(text=self.place_aside(sentence, way.text, kind)) for way in best]
        return sentence._replace(translations=placed, is_whole=is_whole)

    def place_aside(self, sentence: Sentence, text: str, kind: Typography = "source") -> str:
        """Return a translation of a sentence with what was set aside from it."""
        if sentence.aside:
            from .align.symbols import place_symbols

            text = place_symbols(self.searcher, self.searcher.folder, sentence.aside, text)
        adapted, source, prefix = sentence.adapted, sentence.text, sentence.prefix
        return self.reader.adapter.restore(adapted, source, text, kind, prefix)

    def align(
        self, alignments: Alignments, folder: Path, texts: Sequence[TranslatedText]
    ) -> list[list[MarkedLink]]:
        """Return links between the words of each text and its translation; see `Alignments`."""
        from .align.alignments import ParallelText

        extend = self.reader.extend
        pairs = [
            ParallelText(*each[:3], sources=tuple(map(extend, each.sentences))) for each in texts
        ]
        return alignments.align(folder, self.searcher, pairs)


def read_hypothesis(hypothesis: Hypothesis, target: Tokenizer) -> Translation:
    """Return the translation that a hypothesis spells, on one line and by itself."""
    return Translation(
        text=write_line(target.decode(hypothesis.tokens)),
        tokens=[target.token(id) for id in hypothesis.tokens],
        log_prob=hypothesis.log_prob,
        score=hypothesis.score,
        token_log_probs=hypothesis.token_log_probs,
        finished=hypothesis.finished,
        parts=[],
    )


def write_line(text: str) -> str:
    """Return a text on one line, without white space around it."""
    return text.strip().translate(LINE_BREAKS)


def join_translations(
    text: str, sentences: Sequence[Sentence], n_best: int = 1
) -> list[Translation]:
    """Return the best translations of a text, each made of one translation of each sentence."""
    spans = [each.span for each in sentences]
    ways = combine([each.translations for each in sentences], n_best)
    return [assemble(text, spans, way) for way in ways]


def join_texts(text: str, sentences: Sequence[Sentence], n_best: int = 1) -> list[TranslatedText]:
    """Return the best translations of a text, all different, with its own line breaks."""
    spans, texts = [each.span for each in sentences], dict[str, TranslatedText]()
    for way in combine([each.translations for each in sentences], n_best):
        joined, places = join_sentences(text, spans, [each.text for each in way])
        parts = tuple(zip(spans, places, strict=True))
        texts.setdefault(joined, TranslatedText(text, joined, parts, sentences))
    return [*texts.values()]


def as_text(source: str, checked: CheckedTranslation) -> TranslatedText:
    """Return the best translation of a text with the spans of its sentences."""
    best = checked.best[0]
    parts = tuple((part.source, part.target) for part in best.parts)
    return TranslatedText(source, best.text, parts, checked.sentences)


def combine(rankings: Iterable[Sequence[Ranked]], number: int) -> list[tuple[Ranked, ...]]:
    """Return the best `number` combinations of one hypothesis of each ranking.

    Fewer unfinished hypotheses are better; among equals, a higher sum of scores. Each ranking has
    the best first: there, no hypothesis counts for more than one before it, whatever its score.
    """
    best: list[tuple[int, float, tuple[Ranked, ...]]] = [(0, 0.0, ())]
    for hypotheses in rankings:
        costs = [*accumulate(((not each.finished, -each.score) for each in hypotheses), max)]
        longer: list[tuple[int, float, tuple[Ranked, ...]]] = [
            (way[0] + is_cut, way[1] + cost, (*way[2], each))
            for way in best
            for each, (is_cut, cost) in zip(hypotheses, costs, strict=True)
        ]
        best = sorted(longer, key=lambda way: way[:2])[:number]
    return [way for *_, way in best]


def assemble(text: str, spans: Sequence[Span], translations: Sequence[Translation]) -> Translation:
    """Return the translation of `text` made of one translation for each span.

    The text between the spans is kept. One line gives one line: line breaks become spaces. Blank
    text gives the empty one.
    """
    joined, places = join_sentences(
        text if text.strip() else "", spans, [each.text for each in translations]
    )
    ends = accumulate((len(each.tokens) for each in translations), initial=0)
    parts = zip(spans, places, pairwise(ends), translations, strict=True)
    return Translation(
        text=joined.translate(LINE_BREAKS),
        tokens=[token for each in translations for token in each.tokens],
        log_prob=sum((each.log_prob for each in translations), 0.0),
        score=sum((each.score for each in translations), 0.0),
        token_log_probs=[lp for each in translations for lp in each.token_log_probs],
        finished=all(each.finished for each in translations),
        parts=[
            Part(source, place, tokens, each.log_prob, each.score, each.finished)
            for source, place, tokens, each in parts
        ],
    )


def take_apart(translation: Translation) -> list[Translation]:
    """Return the translation of each sentence of a text by itself."""
    log_probs = iter(translation.token_log_probs)
    return [
        Translation(
            text=translation.text[slice(*part.target)],
            tokens=translation.tokens[slice(*part.tokens)],
            log_prob=part.log_prob,
            score=part.score,
            token_log_probs=[*islice(log_probs, part.tokens[1] - part.tokens[0] + part.finished)],
            finished=part.finished,
            parts=[],
        )
        for part in translation.parts
    ]
