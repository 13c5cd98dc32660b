"""The page of the benchmark of processors: quality against speed, and a table, for each machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import log10
from typing import Any

from .cpu_results import Row

GROUP = ("model", "cores", "set", "beam", "batch")
OURS = "glassformer"
INT8 = {"int8", "packed8"}  # the precisions of integers, by their names in each engine
WIDTH, HEIGHT, EDGE = 640, 280, 48
LABEL, LINE = 130, 14  # the room of a name in the picture
COLUMNS = {
    "words_per_second": ("words/s", ",.0f"),
    "spread": ("spread of the rounds", ".0%"),
    "ratio": ("speed against the first engine", ".2f"),
    "sentence_ms": ("ms a sentence", ".1f"),
    "start_ms": ("start, ms", ".0f"),
    "resident_mib": ("MiB resident", ".0f"),
    "disk_mb": ("MB on disk", ".1f"),
    "joules": ("joules for all", ".1f"),
    "bleu": ("BLEU", ".2f"),
    "chrf": ("chrF++", ".2f"),
    "same_as_fxtranslate": ("same as fxtranslate", ".1%"),
}
COLORS = {
    "glassformer": "#d55e00",
    "ctranslate2": "#0072b2",
    "fxtranslate": "#009e73",
    "marian": "#cc79a7",
    "onnxruntime": "#e69f00",
    "transformers": "#56b4e9",
}
OTHER = "#888888"
RELATIVE = {
    "ratio",
    "spread",
    "same_as_fxtranslate",
}  # these columns say nothing of an engine alone
LESS = {"spread", "sentence_ms", "start_ms", "resident_mib", "disk_mb", "joules"}  # less is better
STYLE = """
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--line:#bbb;--lost:#fbe9e2}
@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#161616;--line:#555;--lost:#43261b}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
max-width:70rem;margin:2rem auto;padding:0 1rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;white-space:nowrap}
td,th{padding:.2rem .6rem;border-bottom:1px solid var(--line);text-align:right}
td:first-child,th:first-child{text-align:left}.lost{background:var(--lost)}
svg{max-width:100%;height:auto}svg text{fill:var(--ink);font-size:12px}
.axis{stroke:var(--line)}.pareto{fill:none;stroke:var(--ink);stroke-dasharray:4 3}
"""


def draw(results: Sequence[Row]) -> str:
    """Return the page."""
    parts = "".join(map(_draw_machine, results)) or "<p>There is no result yet.</p>"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Translation on ordinary processors</title><style>{STYLE}</style>"
        f"<h1>Translation on ordinary processors</h1>{_draw_lost(results)}"
        "<h2>All rows</h2><p>Of each machine, groups in which glassformer is not the "
        "fastest come first, and the rows that are faster than ours of the same precision are "
        "coloured; the best of each column is bold. The dashed line joins the "
        f"engines that no other beats in both quality and speed.</p>{parts}</html>\n"
    )


def list_groups(result: Row) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows that were measured, by group; those that glassformer loses first."""
    groups = dict[tuple[Any, ...], list[Row]]()
    for row in result["rows"]:
        if "refused" not in row:
            groups.setdefault(tuple(row[key] for key in GROUP), []).append(row)
    return dict(sorted(groups.items(), key=lambda item: not find_lost(item[1])))


def find_ours(row: Row, rows: Sequence[Row]) -> float | None:
    """Return the speed of our fastest row, of the same precision as another engine's if we have it.

    None if a group has no row of ours.
    """
    ours = [each for each in rows if each["engine"].startswith(OURS)]
    same = [each for each in ours if _is_int8(each) == _is_int8(row)]
    return max((each["words_per_second"] for each in same or ours), default=None)


def find_lost(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of other engines that are faster than ours; all if ours is missing."""
    others = [row for row in rows if not row["engine"].startswith(OURS)]
    return [row for row in others if row["words_per_second"] > (find_ours(row, rows) or 0)]


def _is_int8(row: Row) -> bool:
    return row["engine"].split()[-1] in INT8


def find_worse(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the columns in which the best value of a group is none of ours."""
    for key in COLUMNS:
        best = _find_best(key, rows)
        ours = [row.get(key) for row in rows if row["engine"].startswith(OURS)]
        if key not in RELATIVE and best is not None and best not in ours:
            yield key


def find_pareto(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points, by speed, that no other point beats in both speed and quality."""
    kept = list[tuple[float, float]]()
    for speed, quality in sorted(set(points), reverse=True):
        if not kept or quality > kept[-1][1]:
            kept.append((speed, quality))
    return kept[::-1]


def _draw_lost(results: Sequence[Row]) -> str:
    """Return what glassformer loses on all machines: rows that are faster, then columns."""
    rows, worse = list[tuple[float, str]](), dict[str, int]()
    every = [(result, group) for result in results for group in list_groups(result).items()]
    for result, (key, group) in every:
        for name in find_worse(group):
            worse[name] = worse.get(name, 0) + 1
        for row in find_lost(group):
            ours, speed = find_ours(row, group), row["words_per_second"]
            cells = (result["machine"]["processor"], _name_group(key), row["engine"])
            body = "".join(f"<td>{escape(cell)}" for cell in cells) + f"<td>{speed:,.0f}"
            said = f"<td>{ours:,.0f}<td>{speed / ours:.2f}" if ours else "<td>–<td>–"
            rows.append((-speed / ours if ours else 0, f"<tr class=lost>{body}{said}"))
    heads = "<th>machine<th>group<th>engine<th>words/s<th>ours<th>times ours"
    table = "".join(text for _, text in sorted(rows))
    table = f"<div class=wide><table><tr>{heads}{table}</table></div>" if rows else "<p>None.</p>"
    told = "".join(
        f"<li>{escape(COLUMNS[name][0])}: {count} of {len(every)} groups"
        for name, count in sorted(worse.items(), key=lambda item: -item[1])
    )
    other = (
        f"<p>Another engine has the best value of a column in</p><ul>{told}</ul>" if told else ""
    )
    return f"<h2>Where another engine is faster than glassformer</h2>{table}{other}"


def _draw_machine(result: Row) -> str:
    machine = result["machine"]
    order = list_groups(result).items()
    memory = f", {machine['memory']:.0f} GiB" if machine["memory"] else ""
    system = f"{machine['system']}; Python {machine['python']}, " if "system" in machine else ""
    load = f"<br>Busy processes at its start: {machine['load']:.1f}." if "load" in machine else ""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return (
        f"<h2>{escape(machine['processor'])}, {machine['cores']} cores{memory}</h2>"
        f"<p>{escape(result['date'])}. {escape(system)}{escape(versions)}.{load}<br>"
        f"<code>{escape(result['command'])}</code></p>"
        + "".join(_draw_group(key, rows, result) for key, rows in order)
        + _draw_refused([row for row in result["rows"] if "refused" in row])
        + f"<details><summary>Processor flags</summary>{escape(' '.join(machine['flags']))}"
        "</details>"
    )


def _name_group(key: tuple[Any, ...]) -> str:
    model, cores, kind, beam, batch = key
    how = "one at a time" if batch == 1 else f"batches of {batch}"
    search = "greedy" if beam == 1 else f"beam {beam}"
    return f"{model}: {cores} {'core' if cores == 1 else 'cores'}, {kind}, {search}, {how}"


def _draw_group(key: tuple[Any, ...], rows: list[Row], result: Row) -> str:
    text, title = result["texts"][key[0]], _name_group(key)
    lost = find_lost(rows)
    rows = sorted(rows, key=lambda row: (row not in lost, -row["words_per_second"]))
    best = {key: _find_best(key, rows) for key in COLUMNS}
    heads = "".join(f"<th>{head}" for head, _ in COLUMNS.values())
    body = "".join(
        f"<tr{' class=lost' * (row in lost)}><td>{escape(row['engine'])}{_tell_cells(row, best)}"
        for row in rows
    )
    return (
        f"<h3>{escape(title)}</h3><p>{text['sentences']:,} sentences of {escape(text['name'])}."
        f"</p>{_draw_chart(rows)}"
        f"<div class=wide><table><tr><th>engine{heads}{body}</table></div>"
    )


def _find_best(key: str, rows: Sequence[Row]) -> float | None:
    values = [row[key] for row in rows if row.get(key) is not None]
    return (min if key in LESS else max)(values, default=None)


def _tell_cells(row: Row, best: Row) -> str:
    """Return the cells of a row; the best of each column is bold."""
    cells = ""
    for key, (_, form) in COLUMNS.items():
        value = row.get(key)
        said = "–" if value is None else format(value, form)
        cells += (
            f"<td>{said if value is None or value != best[key] else f'<strong>{said}</strong>'}"
        )
    return cells


def _draw_refused(rows: Sequence[Row]) -> str:
    """Return the list of what was not measured, each reason once for an engine and a model."""
    said = dict.fromkeys(f"{x['model']}, {x['engine'] or 'all'}: {x['refused']}" for x in rows)
    items = "".join(f"<li>{escape(each)}" for each in said)
    return f"<h3>Not measured</h3><ul>{items}</ul>" if items else ""


def _draw_chart(rows: Sequence[Row]) -> str:
    """Return the picture of quality against speed, or nothing if no quality is known."""
    name = "bleu" if all(row["bleu"] is not None for row in rows) else "same_as_fxtranslate"
    if any(row[name] is None for row in rows):
        return ""
    points = [(log10(row["words_per_second"]), row[name]) for row in rows]
    spans = [(min(values), max(values)) for values in zip(*points, strict=True)]
    spans = [(low - (high - low or 1) / 10, high + (high - low or 1) / 10) for low, high in spans]

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x, y = ((v - low) / (high - low) for v, (low, high) in zip(point, spans, strict=True))
        return EDGE + x * (WIDTH - 4 * EDGE), HEIGHT - EDGE - y * (HEIGHT - 2 * EDGE)

    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, find_pareto(points)))
    dots, labels = "", list[tuple[float, float]]()
    for row, point in zip(rows, points, strict=True):
        (x, y), color = place(point), COLORS.get(row["engine"].split()[0], OTHER)
        dots += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{color}"/>'
        step = LINE if y < HEIGHT / 2 else -LINE  # beside a label that would be covered, inside
        while any(abs(x - a) < LABEL and abs(y - b) < LINE for a, b in labels):
            y += step
        labels.append((x, y))
        dots += f'<text x="{x + 8:.1f}" y="{y + 4:.1f}">{escape(row["engine"])}</text>'
    bottom, low, high = HEIGHT - EDGE, *(10**x for x in spans[0])
    lowest, highest = min(row[name] for row in rows), max(row[name] for row in rows)
    quality = "BLEU" if name == "bleu" else "share that is the same as fxtranslate's"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{quality} against words a second">'
        f'<path class="axis" fill="none" d="M{EDGE} {EDGE / 2}V{bottom}H{WIDTH - EDGE}"/>'
        f'<polyline class="pareto" points="{line}"/>{dots}'
        f'<text x="4" y="16">{quality}: {lowest:.3g} to {highest:.3g}</text>'
        f'<text x="{EDGE}" y="{bottom + 18}">{low:,.0f}</text>'
        f'<text x="{WIDTH - EDGE}" y="{bottom + 18}" text-anchor="end">{high:,.0f} words/s '
        "(logarithmic)</text></svg>"
    )
