"""What a page may cost: a model of the paper's base size, 60 tokens a side."""

from __future__ import annotations

import json
import statistics
import zipfile
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import torch
from opening import TOKEN, Server

from glassformer import Config, Translator
from glassformer.model.files.directory import build_model
from glassformer.see import record

pytestmark = pytest.mark.slow

WORDS = "the animal did not cross the street because it was too tired and"
VIEWS = (
    ("translate", {}),
    ("attention", {"attention.form": "stages"}),
    ("cell", {"cell": "decoder.2.cross_attention.scores[0,30,31]"}),
)
# Work of the page's own thread, up to the new layout; what a screen waits for it is not in it.
HOVER = """async () => {
    const canvas = document.querySelector('.cells canvas'), box = canvas.getBoundingClientRect();
    const times = [];
    for (let n = 0; n < 60; n++) {
        const clientX = box.left + (n * 37) % box.width;
        const clientY = box.top + (n * 53) % box.height;
        const start = performance.now();
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX, clientY, bubbles: true }));
        await Promise.resolve();
        document.body.getBoundingClientRect();
        times.push(performance.now() - start);
        await new Promise(requestAnimationFrame);
    }
    return times;
}"""


@pytest.fixture(scope="module")
def large(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    demo = Translator.load("demo")
    torch.manual_seed(1)
    config = Config.read({"model": {"positions": {"max_positions": 128}}})
    model = build_model(config, demo.tokenizers).eval()
    translator = Translator(config, demo.tokenizers, model, device="cpu")
    text = " ".join((WORDS.split() * 8)[:59])
    trace = record(translator, text, target=text)
    assert len(trace.source) >= 60
    folder = tmp_path_factory.mktemp("large")
    trace.save(folder / "trace", compact=True)
    packed = folder / "large.trace"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted((folder / "trace").iterdir()):
            archive.write(path, path.name)
    return _upload(server, packed)


def _upload(server: Server, path: Path) -> str:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/zip"}
    request = Request(f"{server.address}/api/traces", path.read_bytes(), headers)

    with urlopen(request, timeout=60) as answer:
        found: str = json.load(answer)["id"]
    return found


def test_first_paint_hover_and_memory(page: Any, server: Server, large: str) -> None:
    paints = []
    for _ in range(5):
        page.goto("about:blank")
        page.goto(server.url(trace=large))
        page.wait_for_selector("[data-view=translate] h2")
        paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        paints.append(page.evaluate(paint))
    assert statistics.median(paints) < 1500, paints
    devtools = page.context.new_cdp_session(page)
    for view, state in VIEWS:
        page.goto(server.url(view, trace=large, **state))
        page.wait_for_selector(f"[data-view={view}] h2")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.querySelectorAll('*').length") <= 6000
        if view != "translate":
            times = page.evaluate(HOVER)
            assert statistics.median(times) < 16, sorted(times)
        assert devtools.send("Runtime.getHeapUsage")["usedSize"] < 150e6, view
