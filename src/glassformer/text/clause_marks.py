"""The mark at the end of a translated clause: that of its source, not one that nobody wrote.

A network that reads a clause alone takes it for a sentence, and often gives it a full stop.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .patterns import LazyPattern
from .unicode import Span

_ENDS = ".!?…。！？।۔؟"
_CLOSED = LazyPattern(rf"[{_ENDS}][\"'”’“‘»«›‹)\]」』）]*\Z")
_INNER = LazyPattern(r"[,;:،؛，、；：]\Z")
_WIDE = {",": "，", ";": "；", ":": "："}
_NARROW = {wide: narrow for narrow, wide in _WIDE.items()} | {"、": ","}


def find_clauses(text: str, spans: Sequence[Span]) -> Iterator[bool]:
    """Yield for each span whether the sentence goes on after it, in the next span."""
    for (start, end), (following, _) in pairwise(spans):
        yield text[end:following] in ("", " ") and not _CLOSED.search(text, start, end)
    if spans:
        yield False


def restore_mark(source: str, translation: str, is_wide: bool) -> str:
    """Return a translated clause with the final mark of its source in place of a full stop.

    is_wide: whether the translation has Chinese or Japanese marks.
    """
    if not translation.rstrip(_ENDS) or not source:
        return translation
    bare = translation.rstrip(_ENDS)
    mark = _INNER.search(source)
    if mark is None or _INNER.search(bare):
        return bare
    return bare + (_WIDE if is_wide else _NARROW).get(mark[0], mark[0])
