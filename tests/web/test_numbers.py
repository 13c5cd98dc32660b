"""The numbers on screen are those of the recording, and explain themselves as Python does."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opening import SENTENCE, Server, wait_until

from glassformer import Translator
from glassformer.extensions.serve.page import build_page
from glassformer.see import Trace

OFFLINE_CELL = "decoder.3.cross_attention.scores"


@pytest.fixture(scope="module")
def trace() -> Trace:
    found: Trace = Translator.load("demo").see(SENTENCE)
    return found


def _sample(trace: Trace) -> dict[str, tuple[str, list[int]]]:
    """A cell of a tensor of each kind, drawn anew each time."""
    kinds: dict[str, list[str]] = {}
    for op in trace.graph.values():
        if op.axes:
            kinds.setdefault(op.kind, []).append(op.name)
    found = {}
    for kind, names in kinds.items():
        name = random.choice(names)
        axes = trace.graph[name].axes
        found[kind] = name, [random.randrange(axis.size) for axis in axes]
    return found


def _open(page: Any, server: Server, recording: str) -> None:
    """Open the recording, and wait until the app has put its sentence into the address."""
    page.goto(server.url("cell", trace=recording))
    wait_until(page, "location.hash.includes('text=')")


def _show(page: Any, name: str, index: list[int]) -> str:
    """Ask about a cell, as a link does."""
    cell = f"{name}[{','.join(map(str, index))}]"
    put = "cell => { location.hash = location.hash.replace(/&cell=[^&]*|$/, cell) }"
    page.evaluate(put, f"&cell={cell}")
    return cell


def _read(text: str) -> float:
    text = text.replace("−", "-")
    return {"∞": math.inf, "-∞": -math.inf}.get(text) or float(text)


def test_every_kind_of_number_explains_itself(
    page: Any, server: Server, recording: str, trace: Trace
) -> None:
    _open(page, server, recording)
    drawer = page.locator("aside")
    for kind, (name, index) in _sample(trace).items():
        cell = _show(page, name, index)
        wanted = trace.explain(name, index)
        drawer.locator("p code", has_text=name).wait_for()
        if kind != "input":
            drawer.locator("dt", has_text="recomputed").wait_for()
            shown = _read(drawer.locator("dt:has-text('recomputed') + dd").inner_text())
            limit = 2e-6 * max(1.0, sum(abs(term.value) for term in wanted.terms))
            assert shown == wanted.recomputed or abs(shown - wanted.recomputed) <= limit, cell
        else:
            tokens = trace.source if name.startswith("source") else trace.target
            assert tokens[index[0]].text.strip() in drawer.inner_text()


def test_copied_numpy_computes_the_number(
    page: Any, server: Server, recording: str, trace: Trace
) -> None:
    _open(page, server, recording)
    for kind, (name, index) in _sample(trace).items():
        if kind in ("input", "parameter"):
            continue
        _show(page, name, index)
        page.locator("aside p code", has_text=name).wait_for()
        page.evaluate("navigator.clipboard.writeText('')")
        page.locator("aside .row button").first.click()
        wait_until(page, "navigator.clipboard.readText()")
        code = page.evaluate("navigator.clipboard.readText()")
        scope: dict[str, Any] = {"trace": trace}
        with np.errstate(all="ignore"):
            exec(code, scope)
        assert scope["value"] == pytest.approx(float(trace[name][tuple(index)]), abs=2e-5), code


def test_hovering_tells_the_cell_under_the_mouse(
    page: Any, server: Server, recording: str, trace: Trace
) -> None:
    name, head = "decoder.2.cross_attention.weights", 5
    page.goto(
        server.url(
            "attention",
            trace=recording,
            kind="cross",
            layer=2,
            head=head,
            **{"attention.form": "matrix"},
        )
    )
    canvas = page.locator(".cells canvas")
    canvas.wait_for()
    weights = trace[name][head]
    box = canvas.bounding_box()
    rows, columns = weights.shape
    for _ in range(5):
        row, column = random.randrange(rows), random.randrange(columns)
        x, y = (column + 0.5) * box["width"] / columns, (row + 0.5) * box["height"] / rows
        canvas.hover(position={"x": x, "y": y})
        told = page.locator(".glyph").inner_text()
        assert f"query {row} " in told and f"key {column} " in told
        shown = _read(told.split("=")[1].split()[0])
        assert shown == pytest.approx(float(weights[row, column]), rel=1e-3)


def test_a_cell_lights_up_what_it_is_made_of(page: Any, server: Server, recording: str) -> None:
    cell = f"{OFFLINE_CELL}[0,0,0]"
    page.goto(server.url("cell", trace=recording, cell=cell))
    page.locator(".parts canvas").nth(1).wait_for()
    for move in range(100):  # a pointer that rests says nothing to cells that are drawn anew
        page.locator(".cells canvas").first.hover(position={"x": 60 + move % 2, "y": 60})
        if page.locator("path.lit").count():
            break
        page.wait_for_timeout(100)
    lit = page.locator("path.lit").evaluate_all("paths => paths.map(p => p.getAttribute('d'))")
    # A row of the queries and a row of the keys, each as wide as a head.
    assert [path.count("M") for path in lit] == [8, 8]


@pytest.mark.thorough
def test_operands_lead_down_to_a_word_or_a_position(
    page: Any, server: Server, recording: str, trace: Trace
) -> None:
    cell = f"{OFFLINE_CELL}[1,4,2]"
    page.goto(server.url("attention", trace=recording, cell=cell))
    drawer = page.locator("aside")
    drawer.locator("tbody button").first.click()
    wait_until(page, "location.hash.includes('query') || location.hash.includes('key')")
    assert drawer.locator("nav button").first.inner_text() == cell
    drawer.locator("nav button").first.click()
    drawer.get_by_text("Follow the largest term down").click()
    last = drawer.locator(".chain li").last.inner_text()
    wanted = trace.explain(OFFLINE_CELL, (1, 4, 2)).chain[-1]
    assert last.startswith(f"{wanted.name}[{','.join(map(str, wanted.index))}]")


def test_a_saved_page_opens_from_a_file_without_any_network(
    page: Any, trace: Trace, tmp_path: Path
) -> None:
    place = tmp_path / "page.html"
    place.write_text(build_page(trace), encoding="utf-8")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    page.goto(f"{place.as_uri()}#/cell?text=&language=en")
    page.wait_for_selector("[data-view=cell]")
    for kind, (name, index) in _sample(trace).items():
        cell = _show(page, name, index)
        title = page.locator("aside h2")
        page.locator("aside p code", has_text=name).wait_for()
        shown = _read(title.inner_text().removeprefix("Why is this number ").removesuffix("?"))
        value = float(trace[name][tuple(index)])
        assert shown == value or shown == pytest.approx(value, rel=2e-3, abs=1e-6), (kind, cell)
    assert {url.split(":")[0] for url in asked} <= {"file", "about", "data", "blob"}
