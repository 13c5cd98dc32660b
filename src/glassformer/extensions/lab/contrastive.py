"""Contrastive sets: does a model find the right translation more probable than wrong ones?

Each item has a source, its right translation and wrong ones that differ in what is asked, a
pronoun for instance (Sennrich 2017; Müller et al. 2018). Nothing is translated. This module does
not import torch.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from glassformer.data.files import read_lines
from glassformer.foundation.disk import read_json

Z = 1.959964  # standard deviations to either side that hold 95 % of a normal distribution
# The names of the parts of an item, ours first, then those of LingEval97 and of ContraPro.
SOURCE, RIGHT, ERRORS = ("source", "src segment"), ("right", "reference", "ref segment"), "errors"
SHOWN = {"sum": "accuracy", "token": "by token"}
FAR = 3  # sentences: antecedents further away are counted together, as ContraPro does


# How translations are compared: by the log-probability of all tokens, or by that of a token.
Normalization = Literal["sum", "token"]
NORMALIZATIONS: tuple[Normalization, ...] = get_args(Normalization)


class ScoredText(NamedTuple):
    """The log-probability of a translation, and its number of tokens with the end of sentence."""

    log_prob: float
    tokens: int


@dataclass(frozen=True)
class ContrastiveItem:
    """A source with its right translation and wrong ones.

    categories: by the name of a division of the set, the item's part in it. marked: words of the
    text that `probe` asks about, by "source" or "target" and then by role.
    """

    source: str
    right: str
    wrong: tuple[str, ...]
    categories: Mapping[str, str] = field(default_factory=dict)
    marked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return the source with each translation, the right one first."""
        return [(self.source, text) for text in (self.right, *self.wrong)]


@dataclass(frozen=True)
class Share:
    """How many of how many items are right, with the 95 % interval of the share (Wilson 1927)."""

    right: int
    of: int

    @property
    def accuracy(self) -> float:
        return self.right / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Return the bounds of the true share; they stay within 0 and 1."""
        share, n = self.accuracy, self.of
        middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)

    def to_json(self) -> dict[str, Any]:
        return {"right": self.right, "of": self.of, "accuracy": self.accuracy} | dict(
            zip(("low", "high"), self.interval, strict=True)
        )

    def __str__(self) -> str:
        low, high = self.interval
        message = f"{100 * self.accuracy:6.2f} %  95 % between {100 * low:.2f} and {100 * high:.2f}"
        return f"{message}  {self.right:,} of {self.of:,}"


@dataclass(frozen=True)
class ContrastiveResult:
    """The accuracy of a model on a contrastive set, in all and by category.

    margins: for each item ln p(right) - ln p of the likeliest wrong one, of all tokens or of a
    token, as `by` says. totals: the accuracy by each of both; `total` is that by `by`.
    """

    model: str
    total: Share
    categories: dict[str, dict[str, Share]]
    margins: tuple[float, ...]
    by: Normalization = "sum"
    totals: Mapping[str, Share] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        parts = {
            name: {part: share.to_json() for part, share in shares.items()}
            for name, shares in self.categories.items()
        }
        both = {f"by_{name}": share.to_json() for name, share in self.totals.items()}
        total = {"model": self.model, "by": self.by, **self.total.to_json()}
        return {**total, **both, "categories": parts, "margins": list(self.margins)}

    def __str__(self) -> str:
        names = [part for shares in self.categories.values() for part in shares]
        width = max(map(len, ("accuracy", *(f"  {name}" for name in names))))
        width = max(width, len(SHOWN["token"]) * bool(self.totals))
        lines = [f"model     {self.model}"]
        for name, share in (self.totals or {self.by: self.total}).items():
            decides = ", which decides" * (name == self.by and len(self.totals) > 1)
            lines.append(f"{SHOWN[name]:{width}}  {share}{decides}")
        for name, shares in self.categories.items():
            lines.append(f"by {name}")
            lines += [f"{f'  {part}':{width}}  {share}" for part, share in shares.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class PairedShares:
    """How two models differ on the same items: how many only the first, only the second has right.

    The test is McNemar's (1947), exact: if the models were alike, each of these items would be
    either's with the same chance.
    """

    first: int
    second: int
    of: int

    @classmethod
    def compare(cls, one: ContrastiveResult, other: ContrastiveResult) -> PairedShares:
        pairs = [*zip(one.margins, other.margins, strict=True)]
        first = sum(a > 0 >= b for a, b in pairs)
        return cls(first, sum(b > 0 >= a for a, b in pairs), len(pairs))

    @property
    def difference(self) -> float:
        """Return the accuracy of the second minus that of the first."""
        return (self.second - self.first) / self.of

    @property
    def p(self) -> float:
        """Return the two-sided p-value."""
        n, least = self.first + self.second, min(self.first, self.second)
        if self.first == self.second:
            return 1.0
        return float(Fraction(2 * sum(math.comb(n, k) for k in range(least + 1)), 2**n))

    def to_json(self) -> dict[str, Any]:
        facts = {"only_first": self.first, "only_this": self.second}
        return {**facts, "difference": self.difference, "p": self.p}

    def __str__(self) -> str:
        return (
            f"{100 * self.difference:+.2f} %  p = {self.p:.4f} (McNemar)  "
            f"only this one right: {self.second:,}, only that: {self.first:,}"
        )


def read_contrastive(path: Path) -> list[ContrastiveItem]:
    """Return the items of a file. ValueError that names file and item if it is none.

    A .json file is a list of objects as ContraPro and LingEval97 have them. Any other file is a
    table with tabs between source, right and wrong translations; its first line may name the
    columns: source, right, wrong (several), and any others are categories. A column source.NAME or
    target.NAME marks a word of the source, or of the right translation, for `probe`.
    """
    items = list(_read_objects(path) if path.suffix == ".json" else _read_table(path))
    if not items:
        raise ValueError(f"{path}: there is no item in it")
    return items


def _read_table(path: Path) -> Iterator[ContrastiveItem]:
    names: list[str] = []
    for number, line in enumerate(read_lines(path), start=1):
        cells = line.split("\t")
        if number == 1 and {"source", "right", "wrong"} <= {*cells}:
            names = cells
            continue
        if not line.strip():
            continue
        labels = names or ["source", "right", *["wrong"] * len(cells)][: len(cells)]
        where = f"{path}, line {number}"
        if len(cells) != len(labels):
            raise ValueError(f"{where}: {len(cells)} columns, but the first line {len(labels)}")
        row = list(zip(labels, cells, strict=True))
        wrong = tuple(cell for name, cell in row if name == "wrong" and cell)
        marked: dict[str, dict[str, str]] = {"source": {}, "target": {}}
        categories = {}
        for name, cell in row:
            side, _, role = name.partition(".")
            if side in marked and role:
                marked[side] |= {role: cell} if cell else {}
            elif name not in ("source", "right", "wrong") and cell:
                categories[name] = cell
        first = dict(row)
        yield _check(where, first["source"], first.get("right"), wrong, categories, marked)


def _read_objects(path: Path) -> Iterator[ContrastiveItem]:
    payload = read_json(path)
    if not isinstance(payload, list) or not all(isinstance(each, dict) for each in payload):
        raise ValueError(f"{path}: a list of objects is needed, as in contrapro.json")
    for number, each in enumerate(payload, start=1):
        where = f"{path}, item {number}"
        source, right = (
            next((each[name] for name in names if name in each), None) for names in (SOURCE, RIGHT)
        )
        errors = each.get(ERRORS)
        if not isinstance(errors, list) or not all(isinstance(e, dict) for e in errors):
            raise ValueError(f"{where}: it has no list of errors")
        wrong = tuple(e.get("contrastive") for e in errors)
        types = sorted({str(e["type"]) for e in errors if e.get("type")})
        categories = _divide(each) | ({"type": ", ".join(types)} if types else {})
        yield _check(where, source, right, wrong, categories, _mark(each))


def _divide(each: Mapping[str, Any]) -> dict[str, str]:
    """Return the divisions by which ContraPro's own script reports."""
    results = {}
    if all(pronouns := [_read_text(each, name) for name in ("src pronoun", "ref pronoun")]):
        results["pronoun"] = ":".join(pronouns).lower()
    if "intrasegmental" in each:
        inside = each["intrasegmental"]
        answer = ("yes" if inside else "no") if isinstance(inside, bool) else "unknown"
        results["antecedent in the sentence"] = answer
    if isinstance(distance := each.get("ante distance"), int):
        results["sentences to the antecedent"] = str(distance) if distance <= FAR else f">{FAR}"
    return results


def _read_text(each: Mapping[str, Any], name: str) -> str:
    """Return a field of an object; "" if it is no text."""
    value = each.get(name)
    return value if isinstance(value, str) else ""


def _mark(each: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the words that ContraPro names, where they are in the sentence itself."""
    marked: dict[str, dict[str, str]] = {"source": {}, "target": {}}
    for side, short in (("source", "src"), ("target", "ref")):
        if side == "source" and (pronoun := _read_text(each, "src pronoun")):
            marked[side]["pronoun"] = pronoun
        if each.get("ante distance") == 0:
            names = (f"{short} ante phrase", f"{short} ante head")
            if phrase := next(filter(None, (_read_text(each, name) for name in names)), ""):
                marked[side]["antecedent"] = phrase
    return marked


def _check(
    where: str, source: Any, right: Any, wrong: tuple[Any, ...], *more: Any
) -> ContrastiveItem:
    if not all(isinstance(text, str) and text.strip() for text in (source, right)):
        raise ValueError(f"{where}: a source and its right translation are needed")
    if not wrong or not all(isinstance(text, str) and text.strip() for text in wrong):
        raise ValueError(f"{where}: at least one wrong translation is needed")
    if right in wrong:
        raise ValueError(f"{where}: the right translation is among the wrong ones")
    return ContrastiveItem(source, right, wrong, *more)


def judge_contrastive(
    model: str,
    items: Sequence[ContrastiveItem],
    score: Callable[[list[str], list[str]], Sequence[ScoredText]],
    by: Normalization = "sum",
) -> ContrastiveResult:
    """Return how often the right translation is more probable than every wrong one.

    score: returns the log-probability of each target, given its source. by: whether the sum over
    the tokens decides, as in ContraPro's and LingEval97's own scripts, or the mean, with which a
    shorter translation has no advantage. A tie is an error, as in ContraPro's script. A division in
    which all items are alike is left out.
    """
    sources, targets = map(list, zip(*(pair for each in items for pair in each.pairs), strict=True))
    scores = score(sources, targets)
    margins = {
        "sum": _subtract(items, [each.log_prob for each in scores]),
        "token": _subtract(items, [each.log_prob / each.tokens for each in scores]),
    }
    totals = {
        name: Share(sum(margin > 0 for margin in own), len(items)) for name, own in margins.items()
    }
    divisions = dict.fromkeys(name for each in items for name in each.categories)
    categories = {name: _share_by(name, items, margins[by]) for name in divisions}
    categories = {name: shares for name, shares in categories.items() if len(shares) > 1}
    return ContrastiveResult(model, totals[by], categories, tuple(margins[by]), by, totals)


def _subtract(items: Sequence[ContrastiveItem], scores: Sequence[float]) -> list[float]:
    """Return by how much each right translation is ahead of the best wrong one."""
    rest, margins = iter(scores), []
    for each in items:
        right, *wrong = islice(rest, 1 + len(each.wrong))
        margins.append(right - max(wrong))
    return margins


def _share_by(
    name: str, items: Sequence[ContrastiveItem], margins: Sequence[float]
) -> dict[str, Share]:
    of, right = Counter[str](), Counter[str]()
    for each, margin in zip(items, margins, strict=True):
        if part := each.categories.get(name):
            of[part] += 1
            right[part] += margin > 0
    return {part: Share(right[part], of[part]) for part in sorted(of)}
