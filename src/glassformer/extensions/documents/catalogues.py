"""The messages of programs in files of translators and developers, such as PO and XLIFF.

What a program fills in or reads, a placeholder, a tag or a link, is no word of its message: it is
set aside and put back as it was, at the word that it stood beside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Protocol

from glassformer.text.symbols import touches
from glassformer.text.unicode import Span
from glassformer.text.verbatim import find_verbatim

from .bars import CHOICE, cut_at_bars
from .failures import Failures
from .path_names import find_paths
from .subtitle_tags import SentenceMarkup, SubtitleToken

# Marks of a line break or tab; not the \n that is quoted, as in: separated by "\n".
_QUOTED = r"(?:(?<=['\"`]\\.)|(?<=['\"`]\\r\\n))['\"`]"
_MARKS = rf"(?i:<br\s?/?>)|(?<!\\)(?:\\r\\n|\\r(?!\\n)|(?<!\\r)\\n|\\t)(?!{_QUOTED})"
BREAKS = re.compile(rf"\n|\t|{_MARKS}")
BREAKS_IN_LAYOUT = re.compile(
    rf"\n[ \t]*+\n|{_MARKS}"
)  # where single ones are of the file's layout
SET_ASIDE = frozenset(("code", "placeholder", "tag", "link", "mail"))


class TranslatableMessage(Protocol):
    """A message as texts of HTML; it stays as it is where filling it in fails."""

    texts: list[str]

    def fill(self, translations: Sequence[str]) -> None:
        """Write the translations of its texts into the file that the message is of."""


def cut_verbatim(text: str, *patterns: re.Pattern[str] | None) -> list[SubtitleToken]:
    """Return a text in tokens: what is translated, and as tags what is not.

    patterns: of what is not translated in this format, besides placeholders, tags and links.
    """
    tokens, at = list[SubtitleToken](), 0
    for start, end in _find_kept(text, *patterns):
        tokens.append(SubtitleToken(text[at:start], False))
        tokens.append(SubtitleToken(text[start:end], True))
        at = end
    tokens.append(SubtitleToken(text[at:], False))
    return [token for token in tokens if token.text]


def _find_kept(text: str, *patterns: re.Pattern[str] | None) -> Iterator[Span]:
    """Yield the spans of what is not translated, in order."""
    spans = [(each.start, each.end) for each in find_verbatim(text) if each.kind in SET_ASIDE]
    spans += [match.span() for each in filter(None, patterns) for match in each.finditer(text)]
    spans.sort(key=lambda span: (span[0], -span[1]))
    at = 0
    for start, end in spans:
        if start >= at:
            yield start, end
            at = end


def cut_at_breaks(text: str, breaks: re.Pattern[str] = BREAKS) -> list[str]:
    r"""Return what is between the breaks of a text, at even places, and those.

    The \n of C:\new is none.
    """
    paths = find_paths(text) if "\\" in text else ()
    parts, at = list[str](), 0
    for match in breaks.finditer(text):
        if not touches(match.span(), paths):
            parts += [text[at : match.start()], match[0]]
            at = match.end()
    return [*parts, text[at:]]


def cut_plural(text: str, pattern: re.Pattern[str] | None = None) -> list[str]:
    """Return the forms of a text with bars, at even places, and what is between."""
    return cut_at_bars(text, [*_find_kept(text, pattern)]) if "|" in text else [text]


class PlainMessage:
    """A message without markup of its file; `write` takes its translation.

    What is between line breaks or tabs is translated on its own, and so is each form of a plural;
    the white space around it stays. pattern: what is not translated in this format. forms: those
    of the text, see cut_plural.
    """

    def __init__(
        self,
        text: str,
        write: Callable[[str], object],
        pattern: re.Pattern[str] | None = None,
        *,
        forms: Sequence[str] = (),
        breaks: re.Pattern[str] = BREAKS,
    ) -> None:
        parts = enumerate(forms or [text])
        cut = (cut_at_breaks(each, breaks) if n % 2 == 0 else [each] for n, each in parts)
        self.lines, self.write = [*chain.from_iterable(cut)], write
        self.markups = dict[int, tuple[str, SentenceMarkup, str]]()
        for number, line in [*enumerate(self.lines)][::2]:
            inner = line.strip()
            tokens = cut_verbatim(inner, pattern, CHOICE)
            if any(map(str.isalnum, "".join(each.text for each in tokens if not each.is_tag))):
                before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
                self.markups[number] = before, SentenceMarkup(tokens, is_escaped=False), after
        self.texts = [markup.text for _, markup, _ in self.markups.values()]

    def fill(self, translations: Sequence[str]) -> None:
        lines = [*self.lines]
        for (number, (before, markup, after)), translation in zip(
            self.markups.items(), translations, strict=True
        ):
            (lines[number],) = markup.divide(translation, [1])
            lines[number] = f"{before}{lines[number]}{after}"
        self.write("".join(lines))


class Catalogue:
    """A file of messages as texts of HTML; `write` gives its text once they are filled in."""

    form = "html"

    def __init__(self, messages: Sequence[TranslatableMessage], write: Callable[[], str]) -> None:
        self.messages, self.write = [each for each in messages if each.texts], write
        self.texts = [text for message in self.messages for text in message.texts]
        self.failures = Failures()

    def fill(self, translations: Sequence[str]) -> str:
        fill_messages(self.messages, translations, self.failures)
        return self.write()


def fill_messages(
    messages: Sequence[TranslatableMessage], translations: Sequence[str], failures: Failures
) -> None:
    """Write the translations of the texts of all messages; `failures` gets what stays as it is."""
    rest = iter(translations)
    for message in messages:
        with failures.leave(message.texts[0]):
            message.fill([*islice(rest, len(message.texts))])
