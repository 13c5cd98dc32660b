"""The figure of beam search as a tree of beginnings (V82)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from . import grammar as g
from . import style
from .selection import show_token

MOST, ROOM, NARROW, HIGH = 10, 500.0, 16.0, 24.0  # rows; widths of all, and of one column; a row
START, TOP = 30.0, 16.0  # room for the mark before the rows; for the heads of the columns
AFTER, GAP = 74.0, 7.0  # room for the numbers at the end of a row; between columns
Place = tuple[int, int]  # a step of the search, and a candidate of it
ENDED = ("FINISHED", "CUT")


@dataclass
class Branch:
    """A row of the tree: candidates that follow each other, from where it leaves its parent."""

    places: list[Place]
    parent: Branch | None
    children: list[Branch] = field(default_factory=list)

    @property
    def first(self) -> int:
        """Return the step at which it leaves its parent."""
        return self.places[0][0]

    def walk(self) -> Iterator[Branch]:
        """Yield it and what hangs on it, from top to bottom: what leaves last is nearest.

        So no line from a parent to a child passes through a row.
        """
        yield self
        for child in sorted(self.children, key=lambda each: -each.first):
            yield from child.walk()


def find_search(trace: Any) -> Any:
    """Return the recorded search, or a beam search if that kept one hypothesis only.

    Raise ValueError if the translation was given and not searched for.
    """
    if trace.search is None:
        raise ValueError("this recording was given its translation: nothing was searched for")
    return trace.search if is_beam(trace.search) else trace.beam_search or trace.search


def is_beam(search: Any) -> bool:
    """Return whether a search kept several hypotheses."""
    return bool(search.settings.search == "beam" and search.settings.beam > 1)


def find_branch(search: Any) -> list[int]:
    """Return the index of the chosen hypothesis among the candidates of each step."""
    if search.chosen is None:
        return []
    ids = search.hypotheses[search.chosen].ids[search.prefix :]
    row: int | None = 0
    path: list[int] = []
    for number, step in enumerate(search.steps):
        wanted = ids[number] if number < len(ids) else None
        found = next((i for i, each in enumerate(step) if _goes_on(each, row, wanted)), None)
        if found is None:
            break
        path.append(found)
        row = step[found].row
        if row is None:
            break
    return path


def _goes_on(each: Any, row: int | None, wanted: int | None) -> bool:
    """Return whether a candidate continues a row with a token; with its end if that is None."""
    is_it = each.id == wanted if wanted is not None else each.fate == "FINISHED"
    return each.parent == row and is_it


def find_parents(search: Any) -> dict[Place, Place]:
    """Return for each candidate, from the second step on, the candidate that it continues."""
    parents: dict[Place, Place] = {}
    for n, (before, step) in enumerate(pairwise(search.steps), 1):
        rows = {each.row: i for i, each in enumerate(before) if each.row is not None}
        parents |= {(n, i): (n - 1, rows[each.parent]) for i, each in enumerate(step)}
    return parents


def choose_ends(search: Any, path: Sequence[int], losers: int) -> list[Place]:
    """Return where the rows of the tree end, the most telling first.

    These are the chosen hypothesis, those that ended, those that lived longest, and the `losers`
    likeliest candidates that were never kept.
    """
    parents = find_parents(search)
    living = {parents[n, i] for (n, i) in parents if search.steps[n][i].fate != "OUTRANKED"}
    every = [(n, i) for n, step in enumerate(search.steps) for i in range(len(step))]
    fate = {(n, i): search.steps[n][i].fate for n, i in every}

    def weigh(place: Place) -> tuple[bool, bool, float]:
        each = search.steps[place[0]][place[1]]
        is_ended = each.fate in ENDED
        is_best = bool(path) and place == (len(path) - 1, path[-1])
        return not is_best, not is_ended, -each.score if is_ended else -place[0]

    ends = sorted((p for p in every if p not in living and fate[p] != "OUTRANKED"), key=weigh)
    never = [p for p in every if fate[p] == "OUTRANKED" and p[0] < max(1, len(path))]
    never.sort(key=lambda p: -search.steps[p[0]][p[1]].log_prob)
    return [*ends[: MOST - losers], *never[:losers]]


def grow_tree(search: Any, ends: Sequence[Place]) -> Branch:
    """Return the tree of the candidates that lead to some ends; an earlier end has its own row."""
    parents, owner = find_parents(search), dict[Place, Branch]()
    roots: list[Branch] = []
    for end in ends:
        chain = [end]
        while chain[-1] in parents and chain[-1] not in owner:
            chain.append(parents[chain[-1]])
        before = owner.get(chain[-1])
        if before:
            chain.pop()
        if not chain:
            continue
        branch = Branch(chain[::-1], before)
        owner |= dict.fromkeys(branch.places, branch)
        (before.children if before else roots).append(branch)
    trunk = roots[0]
    trunk.children += roots[1:]  # other first words leave before the first one
    for other in roots[1:]:
        other.parent = trunk
    return trunk


class BeamRows(g.Node):
    """A tree as rows of text: what is common to several stands once; a cross ends what was cut."""

    def __init__(self, plan: g.Outline, search: Any, trunk: Branch):
        self.search, self.rows = search, [*trunk.walk()]
        ends = [search.steps[b.places[-1][0]][b.places[-1][1]] for b in self.rows]
        self.ended = [each.fate in ENDED for each in ends]
        cuts = sorted({branch.first for branch in self.rows} | {0})
        last = max(branch.places[-1][0] for branch in self.rows)
        self.spans = list(pairwise([*cuts, last + 1]))
        texts = [[self._join(branch, span) for span in self.spans] for branch in self.rows]
        columns = [[text for text in column if text] for column in zip(*texts, strict=True)]
        widest = [
            max(g.Label(text, style.SMALL, bold=True).width for text in column)
            for column in columns
        ]
        limit = _share_out(widest, ROOM - GAP * len(widest))
        self.widths = [min(width, limit) + GAP for width in widest]
        self.labels = [
            [g.small(text, self._ink(n), bold=n == 0, fit=limit) if text else None for text in row]
            for n, row in enumerate(texts)
        ]
        logs = plan.give("log_prob", [each.log_prob for each in ends])
        scores = plan.give("score", [each.score for each in ends])
        self.numbers = [self._tell(n, logs[n], scores[n]) for n in range(len(self.rows))]
        self.lefts = [sum(self.widths[:n]) for n in range(len(self.widths) + 1)]
        heads = (str(b) if b == a + 1 else f"{a + 1}–{b}" for a, b in self.spans)
        self.heads = [plan.tiny("token"), *map(g.tiny, heads)]
        self.width = START + self.lefts[-1] + 2 * AFTER
        self.height = TOP + HIGH * len(self.rows)

    def _tell(self, n: int, log: g.Quantity, score: g.Quantity) -> tuple[g.Label, g.Label | None]:
        soft = style.LIT if n == 0 else style.SOFT
        log_prob = g.Numeral(log, style.TINY, soft)
        return log_prob, g.Numeral(score, style.SMALL, soft, bold=n == 0) if self.ended[n] else None

    def _ink(self, n: int) -> str:
        """Return the colour of a row: the chosen one, another that ended, one that was cut."""
        return style.LIT if n == 0 else style.INK if self.ended[n] else style.SOFT

    def _join(self, branch: Branch, span: tuple[int, int]) -> str:
        """Return the text of the candidates of a branch from one step up to another."""
        own = [self.search.steps[n][i] for n, i in branch.places if span[0] <= n < span[1]]
        return "".join(each.text for each in own).strip() or (
            show_token(own[0].text) if own else ""
        )

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        for left, head in zip((-START, *self.lefts), self.heads, strict=False):
            head.place(sheet, x + START + left, y)
        x, y = x + START, y + TOP
        begin = g.small("<s>")
        begin.place(sheet, x - 8 - begin.width, y + (HIGH - begin.height) / 2)
        for n, branch in enumerate(self.rows):
            sheet.step = n + 1
            middle = y + (n + 0.5) * HIGH
            start = next(k for k, (a, _) in enumerate(self.spans) if a == branch.first)
            end = next(k for k, (_, b) in enumerate(self.spans) if branch.places[-1][0] < b)
            left = x + self.lefts[start]
            if branch.parent:
                row = self.rows.index(branch.parent)
                self._fork(sheet, left - 4, (y + (row + 0.5) * HIGH, middle), (row, n))
            for k in range(start, end + 1):
                self._write(sheet, x + self.lefts[k], middle, (n, k, k == end))
            right = x + self.lefts[end] + self._found(n, end).width + 6
            self._finish(sheet, n, right, middle)
            sheet.places[f"row {n}"] = g.Area(left, middle - HIGH / 2, right - left, HIGH)
        sheet.step = 0

    def _found(self, n: int, k: int) -> g.Label:
        label = self.labels[n][k]
        assert label is not None
        return label

    def _write(self, sheet: g.Sheet, x: float, middle: float, which: tuple[int, int, bool]) -> None:
        n, k, is_last = which
        label = self._found(n, k)
        label.place(sheet, x, middle - label.height / 2)
        rest = self.widths[k] - label.width
        if not is_last and rest > 2 * GAP:
            ends = ((x + label.width + 3, middle + 3), (x + self.widths[k] - 3, middle + 3))
            sheet.line(*ends, ink=style.FAINT, line=1.0, layer=1, dashed=True)

    def _fork(
        self, sheet: g.Sheet, x: float, ways: tuple[float, float], rows: tuple[int, int]
    ) -> None:
        """Draw the line of a branch from its parent's row, in that one's ink, to its own."""
        (start, end), (parent, own) = ways, rows
        sheet.line((x, start + 8), (x, end), ink=self._ink(parent), line=1.4, layer=1)
        sheet.line((x, end), (x + 4, end), ink=self._ink(own), line=1.4, layer=1)

    def _finish(self, sheet: g.Sheet, n: int, x: float, middle: float) -> None:
        """Draw a dot behind what ended and a cross behind what was cut, and the numbers."""
        ink, r = self._ink(n), 3.0
        sheet.places[f"end {n}"] = g.Area(x, middle - r, 2 * r, 2 * r)
        if self.ended[n]:
            sheet.dot(x + r, middle, r, ink)
        for sign in () if self.ended[n] else (-1, 1):
            ends = ((x, middle - sign * r), (x + 2 * r, middle + sign * r))
            sheet.line(*ends, ink=ink, line=1.5)
        log_prob, score = self.numbers[n]
        log_prob.place(sheet, x + 2 * r + 5, middle - log_prob.height / 2)
        if score:
            score.place(sheet, x + 2 * r + 14 + log_prob.width, middle - score.height / 2)


def _share_out(widths: Sequence[float], room: float) -> float:
    """Return the greatest width of a column with which all of them fit into a room."""
    limit = max(widths)
    while limit > NARROW and sum(min(width, limit) for width in widths) > room:
        limit -= 2
    return limit


def find_weakest(search: Any, path: Sequence[int]) -> tuple[int, int]:
    """Return the word at which the chosen hypothesis was least likely, and its rank there.

    The word is a step; the rank counts the hypotheses that were not outranked, from 0.
    """
    ranks = [(0, 0)]
    for n, own in enumerate(path):
        step = search.steps[n]
        better = [e for e in step if e.log_prob > step[own].log_prob and e.fate != "OUTRANKED"]
        if any(map(str.isalpha, step[own].text)) and step[own].fate not in ENDED:
            ranks.append((len(better), n))
    rank, place = max(ranks)
    return place, rank


@g.figure("beams")
def draw_beam_tree(plan: g.Outline, *, losers: int = 3) -> g.Scene:
    """Show beam search as a tree of beginnings (V82).

    losers: candidates that are drawn though they were never kept. If the translation was found by
    a search that keeps one hypothesis, a beam search is made for the figure, unless the recording
    was read from disk.
    """
    trace, search = plan.trace, find_search(plan.trace)
    path = find_branch(search)
    trunk = grow_tree(search, choose_ends(search, path, min(losers, MOST - 1)))
    tree, settings = BeamRows(plan, search, trunk), search.settings
    key, told = _find_story(trace, search, path)
    own = "" if search is trace.search else plan.say("made", how=_name(plan, trace.search.settings))
    kept = sum(each.fate != "OUTRANKED" for step in search.steps for each in step)
    captions = []
    for n, branch in enumerate(tree.rows):
        step, i = branch.places[0]
        kind = "caption" if n == 0 else "caption_ended" if tree.ended[n] else "caption_cut"
        captions.append(plan.say(kind, word=show_token(search.steps[step][i].text)))
    cut = [n for n in range(len(tree.rows)) if not tree.ended[n]]
    callouts = [g.Callout(f"end {n}", "cross", "below", 260, n + 1) for n in cut[-1:]]
    heads = plan.small("columns")
    return plan.compose(
        g.Down(heads, tree, gap=8),
        title=plan.say(key, **told),
        note=own + plan.say("note", how=_name(plan, settings), rows=len(tree.rows), kept=kept),
        callouts=callouts,
        captions=captions,
    )


def _name(plan: g.Outline, settings: Any) -> str:
    """Return the name of a search, such as "beam 4"."""
    key = settings.search if settings.search in ("greedy", "sample") else "beam"
    return plan.say(key, n=settings.beam)


def find_whole_word(texts: Sequence[str], n: int) -> str:
    """Return the word that a token is part of: what stands between the spaces around it."""
    first, last = n, n + 1
    while first and not texts[first].startswith(" "):
        first -= 1
    while last < len(texts) and texts[last][:1].isalpha():
        last += 1
    return show_token("".join(texts[first:last]))


def _find_story(trace: Any, search: Any, path: Sequence[int]) -> tuple[str, dict[str, Any]]:
    """Return what the search shows: a better word than greedy search, a late winner, or neither."""
    if not is_beam(search) or not path:
        return "single", {}
    greedy = [token.text for token in trace.predicted]
    texts = [search.steps[n][i].text for n, i in enumerate(path)]
    apart = (n for n in range(min(len(texts), len(greedy))) if texts[n] != greedy[n])
    if search is not trace.search and (n := next(apart, None)) is not None:
        return "better", {"word": find_whole_word(texts, n), "greedy": find_whole_word(greedy, n)}
    step, rank = find_weakest(search, path)
    word = find_whole_word(texts, step)
    return ("behind", {"word": word, "rank": rank + 1}) if rank else ("ahead", {})
