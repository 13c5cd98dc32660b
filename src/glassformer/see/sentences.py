"""Texts of several sentences: all are translated, and one is recorded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..checks.quality_check import search_checked
from ..text.context import PrecedingLines, cut_source, extend_source, list_contexts
from ..text.sentences import cut_spans
from ..text.spacing import join_sentences
from ..translator import PART, Choice, Progress, Translator
from .document import SentenceSpans, Whole


@dataclass(frozen=True)
class Excerpt:
    """The sentence of a text that is recorded, as the encoder is given it."""

    text: str
    number: int = 0  # among the sentences of the whole text
    many: int = 1  # the number of sentences of the whole text
    key: int = 0  # of sampling: the same that `translate` draws with


def choose_sentence(translator: Translator, text: str, sentence: int) -> Excerpt:
    """Return one sentence of a text; -1 is the last. Raises ValueError if it does not exist."""
    lines = [content for _, content, _ in _read_lines(text)]
    spans = [translator.split(line) for line in lines]
    keys = [line + PART * part for line, found in enumerate(spans) for part in range(len(found))]
    contexts = [*list_contexts(lines, PrecedingLines(translator.context))]
    places = [*zip(keys, translator.extend_parts(lines, spans, contexts), strict=True)]
    many = max(len(places), 1)
    if not -many <= sentence < many:
        have = "there is 1" if many == 1 else f"there are {many}, 0 to {many - 1}"
        raise ValueError(f"sentence {sentence} is out of range: {have}")
    key, chosen = places[sentence] if places else (0, text)
    context, own = cut_source(chosen) if translator.context else ("", chosen)
    if aside := translator.set_aside(own):
        chosen = extend_source(context, aside.text)
    if not places or (many == 1 and chosen == text.strip()):
        return Excerpt(text)
    return Excerpt(chosen, sentence % many, many, key)


def translate_whole(
    translator: Translator,
    text: str,
    chosen: Excerpt,
    own: str,
    decode: Choice,
    seed: int,
    progress: Progress | None = None,
) -> Whole | None:
    """Translate all sentences as `translate` does; `own` is the translation of the chosen one.

    Returns None if the text is one sentence, and nothing else.
    """
    if chosen.text == text and chosen.many == 1:
        return None
    lines = [*_read_lines(text)]
    texts = [line for _, line, _ in lines]
    told: dict[str, Any] = {"decode": decode, "seed": seed, "progress": progress}
    if translator.context:
        told["contexts"] = [*list_contexts(texts, PrecedingLines(translator.context))]
    found = search_checked(translator, texts, **told)
    sentences: list[SentenceSpans] = []
    translation = ""
    for (begin, line, ending), judged in zip(lines, found, strict=True):
        best = judged.best[0]
        spans = [part.source for part in best.parts]
        said = [best.text[slice(*part.target)] for part in best.parts]
        if 0 <= chosen.number - len(sentences) < len(said):
            number = chosen.number - len(sentences)
            said[number] = translator.place_symbols(cut_spans(line, spans)[number], own)
        joined, places = join_sentences(line if spans else best.text, spans, said)
        sentences += [
            SentenceSpans(
                source=(begin + source[0], begin + source[1]),
                target=(len(translation) + target[0], len(translation) + target[1]),
            )
            for source, target in zip(spans, places, strict=True)
        ]
        translation += joined + ending
    return Whole(
        text=text, translation=translation, sentences=tuple(sentences), chosen=chosen.number
    )


def _read_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield each line with the index of its first character before and its line break after it."""
    begin = 0
    for line, kept in zip(text.splitlines(), text.splitlines(keepends=True), strict=True):
        yield begin, line, kept[len(line) :]
        begin += len(kept)
