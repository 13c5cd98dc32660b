"""Split HTML into runs of text, each translated on its own with the tags inside it.

Everything else stays as it was, character by character: tags and their attributes, comments,
scripts, code, reference marks. Broken mark-up is no error: a tag without its partner keeps its
position in the run.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from glassformer.text.unicode import Span
from glassformer.translate.align.marked_words import MarkedLink

from .elements import OPAQUE, is_excluded, is_inline
from .failures import Failures
from .placing import TagMark, place_marks
from .reference_marks import fold_reference_marks
from .run_parts import RunPart
from .tags import PageToken, cut_page, find_element_end
from .verbatim_points import VerbatimPoint, find_points, has_points, put_tags, take_out

_POINTS = frozenset(("img", "wbr", "input"))  # inline elements without content
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_FIXED = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"  # spaces that browsers do not merge
_TIED = re.compile(rf"(?<=\S)([{_FIXED}])(?=\S)")
_SPACE = re.compile(r"\s|&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|nbsp;?|[A-Za-z][A-Za-z0-9]*+;)")
_SPACES = re.compile(rf"(?:{_SPACE.pattern})+")
DEEPEST = 20  # nesting of tags in one run; a deeper tag is treated as a point
_ALWAYS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@dataclass
class Run:
    """The plain text between two block elements, and the inline tags in it."""

    text: str = ""
    marks: list[TagMark] = field(default_factory=list)
    entities: dict[str, str] = field(default_factory=dict)  # as the page wrote these characters
    before: str = ""  # white space around the text, as it was
    after: str = ""
    tied: set[tuple[str, str]] = field(default_factory=set)  # words, the first with &nbsp; behind
    raw: str = ""  # as the page has it, tags included
    # Placeholders and the like: `text` lacks them, and `whole` has their texts.
    points: list[VerbatimPoint] = field(default_factory=list)
    whole: "Run | None" = None

    @property
    def full_text(self) -> str:
        """Return the text with those of its points."""
        return (self.whole or self).text

    def write_whole(self, translation: str, links: Sequence[MarkedLink] | None) -> str:
        """Return the translation of `whole` as HTML, with the tags of the points.

        If a point was lost, came twice, or is cut by other tags, all are placed in proportion.
        """
        assert self.whole
        table = str.maketrans(self.whole.entities | _ALWAYS)
        if has_points(translation, self.points):
            written = put_tags(self.whole.write(translation, links), self.points, table)
            if written is not None:
                return written
        return self.write(take_out(translation, self.points), [])

    def write(self, translation: str, links: Sequence[MarkedLink] | None) -> str:
        """Return the run's translation as HTML; `links` are its word alignment.

        `links` is None for a run without tags.
        """
        translation = _tie(translation, self.tied) if self.tied else translation
        table = str.maketrans(self.entities | _ALWAYS)
        if links is None:
            return f"{self.before}{translation.translate(table)}{self.after}"
        body = place_marks(
            self.text, translation, self.marks, links, lambda text: text.translate(table)
        )
        return f"{self.before}{body}{self.after}"


@dataclass
class MarkupPage:
    """A page as a list of runs, and of strings that stay as they are, in order."""

    parts: list[str | Run]

    @property
    def runs(self) -> list[Run]:
        return [part for part in self.parts if isinstance(part, Run)]

    def fill(self, written: Sequence[str]) -> str:
        rest = iter(written)
        return "".join(part if isinstance(part, str) else next(rest) for part in self.parts)


def read_markup(text: str, failures: Failures | None = None) -> MarkupPage:
    """Return a page of HTML as runs and what stays; any text is one, broken mark-up included.

    `failures` gets the runs that cannot be read, and stay.
    """
    parts: list[str | Run] = []
    failures = failures or Failures()
    gathered: list[RunPart] = []

    def flush() -> None:
        raw = "".join(part.raw for part in gathered)
        part: str | Run = raw
        with failures.leave(raw):
            folded = fold_reference_marks(gathered)
            if _is_readable(folded):
                part = _make_run(folded)
                part.raw = raw
                part.points, whole = find_points(folded)
                part.whole = _make_run(whole) if part.points else None
        parts.append(part)
        gathered.clear()

    for part in _read_parts(text):
        if part.kind == "break":
            flush()
            parts.append(part.raw)
        else:
            gathered.append(part)
    flush()
    return MarkupPage(parts)


def _is_readable(parts: Sequence[RunPart]) -> bool:
    """Return whether there is a letter or digit outside the tags."""
    text = html.unescape("".join(part.raw for part in parts if part.kind == "text"))
    return any(map(str.isalnum, text))


def _read_parts(text: str) -> Iterator[RunPart]:
    tokens = [*cut_page(text)]
    number = 0
    while number < len(tokens):
        token, first = tokens[number], number
        number += 1
        is_left = token.name in OPAQUE or is_excluded(token.attributes)
        if token.kind == "start" and is_left and not token.is_empty:
            number = find_element_end(tokens, first)
        raw = text[token.begin : tokens[number - 1].end]
        yield RunPart(raw, _name_kind(token, is_left), token.name)


def _name_kind(token: PageToken, is_left: bool) -> str:
    """Return what a token is in a run; `is_left`: it is not translated, nor what is in it."""
    name = token.name
    if token.kind == "text":
        return "text"
    if token.kind == "comment" or name in _POINTS:
        return "point"
    if not is_inline(name):
        return "break"
    if token.kind == "end":
        return "close"
    return "point" if is_left or token.is_empty or token.kind == "raw" else "open"


def _make_run(parts: Sequence[RunPart]) -> Run:
    run, root = Run(), TagMark(0, -1, "", "")
    written, opened = _Text(), [("", root)]
    plain = set[str]()
    for part, around in zip(parts, _find_spaces(parts), strict=True):
        if part.kind == "text":
            written.add(_read_text(part.raw, run, plain))
        elif part.kind == "close":
            _close(opened, part, written.length, around[1])
        else:
            is_open = part.kind == "open" and len(opened) < DEEPEST
            end = -1 if is_open else written.length
            mark = TagMark(written.length, end, part.raw, "", around)
            opened[-1][1].children.append(mark)
            if is_open:
                opened.append((part.name, mark))
    for _, mark in opened:
        mark.end = written.length
    run.entities = {c: entity for c, entity in run.entities.items() if c not in plain}
    run.marks = root.children
    _trim(run, "".join(written.parts), parts)
    run.tied = _find_tied(run.text)
    run.text = re.sub(f"[{_FIXED}]", " ", run.text)
    return run


class _Text:
    """A text that grows; white space on both sides of a tag counts once."""

    def __init__(self) -> None:
        self.parts, self.length = list[str](), 0

    def add(self, text: str) -> None:
        if self.parts and self.parts[-1].endswith(" ") and text.startswith(" "):
            text = text[1:]
        if text:
            self.parts.append(text)
            self.length += len(text)


def _close(opened: list[tuple[str, TagMark]], part: RunPart, at: int, is_spaced: bool) -> None:
    """Close the nearest open element of that name, and those opened inside it."""
    places = [place for place, (name, _) in enumerate(opened) if name == part.name]
    if not places:
        parent, root = opened[-1][1], opened[0][1]
        if root.close_count == DEEPEST:
            parent.children.append(TagMark(at, at, part.raw, ""))
            return
        # The element began earlier on the page, so it contains everything before this tag.
        root.close_count += 1
        parent.children = [TagMark(parent.start, at, "", part.raw, children=parent.children)]
        return
    for _, mark in opened[places[-1] :]:
        mark.end = at
    closed = opened[places[-1]][1]
    closed.close, closed.spaced = part.raw, (closed.spaced[0], is_spaced)
    del opened[places[-1] :]


def _read_text(raw: str, run: Run, plain: set[str]) -> str:
    """Return text with entities decoded; `plain` gets the characters written without entities."""
    for entity in _ENTITY.findall(raw):
        character = html.unescape(entity)
        if len(character) == 1:
            run.entities.setdefault(character, entity)
    plain.update(_ENTITY.sub("", raw))
    return re.sub(r"[^\S\u00a0]+", _merge, html.unescape(raw))


def _merge(spaces: re.Match[str]) -> str:
    """Return one space for white space; one that is wider or narrower than others stays."""
    return spaces[0] if re.fullmatch(f"[{_FIXED}]", spaces[0]) else " "


def _find_tied(text: str) -> set[tuple[str, str]]:
    """Return the pairs of words with a space between that is no plain one; the first has it."""
    tied = set[tuple[str, str]]()
    for phrase in re.split(rf"[^\S{_FIXED}]+", text):
        parts = _TIED.split(phrase)
        rows = zip(parts[:-1:2], parts[1::2], parts[2::2], strict=True)
        tied.update((first + space, second) for first, space, second in rows)
    return tied


def _tie(text: str, tied: set[tuple[str, str]]) -> str:
    """Return a text with the space between two words that they have in `tied`."""
    words, spaces = text.split(" "), sorted({first[-1] for first, _ in tied})
    gaps = (
        next((space for space in spaces if (first + space, second) in tied), " ")
        for first, second in pairwise(words)
    )
    return words[0] + "".join(gap + word for gap, word in zip(gaps, words[1:], strict=True))


def _trim(run: Run, written: str, parts: Sequence[RunPart]) -> None:
    """Set the run's text without outer white space, and shift its marks to match.

    White space at the ends of the run is kept in `before` and `after`.
    """
    run.text = written.strip()
    run.before = "".join(_list_outer_spaces(parts, 0))
    run.after = "".join([*_list_outer_spaces(parts[::-1], 1)][::-1])
    left = len(written) - len(written.lstrip())
    waiting = [*run.marks]
    while waiting:
        mark = waiting.pop()
        mark.start, mark.end = (
            min(max(place - left, 0), len(run.text)) for place in (mark.start, mark.end)
        )
        waiting += mark.children


def _list_outer_spaces(parts: Sequence[RunPart], side: int) -> Iterator[str]:
    """Yield the white space before all text, as it was, or on side 1 that behind it.

    Of that within tags only what a browser shows is there. On side 1 the parts come reversed.
    """
    for number, part in enumerate(parts):
        if part.kind in ("point", "open" if side else "close"):
            return
        if part.kind != "text":
            continue
        before, after = _measure_spaces(part.raw)
        spaces = part.raw[after:] if side else part.raw[:before]
        if not number or re.search(f"[{_FIXED}]", html.unescape(spaces)):
            yield spaces
        if spaces != part.raw:
            return


def _measure_spaces(raw: str) -> Span:
    """Return where the white space before a text ends, and where that behind it begins.

    It is white space also if an entity stands for it.
    """
    if "&" not in raw:
        return len(raw) - len(raw.lstrip()), len(raw.rstrip())
    before = after = ""
    for match in _SPACES.finditer(raw):
        before = match[0] if not match.start() else before
        after = match[0] if match.end() == len(raw) else ""
    left, right = takewhile(_is_space, _SPACE.findall(before)), _SPACE.findall(after)[::-1]
    return sum(map(len, left)), len(raw) - sum(map(len, takewhile(_is_space, right)))


def _is_space(sign: str) -> bool:
    return html.unescape(sign).isspace()


def _find_spaces(parts: Sequence[RunPart]) -> list[tuple[bool, bool]]:
    """Return for each part whether the nearest text, left and right, has white space there."""
    sides = []
    for order, end in ((parts, -1), (parts[::-1], 0)):
        spaced, is_spaced = list[bool](), False
        for part in order:
            spaced.append(is_spaced)
            if part.kind == "text":
                before, after = _measure_spaces(part.raw)
                is_spaced = before > 0 if end == 0 else after < len(part.raw)
        sides.append(spaced)
    return [*zip(sides[0], sides[1][::-1], strict=True)]
