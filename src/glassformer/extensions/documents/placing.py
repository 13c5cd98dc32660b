"""Place the tags of a run in its translation, around the words aligned with theirs.

Every tag is written once, and nested tags stay nested.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from glassformer.text.symbols import find_symbol_runs
from glassformer.text.unicode import Span
from glassformer.translate.align.marked_words import CLOSING, MarkedLink, find_marked_words

REACH = 64  # words up to which a link without a word looks for one
CLICKED = re.compile(r"<(a|button|label|summary)\b", re.IGNORECASE)
RAISED = re.compile(r"<su[bp]\b", re.IGNORECASE)  # or lowered
FORMULA = re.compile(r"(?=.*[^\W\d_])(?=.*\d)")  # a word of letters and digits


@dataclass
class TagMark:
    """A pair of tags around a part of the run's text; without text it is a point."""

    start: int
    end: int
    open: str
    close: str
    spaced: tuple[bool, bool] = (False, False)  # whether white space was around a point
    children: list[TagMark] = field(default_factory=list)
    close_count: int = 0  # of a run: closing tags without a partner
    first: int = 0  # its first word in the translation
    last: int = 0  # the word after its last
    part: Span | None = None  # of its only word: the characters that it surrounds, if not all

    @property
    def is_point(self) -> bool:
        return self.first == self.last

    @property
    def is_raised(self) -> bool:
        """Return whether it raises or lowers text."""
        return self.start < self.end and bool(RAISED.match(self.open))

    def release(self, word: int) -> bool:
        """Give a word away; return False if it is the only one, or neither the first nor last."""
        if self.last - self.first < 2 or word not in (self.first, self.last - 1):
            return False
        if word == self.first:
            self.first += 1
        else:
            self.last -= 1
        return True


def place_marks(
    text: str,
    message: str,
    marks: Sequence[TagMark],
    links: Sequence[MarkedLink],
    write: Callable[[str], str],
) -> str:
    """Return the translation with the marks in it; `write` turns text into HTML."""
    layout = _Layout(text, message, links)
    root = TagMark(0, len(text), "", "", children=[*marks], last=len(layout.words))
    layout.place(root)
    return _Writer(message, layout.words, write).write(root, 0, len(message))


def _list_inside(words: Sequence[Span], runs: Sequence[re.Match[str]]) -> list[int]:
    """Return the numbers of the words that begin within a match; both are in order."""
    starts, results = [start for start, _ in words], list[int]()
    for run in runs:
        results += range(bisect_left(starts, run.start()), bisect_left(starts, run.end()))
    return results


def _number_formulas(text: str, words: Sequence[Span]) -> dict[str, int]:
    """Return the numbers of the words of letters and digits that are there once."""
    numbers: dict[str, list[int]] = {}
    for number, (start, end) in enumerate(words):
        if FORMULA.match(word := text[start:end]):
            numbers.setdefault(word, []).append(number)
    return {word: each[0] for word, each in numbers.items() if len(each) == 1}


class _Layout:
    """The layout of marks: which words of the translation each mark surrounds."""

    def __init__(self, text: str, message: str, links: Sequence[MarkedLink]) -> None:
        self.sources, self.words = find_marked_words(text), find_marked_words(message)
        self.text, self.said = text, message
        self.ends = [end for _, end in self.sources]
        self.heirs: dict[int, list[int]] = {}
        self.weight = dict[int, float]()
        self.symbols = set[int]()  # words of the translation that are one, or a part of one
        self.twins = dict[int, int]()  # by words of the source: equal ones of the translation
        self.matched = set[int]()  # those equal words
        links = self._link_formulas(self._link_symbols(links))
        for source, target, weight in sorted(links, key=lambda link: link[1]):
            self.heirs.setdefault(source, []).append(target)
            self.weight[target] = weight

    def _link_symbols(self, links: Sequence[MarkedLink]) -> Sequence[MarkedLink]:
        """Return the links, with each symbol of the text linked with itself alone.

        Symbols were no part of what the network read, so its attention says nothing of them.
        """
        runs = find_symbol_runs(self.text), find_symbol_runs(self.said)
        if not runs[0] or [x[0].strip() for x in runs[0]] != [x[0].strip() for x in runs[1]]:
            return links
        sources, targets = _list_inside(self.sources, runs[0]), _list_inside(self.words, runs[1])
        read, self.symbols = {*sources}, {*targets}
        others = [x for x in links if x[0] not in read and x[1] not in self.symbols]
        # Where attention went to a symbol, and came from one, it means the words beside it.
        left = [s for s, t, _ in links if t in self.symbols and s not in read]
        alone = [t for s, t, _ in links if s in read and t not in self.symbols]
        pairs = [*zip(sources, targets, strict=False), *zip(left, alone, strict=False)]
        return [*others, *((s, t, 1.0) for s, t in pairs)]

    def _link_formulas(self, links: Sequence[MarkedLink]) -> Sequence[MarkedLink]:
        """Return the links, with each word of letters and digits linked with one equal to it alone.

        That is so only for words that are there once on both sides.
        """
        sources = _number_formulas(self.text, self.sources)
        targets = _number_formulas(self.said, self.words)
        pairs = {sources[word]: targets[word] for word in sources if word in targets}
        equal = {*pairs.values()}
        rest = [x for x in links if x[0] not in pairs and x[1] not in equal]
        return [*rest, *((s, t, 1.0) for s, t in pairs.items())] if pairs else links

    def place(self, node: TagMark) -> None:
        """Assign words to each child; children with more aligned words choose first."""
        own, taken = self._cover(node), dict[int, TagMark]()
        rest = [child for child in node.children if not self._match(node, child, taken)]
        candidates = [(self._list_candidates(node, child, own), child) for child in rest]
        claimed = {source for child in node.children for source in self._cover(child)}
        free = {source for source in own if source not in claimed and self._is_idle(source)}
        for words, child in sorted(candidates, key=lambda pair: -len(pair[0])):
            is_full = len(taken) == node.last - node.first
            span = (node.first, node.first) if is_full else self._settle(node, words, taken)
            child.first, child.last = self._release(child, free, *span)
            taken.update(dict.fromkeys(range(child.first, child.last), child))
        gaps = _Gaps(taken)
        for child in node.children:
            if child.is_point:
                child.first = child.last = gaps.skip(node, self._find_point(node, child))
                if child.start < child.end and CLICKED.match(child.open):
                    self._lend(node, child, taken)
        for child in node.children:
            if child.children:
                self.place(child)

    def _match(self, node: TagMark, child: TagMark, taken: dict[int, TagMark]) -> bool:
        """Return whether a child is settled since it begins or ends within its only word.

        It surrounds the same letters of an equal word that is aligned with that one. Without such a
        word, what is raised or lowered surrounds none, and others are not settled.
        """
        word = bisect_right(self.ends, child.start)
        part, child.part = self._cut(word, child), None
        if not part:
            return False
        twin = self._find_twin(word)
        if node.first <= twin < node.last:
            child.first, child.last, child.part = twin, twin + 1, part
            taken[twin] = child
            return True
        child.first = child.last = node.first
        return child.is_raised

    def _cut(self, word: int, mark: TagMark) -> Span | None:
        """Return the characters of a source word that a mark surrounds; None if all, or others."""
        if mark.start >= mark.end or word >= len(self.sources):
            return None
        start, end = self.sources[word]
        if word + 1 < len(self.sources) and self.sources[word + 1][0] < mark.end:
            return None
        part = max(mark.start, start) - start, min(mark.end, end) - start
        return part if part[0] < part[1] and part != (0, end - start) else None

    def _find_twin(self, source: int) -> int:
        """Return the surest word aligned with a source word, letter for letter the same; or -1."""
        if source not in self.twins:
            letters = self.text[slice(*self.sources[source])]
            equal = [
                word
                for word in self.heirs.get(source, ())
                if self.said[slice(*self.words[word])] == letters and word not in self.matched
            ]
            self.twins[source] = max(equal, key=self.weight.__getitem__, default=-1)
            self.matched.add(self.twins[source])
        return self.twins[source]

    def _list_candidates(self, node: TagMark, child: TagMark, own: range) -> Sequence[int]:
        """Return the words inside the parent that are aligned with the child's.

        A closing punctuation mark is among them only if the child's own text ends with one.
        """
        covered, inside = self._cover(child), range(node.first, node.last)
        if covered and covered == own:
            return inside
        heirs = (word for source in covered for word in self.heirs.get(source, ()))
        is_closed = self.text[child.start : child.end].rstrip()[-1:] in CLOSING
        return sorted(w for w in heirs if w in inside and (is_closed or not self._closes(w)))

    def _closes(self, word: int) -> bool:
        return word not in self.symbols and self.said[self.words[word][0]] in CLOSING

    def _is_idle(self, source: int) -> bool:
        """Return whether no word is aligned with a source word that is no punctuation mark."""
        is_word = self.text[self.sources[source][0]].isalnum()
        return is_word and all(self._closes(word) for word in self.heirs.get(source, ()))

    def _release(self, child: TagMark, free: set[int], first: int, last: int) -> Span:
        """Return a child's words without those that source words beside it have more need of.

        Attention often aligns an article or a preposition with the noun after it. So idle source
        words before the child take words off its beginning, and those after it off its end, as long
        as it keeps a word for each of its own.
        """
        covered, is_spaced = self._cover(child), self._is_spaced
        before, after = covered.start - 1, covered.stop
        while before in free and last - first > len(covered) and is_spaced(first + 1):
            first, before = first + 1, before - 1
        while after in free and last - first > len(covered) and is_spaced(last - 1):
            last, after = last - 1, after + 1
        return first, last

    def _is_spaced(self, word: int) -> bool:
        """Return whether there is white space before a word of the translation."""
        return self.said[self.words[word][0] - 1].isspace()

    def _cover(self, mark: TagMark) -> range:
        """Return the source words of which at least half is in the mark; else those it touches."""
        if mark.start >= mark.end:
            return range(0)
        first = bisect_right(self.ends, mark.start)
        last = first
        while last < len(self.sources) and self.sources[last][0] < mark.end:
            last += 1
        touched = range(first, last)
        most = [word for word in touched if self._share(word, mark) >= 0.5]
        return range(most[0], most[-1] + 1) if most else touched

    def _share(self, word: int, mark: TagMark) -> float:
        start, end = self.sources[word]
        return (min(end, mark.end) - max(start, mark.start)) / (end - start)

    def _settle(self, node: TagMark, words: Sequence[int], taken: Container[int]) -> Span:
        """Return the free run of aligned words with the largest weight."""
        best, most = (node.first, node.first), 0.0
        for group in _group(words, taken):
            weight = sum(self.weight.get(word, 0.0) for word in group) or 1e-9
            if weight > most:
                best, most = (group[0], group[-1] + 1), weight
        return best

    def _lend(self, node: TagMark, child: TagMark, taken: dict[int, TagMark]) -> None:
        """Give a link, button or label without a word the nearest that is free, to be clicked.

        Where none is near, it is the first or last of those that another tag has.
        """
        near = [
            word
            for distance in range(REACH)
            for word in (child.first + distance, child.first - 1 - distance)
            if word in range(node.first, node.last) and not self._closes(word)
        ]
        free = [word for word in near[:2] if word not in taken]
        for word in free or near:
            owner = taken.get(word)
            if owner and not owner.release(word):
                continue
            child.first, child.last, taken[word] = word, word + 1, child
            return

    def _find_point(self, node: TagMark, child: TagMark) -> int:
        """Return the position of a point in the translation.

        It is after the word aligned with the source word before the point, else before the one
        aligned with the next source word, else at a proportional position.
        """
        before, inside = bisect_right(self.ends, child.start), range(node.first, node.last)
        if not before:
            at = node.first
        elif before == len(self.sources):
            at = self._find_end(node)
        elif here := self._list_heirs(before - 1, inside):
            at = here[-1] + 1
        elif here := self._list_heirs(before, inside):
            at = here[0]
        else:
            at = node.first + round(before / len(self.sources) * len(inside))
        return min(max(at, node.first), node.last)

    def _find_end(self, node: TagMark) -> int:
        """Return the end of a node in the translation: before a mark that only this has."""
        at, is_closed = node.last, self.text[self.sources[-1][0]] in CLOSING
        while not is_closed and at > node.first + 1 and self._closes(at - 1):
            at -= 1
        return at

    def _list_heirs(self, source: int, inside: range) -> list[int]:
        """Return the words aligned with a source word; a full stop is aligned with one only."""
        is_mark = self.text[self.sources[source][0]] in CLOSING
        heirs = self.heirs.get(source, ())
        return [word for word in heirs if word in inside and self._closes(word) == is_mark]


class _Gaps:
    """The gaps between words; one with both words in tags is passed over, once and for all."""

    def __init__(self, taken: Container[int]) -> None:
        self.taken = taken
        self.next = dict[int, int]()

    def skip(self, node: TagMark, at: int) -> int:
        """Return the first gap from `at` on, inside the node, that is not inside another tag."""
        passed = list[int]()
        while node.first < at < node.last and at - 1 in self.taken and at in self.taken:
            passed.append(at)
            at = self.next.get(at, at + 1)
        self.next.update(dict.fromkeys(passed, at))
        return at


def _group(words: Sequence[int], taken: Container[int]) -> list[list[int]]:
    """Return groups of free words; a gap is bridged if it is at most half as long as the group."""
    groups: list[list[int]] = []
    for word in words:
        if word in taken:
            continue
        last = groups[-1][-1] if groups else word
        near = groups and word - last - 1 <= len(groups[-1]) // 2
        if near and not any(between in taken for between in range(last + 1, word)):
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups


def _name_place(mark: TagMark) -> tuple[int, int, int]:
    """Return what orders marks by their places in the translation."""
    return mark.first, mark.last, mark.part[0] if mark.part else 0


class _Writer:
    def __init__(self, message: str, words: Sequence[Span], write: Callable[[str], str]) -> None:
        self.said, self.words, self.make = message, words, write

    def write(self, node: TagMark, begin: int, end: int) -> str:
        """Return the HTML between two characters of the translation, with the children in it."""
        parts, at = list[str](), begin
        for child in sorted(node.children, key=_name_place):
            start, stop = self._locate(child, begin, end)
            parts.append(self.make(self.said[at:start]))
            parts.append(self._write_child(child, start, stop, parts))
            at = stop
        return "".join([*parts, self.make(self.said[at:end])])

    def _write_child(self, child: TagMark, start: int, stop: int, parts: Sequence[str]) -> str:
        inner = self.write(child, start, stop) if start < stop else self._write_points(child)
        result = f"{child.open}{inner}{child.close}"
        is_spaced = child.is_point and not child.is_raised
        left, right = child.spaced if is_spaced else (False, False)
        behind = next((part[-1] for part in reversed(parts) if part), "")
        if left and behind and not behind.isspace():
            result = f" {result}"
        if right and self.said[stop : stop + 1] and not self.said[stop].isspace():
            result += " "
        return result

    def _write_points(self, node: TagMark) -> str:
        return "".join(
            f"{child.open}{self._write_points(child)}{child.close}" for child in node.children
        )

    def _locate(self, child: TagMark, begin: int, end: int) -> Span:
        """Return the span of a child in the translation, in characters."""
        if child.part:
            start = self.words[child.first][0]
            return start + child.part[0], start + child.part[1]
        if not child.is_point:
            return self.words[child.first][0], self.words[child.last - 1][1]
        if child.spaced == (True, False) and child.first < len(self.words):
            place = self.words[child.first][0]
        elif child.first == 0:
            return begin, begin
        else:
            place = self.words[child.first - 1][1]
        return (place, place) if begin <= place <= end else (begin, begin)
