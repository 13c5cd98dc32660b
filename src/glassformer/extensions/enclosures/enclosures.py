"""Words in quotes, brackets or marks of emphasis, where a model hardly knows the marks.

Tokens begin with a space, so a word behind an opening mark is cut into other tokens than behind a
space. A network that has met few such marks makes nonsense of the word, and often of the sentence.
So rare marks are no part of what it reads: they are set aside, and placed around those words of the
translation that are aligned with the words within (see `align.symbols`). A bracket leaves a comma,
since what it encloses has no other place in the grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from glassformer.text.characters import QUOTES
from glassformer.text.patterns import LazyPattern
from glassformer.text.symbols import Enclosure
from glassformer.text.unicode import Span

from .tags import pair_tags

if TYPE_CHECKING:
    from glassformer.text.tokenizer import Tokenizer

RARE_QUOTES, RARE_BRACKETS = 0.2, 0.02  # of the number of commas: fewer marks are rare
MOST_QUOTED = 6  # words of a quotation within a sentence; a longer one keeps its marks
_DOUBLE, _SINGLE = '"\u201c\u201d\u201e\u201f«»', "'\u2018\u2019\u201a\u201b\u2039\u203a"
_BEFORE = r'(?<![^\s(\[{«„“"*_~—–-])'
_IN_WORD = r"(?<=\w)['’](?=\w)"
_FIRST = r"(?:[^\W_]|[\"“„«])"  # in brackets
# An opening mark, and in a group what follows up to the closing one.
ENCLOSED = LazyPattern(
    rf"{_BEFORE}(?=(?:[{_DOUBLE}](?P<double>[^\W_](?:[^{_DOUBLE}]*[^\s{_DOUBLE}])?)[{_DOUBLE}]"
    rf"|[{_SINGLE}](?P<single>[^\W_](?:[^{_SINGLE}]|{_IN_WORD})*)(?<!\s)[{_SINGLE}]"
    rf"|\((?P<round>{_FIRST}(?:[^()]*[^\s()])?)\)"
    rf"|\[(?P<square>{_FIRST}(?:[^\[\]]*[^\s\[\]])?)\]"
    r"|\*(?P<star>[^\W_](?:[^*]*[^\s*])?|\*[^\W_][^*]*\*)\*"  # also doubled
    r"|_(?P<line>[^\W_](?:[^_]*[^\s_])?|_[^\W_][^_]*_)_"
    r"|~(?P<wave>[^\W_](?:[^~]*[^\s~])?|~[^\W_][^~]*~)~)(?!\w))"
)
HINT = LazyPattern(rf"{_BEFORE}[{_DOUBLE}{_SINGLE}(\[*_~](?={_FIRST}|[*_~][^\W_])")
EMPHASIS = {"star": "*", "line": "_", "wave": "~"}  # of a message, as in *very* good
LETTER = LazyPattern(r"[^\W_]")
STOP = LazyPattern(r"[.!?…](?:\s|$)")
BRACKETS = ("round", "square")
WRITTEN = {"single": ("'", "'"), "round": ("(", ")"), "square": ("[", "]")}
WRITTEN |= {kind: (mark, mark) for kind, mark in EMPHASIS.items()}
_PAIRS = (("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u201e", "\u201d"), ("« ", " »"))


class Enclosures:
    """A finder of quoted or bracketed words whose marks training met too seldom."""

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        self.source, self.target = source, target

    @cached_property
    def rare(self) -> frozenset[str]:
        """Return the kinds of marks that are rare: double, single, round, square, emphasis."""
        known = self.source.normalization.characters
        if known is None:  # an imported model reads what its own toolkit would give it
            return frozenset()
        commas = known.counts.get(",", 0) if known.is_counted else 0
        quotes, brackets = (sum(known.counts.get(m, 0) for m in marks) for marks in (QUOTES, "("))
        has_quotes, has_brackets = any(map(known.is_known, QUOTES)), known.is_known("(")
        rare = [
            kind
            for kind, mark in EMPHASIS.items()
            if known.counts.get(mark, 0) <= RARE_BRACKETS * commas
            and (known.is_counted or not known.is_known(mark))
        ]
        if quotes < RARE_QUOTES * commas or not has_quotes:
            rare += ["double", "single"]
        if brackets < RARE_BRACKETS * commas or not has_brackets:
            rare += BRACKETS
        return frozenset(rare)

    @cached_property
    def quotes(self) -> tuple[str, str]:
        """Return the quotes that a target was trained on most; French ones have spaces."""
        known = self.target.normalization.characters
        counts = known.counts if known else {}
        pair = max(_PAIRS, key=lambda pair: min(counts.get(mark.strip(), 0) for mark in pair))
        is_usual = 4 * counts.get(pair[0].strip(), 0) > counts.get('"', 0)
        return pair if is_usual else ('"', '"')

    @property
    def comma(self) -> str:
        """Return what the network reads for a bracket."""
        return "," if self.source.has_token(",") else ""

    def find(self, text: str, parts: Sequence[Span] = ()) -> Iterator[Enclosure]:
        """Yield the words of a sentence whose marks are to be set aside: in tags, then in others.

        parts: what is taken out of the sentence in any case, such as tags.
        """
        yield from pair_tags(text, parts)
        if not HINT.search(text) or not self.rare:
            return
        last = (0, 0)
        for match in ENCLOSED.finditer(text):
            kind, words = match.lastgroup or "", match[match.lastgroup or 0]
            start, end = match.start(), match.start() + len(words) + 2
            if kind not in self.rare or start < last[1] < end:  # nor one that crosses another
                continue
            is_bracket = kind in BRACKETS
            is_emphasis = kind in EMPHASIS
            if is_bracket or is_emphasis or self._is_short_quote(text, (start, end), words):
                marks = WRITTEN.get(kind) or self.quotes
                yield Enclosure(start, end, marks, self.comma if is_bracket else "")
                last = start, max(end, last[1])

    def _is_short_quote(self, text: str, span: Span, words: str) -> bool:
        """Return whether a quotation is no sentence, and its mark cuts the first word otherwise."""
        is_inside = LETTER.search(text, 0, span[0]) or LETTER.search(text, span[1])
        if is_inside and (STOP.search(words) or len(words.split()) > MOST_QUOTED):
            return False
        first = words.split()[0]
        inside, alone = self.source.encode_inside(first), self.source.encode(first)
        return len(inside) > len(alone)
