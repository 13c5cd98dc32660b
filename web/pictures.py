"""Take the pictures of docs/app.md: each view as a reader sees it.

`python web/pictures.py`, where Chromium and Playwright are. Each is made small: WebP, 60 kB.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from PIL import Image
from playwright.sync_api import sync_playwright

from glassformer.extensions.demo.corpus import read_corpus

OUT = Path(__file__).resolve().parents[1] / "docs" / "app"
SIZE = {"width": 1200, "height": 800}
MOST = 60_000  # bytes
MINUTES = 3  # of the training
PRONOUN = 7  # the step that writes "qu'elle"
HEADS = (
    ("decoder.3.self_attention", 4),
    ("decoder.1.cross_attention", 2),
    ("decoder.4.cross_attention", 5),
    ("decoder.1.self_attention", 3),
)
TIRED = "The animal didn't cross the street because it was too tired."  # which the heads decide
EDITS = json.dumps([{"do": "silence", "name": name, "head": head} for name, head in HEADS])
CELL = "decoder.2.cross_attention.scores[0,3,3]"
BEAM = {"search": "beam", "beam": 4}
CUT = json.dumps([{"do": "cut", "word": "wide"}])
FILM, SECONDS, NARROW = "opening", 7.0, 720  # a moving picture, its length, its width in pixels
VIEWS: dict[str, tuple[str, dict[str, Any], str]] = {
    # file: view, what the address says, and what to wait for
    "first": ("first", {"edits": CUT}, ".fresh"),
    "lecture": ("lecture/5", {}, "[data-guess]"),
    "teach": ("teach", {}, "[data-train]"),
    "why": ("why", {"step": PRONOUN}, "[data-circuit=found]"),
    "heads": ("heads", {"heads.head": "decoder.5.cross_attention.2"}, "[data-guess]"),
    "translate": ("translate", {**BEAM, "step": PRONOUN}, "svg .node"),
    "search": ("translate", {**BEAM, "step": PRONOUN}, "svg .node"),
    "attention": ("attention", {"kind": "cross", "layer": 3, "head": 7, "query": PRONOUN}, "line"),
    "stages": ("attention", {"attention.form": "stages", "kind": "decoder", "layer": 3}, "canvas"),
    "numbers": ("cell", {"cell": CELL}, ".terms, table"),
    "map": ("map", {"map.at": "decoder.1.cross_attention"}, "canvas"),
    "positions": ("positions", {}, "canvas"),
    "whatif": ("whatif", {"text": TIRED, "whatif.edits": EDITS, "step": PRONOUN}, "[data-lead]"),
    "training": ("training", {"training.show": "rows", "training.step": 16}, "canvas"),
    "own": ("own", {"own.id": "mine"}, "[data-watch] dd b"),
    "story": ("story", {"story.card": "V49"}, "article img"),
}

PRESSED = {  # what is pressed there, and what to wait for then
    "lecture": (("[data-guess='0']", "[data-picture-of]"),),
    "teach": (("[data-train]", "[data-done]"), ("[data-guess='1']", "[data-said]")),
    "heads": (("[data-guess='0']", "section svg path"),),
}


@contextmanager
def serve() -> Iterator[str]:
    """The address of a server of the shipped model, without what follows it."""
    command = [sys.executable, "-m", "glassformer", "serve", "demo", "--port", "0", "--token", "t"]
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(
            [*command, "--train", folder, "--device", "cpu"], stdout=subprocess.PIPE, text=True
        ) as server,
    ):
        try:
            assert server.stdout
            found = re.search(r"http://[\d.]+:\d+", server.stdout.readline())
            assert found, "the server did not start"
            yield found[0]
        finally:
            server.terminate()


def train(address: str) -> None:
    """Begin a training of two thousand pairs in the app, and wait for its first translations."""
    pairs = read_corpus().pairs["train"][:2000]
    table = "".join(f"{source}\t{target}\n" for source, target in pairs)
    languages = {"name": "mine", "source": "en", "target": "fr"}
    ask(address, "trainings", json.dumps(languages).encode())
    ask(address, "trainings/mine/pairs?name=mine.tsv", table.encode(), "PUT")
    ask(address, "trainings/mine/check", b"{}")
    wait(lambda: ask(address, "trainings/mine")["state"] == "checked")
    ask(address, "trainings/mine/start", json.dumps({"minutes": MINUTES, "size": "tiny"}).encode())
    wait(lambda: ask(address, "trainings/mine")["has_curves"])
    wait(lambda: sum("valid BLEU" in line for line in ask(address, "runs/mine")["metrics"]) > 1)


def ask(address: str, path: str, body: bytes | None = None, method: str | None = None) -> Any:
    head = {"Authorization": "Bearer t", "Content-Type": "application/json"}
    with urlopen(Request(f"{address}/api/{path}", body, head, method=method)) as answer:
        return json.load(answer)


def wait(is_done: Callable[[], bool]) -> None:
    while not is_done():
        time.sleep(1)


def take(page: Any, address: str, name: str) -> bytes:
    view, state, awaited = VIEWS[name]
    told = urlencode({"language": "en", "theme": "light", **state})
    page.goto("about:blank")
    page.goto(f"{address}/?token=t#/{view}?{told}")
    page.wait_for_selector(f"[data-view={view.partition('/')[0]}]")
    page.wait_for_selector(awaited, state="attached")
    for press, shown in PRESSED.get(name, ()):
        page.locator(press).first.click()
        page.wait_for_selector(shown)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(800)
    if name == "search":
        tree = page.locator("section", has=page.locator("svg .node"))
        tree.evaluate("it => it.scrollIntoView()")
    found: bytes = page.screenshot()
    return found


def shrink(png: bytes) -> bytes:
    """As good as fits."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for quality in range(90, 20, -5):
        buffer = io.BytesIO()
        picture.save(buffer, "WEBP", quality=quality, method=6)
        if buffer.tell() <= MOST:
            break
    return buffer.getvalue()


def film(page: Any, address: str) -> bytes:
    """Return what the app shows when it opens, as a WebP whose pictures last as long as there."""
    page.goto(f"{address}/?token=t#/first?language=en&theme=light")
    page.wait_for_selector(".thread", state="attached")
    box = page.locator("section.left").bounding_box()
    begun = time.monotonic()
    frames: list[tuple[float, Image.Image]] = []
    while (seconds := time.monotonic() - begun) < SECONDS:
        png = page.screenshot(clip=box)
        picture = Image.open(io.BytesIO(png)).convert("RGB")
        picture.thumbnail((NARROW, NARROW))
        if not frames or picture.tobytes() != frames[-1][1].tobytes():
            frames.append((seconds, picture))
    times = [*(start for start, _ in frames), SECONDS]
    lasts = [round(1000 * (stop - start)) for start, stop in itertools.pairwise(times)]
    buffer = io.BytesIO()
    first, *others = (picture for _, picture in frames)
    first.save(
        buffer,
        "WEBP",
        save_all=True,
        append_images=others,
        duration=lasts,
        loop=0,
        quality=60,
        method=6,
    )
    return buffer.getvalue()


def main() -> None:
    OUT.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or [*VIEWS, FILM]
    with serve() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_default_timeout(120_000)
        if FILM in wanted:
            moving = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
            data = film(moving, address)
            (OUT / f"{FILM}.webp").write_bytes(data)
            print(f"{FILM}: {len(data) / 1000:.0f} kB", flush=True)
            wanted = [name for name in wanted if name != FILM]
        for name in wanted:
            if name == "own":
                train(address)
            data = shrink(take(page, address, name))
            (OUT / f"{name}.webp").write_bytes(data)
            print(f"{name}: {len(data) / 1000:.0f} kB", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
