"""Texts of several sentences: all are translated, and one is recorded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..text.context import extend_source
from ..text.spacing import join_sentences
from ..translate.options import SearchOptions
from ..translate.sentence import Sentence
from ..translate.stages import TranslationStages
from ..translate.writing import join_translations
from .document import SentenceSpans, Whole


@dataclass(frozen=True)
class Excerpt:
    """The sentence of a text that is recorded, as the encoder is given it."""

    text: str
    number: int = 0  # among the sentences of the whole text
    key: int = 0  # of sampling: the same that `translate` draws with
    lines: Sequence[Sequence[Sentence]] = ()  # of the whole text

    @property
    def sentence(self) -> Sentence:
        """Return the record of the sentence; there is one if there are lines."""
        return self.sentences[self.number]

    @property
    def sentences(self) -> list[Sentence]:
        """Return the records of all sentences of the text."""
        return [each for line in self.lines for each in line]


def choose_sentence(translator: TranslationStages, text: str, number: int) -> Excerpt:
    """Return one sentence of a text; -1 is the last. Raises ValueError if it does not exist."""
    reader = translator.reader
    lines = reader.read([line for _, line, _ in _read_lines(text)], as_document=True)
    sentences = [each for line in lines for each in line]
    many = max(len(sentences), 1)
    if not -many <= number < many:
        have = "there is 1" if many == 1 else f"there are {many}, 0 to {many - 1}"
        raise ValueError(f"sentence {number} is out of range: {have}")
    if not sentences:
        return Excerpt(text)
    chosen = sentences[number]
    bare = reader.set_aside(chosen.text)
    own = bare.text if bare else chosen.text
    extended = extend_source(chosen.context, own) if reader.context else own
    if many == 1 and extended == text.strip():
        return Excerpt(text, lines=lines)
    return Excerpt(extended, number % many, chosen.key, lines)


def take_as_one(translator: TranslationStages, text: str) -> Excerpt:
    """Return a text as one sentence; only one of a single line can have a translation of its own.

    Several lines are a sentence after its context.
    """
    own = text.strip()
    if len(text.splitlines()) != 1 or not own:
        return Excerpt(text)
    start, read = text.index(own), translator.reader.prepare(own)
    span = start, start + len(own)
    sentence = Sentence(own, span=span, adapted=read.adapted, aside=read.aside)
    return Excerpt(text, lines=[[sentence]])


def translate_whole(
    translator: TranslationStages,
    text: str,
    excerpt: Excerpt,
    own: tuple[str, str],
    options: SearchOptions,
) -> Whole | None:
    """Translate all other sentences as `translate` does.

    own: the translation of this sentence as the recording shows it, with names in the place of
    stand-ins, and as the network wrote it. Returns None if the text is one sentence, and nothing
    else, and its translation is what is shown: what the user gets differs from that in case, in
    typography or in days (*le 1er mai*), as the sentence does from what the network reads.
    """
    if not excerpt.lines:
        return None
    sentences = excerpt.sentences
    others = [each for number, each in enumerate(sentences) if number != excerpt.number]
    translated = translator.checker.translate(others, options)
    texts = [each.translations[0].text for each in translated]
    shown, written = own
    adapted = translator.reader.prepare(excerpt.sentence.text).adapted
    sentence = excerpt.sentence._replace(adapted=adapted)
    texts.insert(excerpt.number, translator.writer.place_aside(sentence, written))
    if texts == [shown] and excerpt.text == text:
        return None
    spans = list[SentenceSpans]()
    translation = ""
    for (begin, line, ending), own_sentences in zip(_read_lines(text), excerpt.lines, strict=True):
        sources = [each.span for each in own_sentences]
        first = len(spans)
        if sources:
            joined, targets = join_sentences(line, sources, texts[first : first + len(sources)])
        else:
            joined, targets = join_translations(line, ())[0].text, []
        spans += [
            SentenceSpans(
                source=(begin + source[0], begin + source[1]),
                target=(len(translation) + target[0], len(translation) + target[1]),
            )
            for source, target in zip(sources, targets, strict=True)
        ]
        translation += joined + ending
    return Whole(text=text, translation=translation, sentences=tuple(spans), chosen=excerpt.number)


def _read_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield each line with the index of its first character before and its line break after it."""
    begin = 0
    for line, kept in zip(text.splitlines(), text.splitlines(keepends=True), strict=True):
        yield begin, line, kept[len(line) :]
        begin += len(kept)
