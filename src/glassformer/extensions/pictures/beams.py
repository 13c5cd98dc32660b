"""The figure of beam search as a tree of beginnings (V82)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .parts import grammar as g
from .parts import style
from .parts.selection import tell_token
from .parts.typesetting import quote

COLUMNS, WIDEST = 5, 3  # steps that are drawn; the widest beam that a picture has room for
FULL = 3  # words of a beginning that are all told
FIT, GAP = 92.0, 24.0  # width of the text of a node; between columns
ENDED = ("FINISHED", "CUT")
ALLOWED = ("KEPT", "STOPPED", "OUTRANKED", *ENDED)
Place = tuple[int, int]  # a step of the search, and a candidate of it


def find_search(trace: Any) -> Any:
    """Return the recorded search, or a beam search of its own if that is not of two or three.

    Raise ValueError if the translation was given and not searched for.
    """
    if trace.search is None:
        raise ValueError("this recording was given its translation: nothing was searched for")
    settings = trace.search.settings
    if settings.search == "beam" and 1 < settings.beam <= WIDEST:
        return trace.search
    return trace.beam_search or trace.search


def find_branch(search: Any) -> list[int]:
    """Return the index of the chosen hypothesis among the candidates of each step."""
    if search.chosen is None:
        return []
    ids = search.hypotheses[search.chosen].ids[search.prefix :]
    row: int | None = 0
    path: list[int] = []
    for number, step in enumerate(search.steps):
        own = ids[number] if number < len(ids) else None
        branch = next((i for i, each in enumerate(step) if _goes_on(each, row, own)), None)
        if branch is None:
            break
        path.append(branch)
        row = step[branch].row
        if row is None:
            break
    return path


def _goes_on(each: Any, row: int | None, requested: int | None) -> bool:
    """Return whether a candidate continues a row with a token; with its end if that is None."""
    is_it = each.id == requested if requested is not None else each.fate == "FINISHED"
    return each.parent == row and is_it


def follow_greedy(search: Any) -> list[int]:
    """Return the candidates that greedy search would take, up to where they end or are cut."""
    row: int | None = 0
    path: list[int] = []
    for step in search.steps:
        own = [i for i, each in enumerate(step) if each.parent == row and each.fate in ALLOWED]
        if row is None or not own:
            break
        path.append(max(own, key=lambda i: step[i].token_log_prob))
        row = step[path[-1]].row
    return path


def find_parents(search: Any) -> dict[Place, Place]:
    """Return for each candidate, from the second step on, the candidate that it continues."""
    parents: dict[Place, Place] = {}
    for n, (before, step) in enumerate(pairwise(search.steps), 1):
        rows = {each.row: i for i, each in enumerate(before) if each.row is not None}
        parents |= {(n, i): (n - 1, rows[each.parent]) for i, each in enumerate(step)}
    return parents


class Tree:
    """The part of a search that is drawn: at a few steps, what was kept, cut and ended.

    path: the chosen candidate of each step; greedy: that of greedy search. parents: each candidate
    that is drawn, the likeliest of a step first, and the drawn one that it hangs on.
    """

    def __init__(self, search: Any, losers: int):
        self.search, self.before = search, find_parents(search)
        self.greedy = follow_greedy(search)
        self.path = find_branch(search) or self.greedy
        self.ends = len(self.path) - 1
        behind = [n for n in range(len(self.path)) if self.find_lead(n) < 0]
        self.ahead = behind[-1] + 1 if behind else 0  # the step from which on it is the likeliest
        pairs = enumerate(zip(self.path, self.greedy, strict=False))
        self.fork = next((n for n, (a, b) in pairs if a != b), None)
        self.steps = self.choose_steps()
        self.parents = self.grow(losers)

    def find(self, place: Place) -> Any:
        """Return a candidate."""
        return self.search.steps[place[0]][place[1]]

    def find_last(self, n: int) -> Place:
        """Return the least likely candidate of a step that is drawn."""
        return [place for place in self.parents if place[0] == n][-1]

    def find_lead(self, n: int) -> float:
        """Return how far the chosen candidate of a step is before the likeliest other, in ln P."""
        others = [e.log_prob for i, e in enumerate(self.search.steps[n]) if i != self.path[n]]
        return float(self.find((n, self.path[n])).log_prob - max(others, default=-np.inf))

    def choose_steps(self) -> list[int]:
        """Return the steps to draw.

        These are the ends of the chosen hypothesis and of greedy search's, the step where they
        part, that from which on the chosen one leads, and those where its rivals are nearest.
        """
        texts = [self.ends, len(self.greedy) - 1]
        texts += [] if self.fork is None else [self.fork, min(self.ahead, self.ends)]
        texts += sorted(range(self.ends), key=lambda n: abs(self.find_lead(n)))
        return sorted([*dict.fromkeys(texts)][:COLUMNS])

    def grow(self, losers: int) -> dict[Place, Place | None]:
        """Return the candidates to draw and what they hang on.

        At each step before the chosen hypothesis ends, these are what was kept and the likeliest
        `losers` of what was not; at its end, what ended; and everywhere what leads to them.
        """
        lines, drawn = (self.path, self.greedy), dict[Place, Place | None]()
        marked = [(n, line[n]) for line in lines for n in self.steps if n < len(line)]
        for n in self.steps:
            most = {"KEPT": WIDEST, "OUTRANKED": losers} if n < self.ends else {"FINISHED": 2}
            for fate, count in most.items() if n <= self.ends else ():
                own = [i for i, each in enumerate(self.search.steps[n]) if each.fate == fate]
                marked += [(n, i) for i in own[:count]]
        for place in marked:
            at: Place | None = place
            while at and at not in drawn:
                drawn[at] = self.find_above(at)
                at = drawn[at]
        order = sorted(drawn, key=lambda place: (place[0], -self.find(place).log_prob))
        return {place: drawn[place] for place in order}

    def find_above(self, place: Place) -> Place | None:
        """Return the candidate of the last step drawn before that leads to one."""
        above = self.before.get(place)
        while above and above[0] not in self.steps:
            above = self.before.get(above)
        return above

    def spell(self, place: Place) -> str:
        """Return the tokens of a candidate from the one that it hangs on; the last, if long."""
        is_end = self.find(place).fate == "FINISHED"
        texts, at = [" " * is_end + self.find(place).text], self.before.get(place)
        while at and at != self.parents[place]:
            texts.insert(0, self.find(at).text)
            at = self.before.get(at)
        whole = "".join(texts).strip()
        fits = len(texts) == 1 or g.small(whole, bold=True).width <= FIT
        return quote(tell_token(whole) if fits else f"… {texts[-1].strip()}")

    def spell_beginning(self, place: Place) -> str:
        """Return the first and the last word up to a candidate, or all words if they are few."""
        texts: list[str] = []
        at: Place | None = place
        while at:
            each = self.find(at)
            texts.insert(0, each.text if each.fate != "FINISHED" else "")
            at = self.before.get(at)
        words = "".join(texts).split() or [self.spell(place)]
        return quote(" ".join(words) if len(words) <= FULL else f"{words[0]} … {words[-1]}")

    def is_on(self, place: Place, line: Sequence[int]) -> bool:
        """Return whether a candidate is one of those of a hypothesis."""
        return place[0] < len(line) and line[place[0]] == place[1]

    def is_given_up(self, place: Place) -> bool:
        """Return whether a candidate did not end, and nothing that is drawn hangs on it."""
        return self.find(place).fate not in ENDED and place not in self.parents.values()

    def find_word(self, line: Sequence[int]) -> str:
        """Return the word of a hypothesis at which it and the greedy one part."""
        texts = [self.find(place).text for place in enumerate(line)]
        return find_whole_word(texts, self.fork or 0)


def find_whole_word(texts: Sequence[str], n: int) -> str:
    """Return the word that a token is part of: what stands between the spaces around it."""
    first, last = n, n + 1
    while first and not texts[first].startswith(" "):
        first -= 1
    while last < len(texts) and texts[last][:1].isalpha():
        last += 1
    return tell_token("".join(texts[first:last]))


@g.figure("beams")
def draw_beam_tree(plan: g.Outline, *, losers: int = 1) -> g.Scene:
    """Show beam search as a tree: what was kept at each step, what was cut, what won (V82).

    losers: candidates of each step that are drawn though they were never kept. If the recorded
    search is no beam search of two or three, one of two is made for the figure, unless the
    recording was read from disk.
    """
    trace, search = plan.trace, find_search(plan.trace)
    tree = Tree(search, losers)
    columns, links, captions = list[g.Node](), list[g.Link](), list[str]()
    for step, n in enumerate(tree.steps, 1):
        own = [place for place in tree.parents if place[0] == n]
        first = tree.steps[step - 2] + 2 if step > 1 else 1
        text = plan.say("token", n=n + 1) if first > n else plan.say("tokens", a=first, b=n + 1)
        nodes = [_show(plan, tree, place).at(step) for place in own]
        if n > tree.ends:  # nothing stands above what goes on when the chosen one has ended
            nodes.insert(0, g.Spacer(0, nodes[0].height))
        columns.append(g.middle(g.tiny(text).named(f"head {n}").at(step), *nodes, gap=10))
        links += [_join(tree, place, step) for place in own]
        captions.append(_tell_lead(plan, tree, step, own[0], text))
    root = g.middle(g.Chip("<s>", size=style.SMALL).named("root"), plan.tiny("log_prob"), gap=2)
    columns.insert(0, g.Slot(root, 0, height=columns[0].height))
    key, point, at = _find_story(tree)
    facts = {
        "n": search.settings.beam,
        "how": _name(plan, trace.search.settings),
        "greedy": tree.find_word(tree.greedy),
        "word": tree.find_word(tree.path),
    }
    note = "" if search is trace.search else plan.say("made", **facts)
    note += plan.say("note", **facts) + (plan.say("grey") if tree.fork is not None else "")
    note += plan.say("some", k=len(tree.steps), count=tree.steps[-1] + 1)
    callouts = []
    if at is not None:
        below = tree.fork is None
        name, side = (f"node {tree.find_last(at)}", "below") if below else (f"head {at}", "above")
        step = tree.steps.index(at) + 1
        callouts = [g.Callout(name, plan.say(point, **facts), side, 200, step)]  # type: ignore[arg-type]
    return plan.compose(
        g.Across(*columns, gap=GAP, align="top"),
        title=plan.say(key, **facts),
        note=note,
        links=links,
        callouts=callouts,
        captions=captions,
    )


def _tell_lead(plan: g.Outline, tree: Tree, step: int, best: Place, at: str) -> str:
    """Return the caption of a step: which beginning is the likeliest, and whether it was before."""
    n = tree.steps[step - 2] if step > 1 else -1
    before = next((place for place in tree.parents if place[0] == n), None)
    key = "leads_on" if tree.parents[best] == before else "overtakes"
    return plan.say("caption" if before is None else key, at=at, word=tree.spell_beginning(best))


def _find_story(tree: Tree) -> tuple[str, str, int | None]:
    """Return the keys of what the search shows and of the callout, and the step that shows it."""
    if tree.search.settings.search != "beam" or tree.search.settings.beam < 2:
        return "single", "", None
    if tree.fork is None:
        cut = [n for n in tree.steps if tree.find(tree.find_last(n)).fate == "OUTRANKED"]
        at = min(cut, key=tree.find_lead, default=None)
        return "same" if tree.ahead else "ahead", "cut", at
    one, two = (tree.find((len(line) - 1, line[-1])) for line in (tree.path, tree.greedy))
    if two.fate in ENDED and two.log_prob > one.log_prob:
        return "shorter", "wins", tree.ends
    leads = tree.ahead <= tree.ends
    return "better", "leads" if leads else "wins", tree.ahead if leads else tree.ends


def _name(plan: g.Outline, settings: Any) -> str:
    """Return the name of a search, such as "beam 4"."""
    key = settings.search if settings.search in ("greedy", "sample") else "beam"
    return plan.say(key, n=settings.beam)


def _show(plan: g.Outline, tree: Tree, place: Place) -> g.Node:
    """Return a candidate as its token, with its numbers below."""
    each, is_best = tree.find(place), tree.is_on(place, tree.path)
    role = "decoder" if is_best else "residual" if tree.is_on(place, tree.greedy) else ""
    chip: g.Node = g.Chip(tree.spell(place), role, size=style.SMALL, fit=FIT, lit=bool(role))
    if tree.is_given_up(place):
        chip = g.Struck(chip, ink=style.SOFT)
    name = "{}_{}".format(*place)
    ink = style.role("decoder").ink if is_best else style.SOFT
    log_prob = plan.give(f"log_prob_{name}", each.log_prob)[0]
    numbers = [g.Numeral(log_prob, style.SMALL, ink, bold=is_best)]
    if each.fate in ENDED:
        score = plan.give(f"score_{name}", each.score)[0]
        numbers.append(g.Numeral(score, style.TINY, ink, before=plan.say("score"), bold=is_best))
    return g.middle(chip.named(f"chip {place}"), *numbers, gap=1).named(f"node {place}")


def _join(tree: Tree, place: Place, step: int) -> g.Link:
    """Return the line from what a candidate hangs on to it."""
    above = tree.parents[place]
    is_best = tree.is_on(place, tree.path)
    known = is_best or tree.is_on(place, tree.greedy)
    ink = "decoder" if is_best else "residual" if known else style.FAINT
    ends = f"chip {above}" if above else "root", f"chip {place}"
    return g.Link(
        *ends,
        "ribbon",
        ink,
        3.0 if is_best else 1.6,
        sides=("right", "left"),
        head=False,
        gap=0,
        layer=1,
        step=step,
    )
