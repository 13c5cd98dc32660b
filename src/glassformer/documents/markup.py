"""Split HTML into runs of text, each translated on its own with the tags inside it.

Everything else stays as it was, character by character: tags and their attributes, comments,
scripts, code. Broken mark-up is no error: a tag without its partner keeps its position in the run.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .placing import Link, TagMark, place_marks

_INLINE = (
    "a abbr acronym b bdi bdo big cite data del dfn em font i ins label mark q rb rp rt ruby s "
    "small span strike strong sub sup time tt u"
)
_INLINE_OPAQUE = "code kbd samp var svg math canvas"
_OPAQUE = "pre script style textarea template iframe object audio video noscript xmp"
INLINE = frozenset(_INLINE.split())
INLINE_OPAQUE = frozenset(_INLINE_OPAQUE.split())
OPAQUE = INLINE_OPAQUE | frozenset(_OPAQUE.split())  # nothing within them is text
POINTS = frozenset(("img", "wbr", "input"))  # inline elements without content
_TOKEN = re.compile(
    r"(?P<rest><!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?][^>]*+(?:>|\Z))"
    r"|<(?P<end>/?)(?P<name>[A-Za-z][^\s/<>]*+)"
    r"(?P<attributes>(?:\"[^\"]*+\"|'[^']*+'|[^\"'<>])*+|[^<>]*+)>",
    re.DOTALL,
)
_UNTOUCHED = re.compile(
    r"""\btranslate\s*=\s*["']?no\b|\bclass\s*=\s*["']?[^"'>]*\bnotranslate\b""", re.IGNORECASE
)
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_TIED = re.compile(r"(\S+)\u00a0(?=(\S+))")
DEEPEST = 50  # nesting of tags in one run; a deeper tag is treated as a point
_ALWAYS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@dataclass
class Run:
    """The plain text between two block elements, and the inline tags in it."""

    text: str = ""
    marks: list[TagMark] = field(default_factory=list)
    entities: dict[str, str] = field(default_factory=dict)  # as the page wrote these characters
    before: str = ""  # white space around the text, as it was
    after: str = ""
    tied: list[tuple[str, str]] = field(default_factory=list)  # words with &nbsp; between them

    def write(self, said: str, links: Sequence[Link] | None) -> str:
        """Return the run's translation `said` as HTML; `links` are its word alignment.

        `links` is None for a run without tags.
        """
        for left, right in self.tied:
            said = said.replace(f"{left} {right}", f"{left}\u00a0{right}")
        entities = self.entities | _ALWAYS
        table = str.maketrans(entities)
        body = (
            place_marks(self.text, said, self.marks, links, lambda text: text.translate(table))
            if links is not None
            else said.translate(table)
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


@dataclass
class _Token:
    """A part of the page: text, a tag inside a run, or something that ends a run."""

    raw: str
    kind: str  # text, open, close, point, break
    name: str = ""


def read_markup(text: str) -> MarkupPage:
    parts: list[str | Run] = []
    gathered: list[_Token] = []

    def flush() -> None:
        if any(token.kind == "text" and token.raw.strip() for token in gathered):
            readable = html.unescape("".join(p.raw for p in gathered if p.kind == "text"))
            if any(character.isalnum() for character in readable):
                parts.append(_make_run(gathered))
                gathered.clear()
                return
        parts.extend(token.raw for token in gathered)
        gathered.clear()

    for token in _read_tokens(text):
        if token.kind == "break":
            flush()
            parts.append(token.raw)
        else:
            gathered.append(token)
    flush()
    return MarkupPage(parts)


def _read_tokens(text: str) -> Iterator[_Token]:
    at = 0
    while found := _TOKEN.search(text, at):
        if found.start() > at:
            yield _Token(text[at : found.start()], "text")
        at = found.end()
        if found["rest"] is not None:
            yield _Token(found[0], "point")
            continue
        name, is_end = found["name"].lower(), bool(found["end"])
        is_whole = found["attributes"].rstrip().endswith("/")
        is_left = name in OPAQUE or _UNTOUCHED.search(found["attributes"])
        if is_left and not is_end and not is_whole:
            at = _find_close(text, at, name)
            kind = "point" if name in INLINE_OPAQUE or name in INLINE else "break"
            yield _Token(text[found.start() : at], kind)
        elif name in POINTS or (name in INLINE and is_whole):
            yield _Token(found[0], "point")
        elif name in INLINE:
            yield _Token(found[0], "close" if is_end else "open", name)
        else:
            yield _Token(found[0], "break")
    if at < len(text):
        yield _Token(text[at:], "text")


def _find_close(text: str, at: int, name: str) -> int:
    """Return the index after the tag that closes an element; the page's end if none does."""
    tag = re.compile(rf"<(/?){re.escape(name)}(?=[\s/>])[^>]*>", re.IGNORECASE)
    depth = 1
    for found in tag.finditer(text, at):
        if name in ("script", "style", "textarea", "xmp") and not found[1]:
            continue
        depth += -1 if found[1] else not found[0].endswith("/>")
        if not depth:
            return found.end()
    return len(text)


def _make_run(tokens: Sequence[_Token]) -> Run:
    run, root = Run(), TagMark(0, -1, "", "")
    written, opened = "", [("", root)]
    plain = set[str]()
    for token, around in zip(tokens, _find_spaces(tokens), strict=True):
        if token.kind == "text":
            written = _join(written, _read_text(token.raw, run, plain))
        elif token.kind == "close":
            _close(opened, token, len(written), around[1])
        else:
            is_open = token.kind == "open" and len(opened) < DEEPEST
            mark = TagMark(len(written), -1 if is_open else len(written), token.raw, "", around)
            opened[-1][1].children.append(mark)
            if is_open:
                opened.append((token.name, mark))
    for _, mark in opened:
        mark.end = len(written)
    run.entities = {c: entity for c, entity in run.entities.items() if c not in plain}
    run.marks = root.children
    _trim(run, written, tokens)
    run.tied = _TIED.findall(run.text)
    run.text = run.text.replace("\u00a0", " ")
    return run


def _close(opened: list[tuple[str, TagMark]], token: _Token, at: int, is_spaced: bool) -> None:
    """Close the nearest open element of that name, and those opened inside it."""
    places = [place for place, (name, _) in enumerate(opened) if name == token.name]
    if not places:
        parent = opened[-1][1]
        if parent.close_count == DEEPEST:
            parent.children.append(TagMark(at, at, token.raw, ""))
            return
        # The element began earlier on the page, so it contains everything before this tag.
        parent.close_count += 1
        parent.children = [TagMark(parent.start, at, "", token.raw, children=parent.children)]
        return
    for _, mark in opened[places[-1] :]:
        mark.end = at
    closed = opened[places[-1]][1]
    closed.close, closed.spaced = token.raw, (closed.spaced[0], is_spaced)
    del opened[places[-1] :]


def _read_text(raw: str, run: Run, plain: set[str]) -> str:
    """Return text with entities decoded; `plain` gets the characters written without entities."""
    for entity in _ENTITY.findall(raw):
        character = html.unescape(entity)
        if len(character) == 1:
            run.entities.setdefault(character, entity)
    plain.update(_ENTITY.sub("", raw))
    return re.sub(r"[^\S\u00a0]+", " ", html.unescape(raw))


def _join(written: str, text: str) -> str:
    """Return the texts joined; white space on both sides of a tag counts once."""
    return written + (text[1:] if written.endswith(" ") and text.startswith(" ") else text)


def _trim(run: Run, written: str, tokens: Sequence[_Token]) -> None:
    """Set the run's text without outer white space, and shift its marks to match.

    White space at the ends of the run is kept in `before` and `after`.
    """
    first, last = tokens[0], tokens[-1]
    run.text = written.strip()
    if first.kind == "text":
        run.before = first.raw[: len(first.raw) - len(first.raw.lstrip())]
    if last.kind == "text":
        run.after = last.raw[len(last.raw.rstrip()) :]
    left = len(written) - len(written.lstrip())
    waiting = [*run.marks]
    while waiting:
        mark = waiting.pop()
        mark.start, mark.end = (
            min(max(place - left, 0), len(run.text)) for place in (mark.start, mark.end)
        )
        waiting += mark.children


def _find_spaces(tokens: Sequence[_Token]) -> list[tuple[bool, bool]]:
    """Return for each token whether the nearest text, left and right, has white space there."""
    sides = []
    for order, end in ((tokens, -1), (tokens[::-1], 0)):
        spaced, is_spaced = list[bool](), False
        for token in order:
            spaced.append(is_spaced)
            if token.kind == "text":
                is_spaced = token.raw[end].isspace()
        sides.append(spaced)
    return [*zip(sides[0], sides[1][::-1], strict=True)]
