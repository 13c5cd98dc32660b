"""Subtitles as sentences: one that runs over several cues is translated as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from glassformer.text.sentences import CLOSERS, ENDS
from glassformer.text.spacing import looks_unspaced

from .cues import Cue, CueFile
from .failures import Failures
from .subtitle_tags import (
    SentenceMarkup,
    SubtitleToken,
    close_at_cues,
    cut_tags,
    find_partners,
    name_tag,
)

_VOICES = re.compile(r"(?<=[.!?…。！？؟।])\s+(?=[-–—]\s*[^\s\d–—-])")  # two in one line
_PLACE = re.compile(r"\{\\(?:an?\d|pos|move|org|fade?)[^{}]*+\}")  # where a cue is shown
_ARROW = re.compile("(?<!-)-{2,}+>")  # what makes a line a time for players
_DASH = re.compile(r"[\s–—-]*[–—-]\s*")
_LABEL = re.compile(r"\s*[^\W\d_a-z][^\Wa-z_]*(?:[ .'’-][^\Wa-z_]+){0,3}:\s+(?=\S)")  # JOHN:
_BRACKETS = ("[", "(", "♪", "♫", "（", "【", "［")
_UNMARKED = re.compile(r"[\u0e00-\u0eff]\W*\Z")  # Thai and Lao have no mark at a sentence's end
_CLOSED = CLOSERS.replace("\\", "") + "♪♫ \t"
LONGEST = 8  # lines of one sentence
PAUSE = 1.5  # seconds after which a cue begins a new sentence


@dataclass
class Phrase:
    """The text of a line, or what one of two voices says in it; `before` and `after` stay."""

    line: int
    cue: Cue
    tokens: list[SubtitleToken]
    before: str = ""
    after: str = ""
    gap: str = ""  # white space between it and the phrase before it in the line
    is_new_voice: bool = False

    @property
    def plain(self) -> str:
        """Return what is read aloud."""
        return "".join(token.text for token in self.tokens if not token.is_tag).strip()

    @property
    def is_end(self) -> bool:
        """Return whether a sentence ends with it."""
        plain = self.plain
        bare = plain.rstrip(_CLOSED)
        is_last = self.line == self.cue.lines[-1] and _UNMARKED.search(bare[-8:])
        is_in_brackets = plain.startswith(_BRACKETS) and bare != plain
        return bare[-1:] in ENDS or is_in_brackets or bool(is_last)


@dataclass
class SubtitleSentence:
    """The phrases of a sentence; tags before and behind all of its text stay there."""

    phrases: list[Phrase] = field(default_factory=list)

    def close(self, is_escaped: bool) -> SentenceMarkup:
        """Return the sentence as markup."""
        tokens: list[SubtitleToken] = []
        for phrase in self.phrases:
            tokens += [SubtitleToken(" ", False)] * bool(tokens) + phrase.tokens
        return SentenceMarkup(tokens, is_escaped)


class Subtitles:
    """Subtitles as texts of HTML, one for each sentence, which may go on in the next cues.

    A translation is divided among the lines of its sentence in proportion to their length. Tags
    around a line stay there; those within it go with their words. Raises ValueError if there is no
    cue.
    """

    form = "html"

    def __init__(self, text: str) -> None:
        self.failures = Failures()
        self.file = CueFile(text)
        self.phrases = [
            phrase
            for cue in self.file.cues
            for line in cue.lines
            for phrase in _read_line(self.file.lines[line], line, cue)
        ]
        self.sentences = [*_group([phrase for phrase in self.phrases if phrase.plain])]
        self.markups = [each.close(self.file.is_vtt) for each in self.sentences]
        self.texts = [markup.text for markup in self.markups]

    def fill(self, translations: Sequence[str]) -> str:
        """Return the subtitles with these translations in place of their texts."""
        written = dict[int, str]()
        columns = zip(self.sentences, self.markups, translations, strict=True)
        for sentence, markup, translation in columns:
            sizes = [len(phrase.plain) + 1 for phrase in sentence.phrases]  # a space behind it
            sizes[-1] -= 1
            parts = ["".join(each.text for each in phrase.tokens) for phrase in sentence.phrases]
            with self.failures.leave(markup.text):
                lines = markup.divide(translation, sizes)
                cues = [phrase.cue for phrase in sentence.phrases]
                parts = close_at_cues(lines, cues) if all(lines) else lines
            for phrase, part in zip(sentence.phrases, parts, strict=True):
                whole = f"{phrase.before}{part}{phrase.after}" if part else ""
                whole = _ARROW.sub("->", whole)
                former = written.get(phrase.line, "")
                written[phrase.line] = former + (phrase.gap if former and whole else "") + whole
        return self.file.write(written)


def _read_line(line: str, number: int, cue: Cue) -> Iterator[Phrase]:
    """Yield what is said in a line: two voices may share it."""
    at, gap = 0, ""
    for match in [*_VOICES.finditer(line)]:
        yield _read_phrase(line[at : match.start()], number, cue, gap)
        at, gap = match.end(), match[0]
    yield _read_phrase(line[at:], number, cue, gap)


def _read_phrase(text: str, number: int, cue: Cue, gap: str) -> Phrase:
    """Return a phrase without the tags, dash and label that stand around all of it."""
    tokens = cut_tags(text.strip())
    partners = find_partners(tokens)
    first, last, before, is_new = 0, len(tokens), "", False
    while first < last:
        token = tokens[first]
        if not token.is_tag:
            mark = _find_voice_mark(token.text)
            before, is_new = before + mark, is_new or bool(mark.strip())
            tokens[first] = SubtitleToken(token.text[len(mark) :], False)
            if tokens[first].text:
                break
        elif partners.get(first) == last - 1:
            before, last = before + token.text, last - 1
        elif token.text.startswith("{"):
            before += token.text
        else:
            break
        first += 1
    while last > first and _PLACE.fullmatch(tokens[last - 1].text):
        last -= 1
    tokens, after = tokens[first:last], "".join(token.text for token in tokens[last:])
    before += "".join(token.text for token in tokens if _PLACE.fullmatch(token.text))
    tokens = [token for token in tokens if not _PLACE.fullmatch(token.text)]
    is_new = is_new or any(token.is_tag and name_tag(token.text) == "v" for token in tokens[:1])
    phrase = Phrase(number, cue, tokens, before, after, gap, is_new)
    phrase.is_new_voice = is_new or phrase.plain.startswith(_BRACKETS)
    return phrase


def _find_voice_mark(text: str) -> str:
    """Return the dashes and the name in capitals with which another voice begins; else ""."""
    dash = _DASH.match(text)
    at = dash.end() if dash else 0
    label = _LABEL.match(text, at)
    return text[: label.end() if label and label[0].isupper() else at]


def _group(phrases: Sequence[Phrase]) -> Iterator[SubtitleSentence]:
    """Yield the sentences; a line in which several begin is one of them."""
    sentence = SubtitleSentence()
    for phrase in phrases:
        if sentence.phrases and (phrase.is_new_voice or _is_apart(sentence.phrases[-1], phrase)):
            yield sentence
            sentence = SubtitleSentence()
        sentence.phrases.append(phrase)
        if phrase.is_end or len(sentence.phrases) == LONGEST:
            yield sentence
            sentence = SubtitleSentence()
    if sentence.phrases:
        yield sentence


def _is_apart(before: Phrase, phrase: Phrase) -> bool:
    """Return whether a phrase is in another script, or of a cue that does not follow at once."""
    if looks_unspaced(before.plain) != looks_unspaced(phrase.plain):
        return True
    if before.cue is phrase.cue:
        return False
    pause = phrase.cue.begin - before.cue.end
    return pause > PAUSE or phrase.cue.begin <= before.cue.begin
