"""The result of evaluating one or several systems, as text, as JSON and as a table. No torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from .quality import Quality
from .sentences import BY_SENTENCE, SentenceResult
from .significance import Comparison

COLUMNS = ("line", *BY_SENTENCE, "confidence", "flags", "source", "references", "translation")


@dataclass(frozen=True)
class SystemResult:
    """The scores of one system, and how its translations were made, if a model made them here."""

    name: str
    quality: Quality
    work: Any = None  # a record that has `to_json`

    def to_json(self) -> dict[str, Any]:
        payload = self.work.to_json() if self.work else {"model": self.name}
        return {**payload, **self.quality.to_json()}

    def __str__(self) -> str:
        return "\n\n".join(map(str, filter(None, (self.work, self.quality))))


@dataclass(frozen=True)
class Evaluation:
    """The scores of systems on one test set, paired tests between them, and their worst sentences.

    comparisons: by what is compared, "ours against theirs".
    """

    systems: tuple[SystemResult, ...]
    comparisons: Mapping[str, Comparison]
    worst: Sequence[SentenceResult] | None = None
    honesty: Any = None  # what is to be known beside the scores of a single model

    def to_json(self) -> dict[str, Any]:
        """Return all results for `json.dumps`; those of a single system are not nested."""
        worst = {} if self.worst is None else {"worst": [each.to_json() for each in self.worst]}
        compared = {name: each.to_json() for name, each in self.comparisons.items()}
        if len(self.systems) == 1:
            own = self.systems[0]
            payload = own.to_json() if own.work else own.quality.to_json()
            if self.honesty:
                payload |= {"honesty": self.honesty.to_json()}
            return payload | ({"comparison": each} if (each := _only(compared)) else {}) | worst
        summary = {
            name: {"mean": mean(values), "standard_deviation": stdev(values)}
            for name, values in self._list_values().items()
        }
        systems = [each.to_json() for each in self.systems]
        return {"systems": systems, "summary": summary, "comparisons": compared, **worst}

    def __str__(self) -> str:
        if len(self.systems) == 1:
            compared = [str(each) for each in self.comparisons.values()]
            parts = [str(self.systems[0]), *compared, *filter(None, [str(self.honesty or "")])]
        else:
            first = self.systems[0]
            parts = [str(first.work)] if first.work else []
            parts.append(self._tabulate())
            parts += [f"{name}\n{each}" for name, each in self.comparisons.items()]
        parts += map(tell_systems, self.worst or ())
        return "\n\n".join(parts)

    def _list_values(self) -> dict[str, list[float]]:
        """Return the scores of all systems by metric."""
        names = [score.name for score in self.systems[0].quality.scores]
        values = {name: [each.quality[name].value for each in self.systems] for name in names}
        return values | {"exact match": [100 * each.quality.exact_match for each in self.systems]}

    def _tabulate(self) -> str:
        """Return a row for each system, the mean, the standard deviation and the signatures."""
        values = self._list_values()
        width = max(len(each.name) for each in self.systems)
        width = max(width, len("standard deviation"))
        rows = [[each.name for each in self.systems], *values.values()]
        lines = [f"{'':{width}}  " + "  ".join(f"{name:>7}" for name in values)]
        for name, *scores in zip(*rows, strict=True):
            lines.append(_tell_row(str(name), scores, width, values))
        for name, summed in (("mean", mean), ("standard deviation", stdev)):
            lines.append(_tell_row(name, [summed(each) for each in values.values()], width, values))
        signatures = (f"{each.name:7}  {each.signature}" for each in self.systems[0].quality.scores)
        return "\n".join([*lines, *signatures])


def tell_systems(result: SentenceResult) -> str:
    """Return a sentence, its references and what each system made of it, as lines of text."""
    rows = [("source", result.source)] if result.source is not None else []
    rows += [("reference", each) for each in result.references]
    for each in result.systems:
        scores = "  ".join(f"{name} {value:.1f}" for name, value in each.scores.items())
        if each.confidence is not None:
            scores += f"  confidence {each.confidence:.2f}"
        if len(result.systems) > 1:
            rows.append(("system", each.system))
        rows += [("translation", each.translation), ("", scores)]
        rows += [(kind, message) for kind, message in each.flags.items()]
    head = f"line {result.line}"
    return "\n".join([head, *(f"  {name:<11}  {text}".rstrip() for name, text in rows)])


def write_table(worst: Sequence[SentenceResult]) -> str:
    """Return a table with tabs between the columns: a row for each sentence and system."""
    several = any(len(each.systems) > 1 for each in worst)
    rows: list[Sequence[Any]] = [(*COLUMNS, "system") if several else COLUMNS]
    for result in worst:
        for each in result.systems:
            confidence = "" if each.confidence is None else f"{each.confidence:.4f}"
            scores = [f"{each.scores[n]:.2f}" if n in each.scores else "" for n in BY_SENTENCE]
            texts = [result.source or "", " | ".join(result.references), each.translation]
            row = [result.line, *scores, confidence, ",".join(each.flags), *texts]
            rows.append([*row, each.system] if several else row)
    return "\n".join("\t".join(" ".join(str(cell).split()) for cell in row) for row in rows)


def _tell_row(name: str, values: Sequence[float], width: int, columns: Mapping[str, object]) -> str:
    cells = zip(values, columns, strict=True)
    return f"{name:{width}}  " + "  ".join(f"{v:{max(7, len(c))}.2f}" for v, c in cells)


def _only(compared: Mapping[str, Any]) -> Any:
    """Return the one comparison; None if there is none."""
    return next(iter(compared.values()), None)
