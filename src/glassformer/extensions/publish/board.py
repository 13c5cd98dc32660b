"""A board of many models: what each translates, how large it is, what it scores, on what data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from glassformer.foundation.plurals import tell_count
from glassformer.model.files.directory import CARD, CONFIG, RUN, WEIGHTS
from glassformer.train.publish.card import read_facts
from glassformer.train.publish.leftovers import tell_size
from glassformer.train.publish.markdown import escape_markdown

from .languages import counts_characters, name_score, spell_language
from .looks import read_looks

DEEPEST = 4  # folders in a folder
SCORES = ("BLEU", "chrF2", "chrF++")
HEADS = ("model", "languages", "parameters", "size", "validation", "test", "looks", "data")


@dataclass(frozen=True)
class BoardRow:
    """A model on the board; scores by metric, {} where none are known. looks: at a test text."""

    name: str
    languages: list[str]
    parameters: int | None
    bytes: int
    validation: dict[str, float]
    test: dict[str, float]
    looks: int
    data: str
    by_characters: bool = False  # BLEU

    def list_cells(self) -> list[str]:
        """Return the cells of a table."""
        return [
            self.name,
            ", ".join(self.languages),
            f"{self.parameters:,}" if self.parameters else "",
            tell_size(self.bytes),
            self._tell(self.validation),
            self._tell(self.test),
            f"{self.looks}" if self.looks else "",
            self.data,
        ]

    def _tell(self, scores: Mapping[str, float]) -> str:
        named = ((name_score(name, self.by_characters), value) for name, value in scores.items())
        return ", ".join(f"{name} {value:.1f}" for name, value in named)


@dataclass(frozen=True)
class Board:
    """The rows, and why some folders that look like models have none."""

    rows: list[BoardRow]
    left_out: list[str]

    def to_json(self) -> dict[str, Any]:
        return {"models": [asdict(each) for each in self.rows], "left_out": self.left_out}

    def __str__(self) -> str:
        """Return a table in Markdown."""
        lines = [" | ".join(HEADS), "|".join(["---"] * len(HEADS))]
        lines += [" | ".join(map(escape_markdown, each.list_cells())) for each in self.rows]
        return "\n".join([*(f"| {line} |" for line in lines), *self.left_out])


def make_board(folder: Path) -> Board:
    """Return the board of all models in a folder, also deeper; by languages, the best first.

    ValueError if there is none.
    """
    rows, left_out = list[BoardRow](), list[str]()
    for model in walk_models(folder):
        try:
            rows.append(read_row(model, str(model.relative_to(folder))))
        except (ValueError, OSError) as error:
            left_out.append(f"left out: {error}")
    if not rows:
        why = "".join(f"; {each}" for each in left_out[:1])
        raise ValueError(f"{folder}: no model with a card in it{why}")
    return Board(sorted(rows, key=_rank), left_out)


def walk_models(folder: Path) -> Iterator[Path]:
    """Yield the model directories in a folder, but not what is inside a model."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder")
    rest = [(folder, 0)]
    while rest:
        here, depth = rest.pop()
        if (here / CONFIG).is_file() and (here / WEIGHTS).is_file():
            yield here
        elif depth < DEEPEST:
            below = (each for each in here.iterdir() if each.is_dir() and each.name != RUN)
            rest += [(each, depth + 1) for each in below]


def read_row(model: Path, name: str) -> BoardRow:
    """Return the row of a model, from its card. ValueError if it has none."""
    facts = read_facts(model)
    if not facts:
        raise ValueError(f"{model}: no {CARD} with facts")
    pairs = facts.get("pairs") or ["-".join(each or "?" for each in facts.get("language", ()))]
    return BoardRow(
        name if name != "." else model.resolve().name,
        [_spell_pair(each) for each in pairs if each],
        facts.get("parameters"),
        (model / WEIGHTS).stat().st_size,
        _take_scores(facts.get("scores", {})),
        _take_scores(facts.get("test", {})),
        max(read_looks(model).values(), default=0),
        str(facts.get("counts", "")),
        counts_characters(facts.get("language", (None, None))[1]),
    )


def _spell_pair(pair: str) -> str:
    """Return a pair of languages, as en-de, as BCP 47 spells them; of longer codes, unchanged."""
    sides = pair.split("-")
    return " → ".join(map(spell_language, sides)) if len(sides) == 2 else pair


def _take_scores(scores: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(scores[name]) for name in SCORES if name in scores}


def _rank(row: BoardRow) -> tuple[list[str], float, str]:
    best = row.test or row.validation
    return row.languages, -next(iter(best.values()), 0.0), row.name


def render_board(board: Board, title: str) -> str:
    """Return a page of HTML that needs nothing else."""
    head = "".join(f'<th scope="col">{each}</th>' for each in HEADS)
    rows = "\n".join(_render_row(each.list_cells()) for each in board.rows)
    left_out = "".join(f"<p>{escape(each)}</p>" for each in board.left_out)
    count = tell_count(len(board.rows), "model")
    return PAGE.format(title=escape(title), count=count, head=head, rows=rows, left_out=left_out)


def _render_row(cells: Sequence[str]) -> str:
    first, *others = (escape(each) for each in cells)
    return (
        f'<tr><th scope="row">{first}</th>'
        + "".join(f"<td>{each}</td>" for each in others)
        + "</tr>"
    )


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 75rem }}
body {{ margin: 2rem auto; padding: 0 1rem }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse }}
th, td {{ padding: .3rem .8rem; text-align: left; border-bottom: 1px solid #8886 }}
@media (prefers-color-scheme: dark) {{ body {{ background: #111; color: #eee }} }}
</style>
<main>
<h1>{title}</h1>
<p>{count}. Scores of different test texts cannot be compared; a test text that was looked at often
flatters.</p>
<div class="wide" role="region" aria-label="{title}" tabindex="0">
<table>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
{left_out}
</main>
</html>
"""
