"""A recording as one page; that a browser opens it is tested in tests/web."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load

from glassformer.extensions.serve import page
from glassformer.extensions.serve.page import SavedPage, build_page
from glassformer.see import Trace

SCRIPT = 'let closing = "</script>";'
PARTS = {"worker.js": "let worker;", "rest.js": "let rest;", "page.js": SCRIPT}


@pytest.fixture(autouse=True)
def static(monkeypatch: pytest.MonkeyPatch) -> None:
    """An app of two lines, so that nothing has to be built."""
    built = {"page.css": "body { margin: 0 }", "icon.svg": "<svg/>", **PARTS}
    monkeypatch.setattr(page, "_read", built.__getitem__)


class Reader(HTMLParser):
    """What a browser sees of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = [("", {}, "")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}", {}, ""))

    def handle_data(self, data: str) -> None:
        tag, attributes, text = self.found[-1]
        self.found[-1] = tag, attributes, text + data


def _read(html: str) -> list[tuple[str, dict[str, str | None], str]]:
    reader = Reader()
    reader.feed(html)
    return reader.found


def test_it_holds_the_recording_whole(trace: Trace) -> None:
    scripts = [(given, text) for tag, given, text in _read(build_page(trace)) if tag == "script"]
    assert [given.get("id") for given, _ in scripts] == ["recording", None]
    held = json.loads(scripts[0][1])
    assert held["document"]["text"] == trace.text
    assert [op["name"] for op in held["ops"]] == [*trace.graph]
    files = [load(b64decode(text)) for text in held["files"].values()]
    tensors = {name: array for file in files for name, array in file.items()}
    for name in trace.names():
        assert np.array_equal(tensors[name], trace[name])
    assert "encoder.0.self_attention.to_query.weight" in tensors


def test_it_may_run_its_own_script_and_nothing_else(trace: Trace) -> None:
    found = _read(build_page(trace))
    policy = next(given["content"] for tag, given, _ in found if given.get("http-equiv"))
    assert policy and policy.startswith("default-src 'none'")
    script = next(text for tag, given, text in found if tag == "script" and "id" not in given)
    assert script == "".join(PARTS.values()).replace("</", r"<\/")
    hash = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{hash}'" in policy
    assert re.findall(r"(?:src|href)=.{0,6}", build_page(trace)) == ['href="data:']  # its icon


def test_a_sentence_cannot_close_the_script(trace: Trace) -> None:
    text = "</script><script>alert(1)</script><!--"
    bad = Trace(trace.document.model_copy(update={"text": text}), trace.tensors)
    scripts = [given for tag, given, _ in _read(build_page(bad)) if tag == "script"]
    assert len(scripts) == 2


def test_weights_stay_out_where_they_are_many(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "LIGHT", 1000)
    assert "parameters.safetensors" not in build_page(trace)
    assert "parameters.safetensors" in build_page(trace, parameters=True)


def test_it_shows_itself_in_a_notebook_and_saves_itself(trace: Trace, tmp_path: Path) -> None:
    shown = trace.show()
    assert repr(shown).startswith(f"<Page of {len(shown.html) / 1e6:.1f} MB")
    tag, given, _ = _read(shown._repr_html_())[1]
    assert (tag, given["srcdoc"]) == ("iframe", shown.html)
    assert given["sandbox"] == "allow-scripts allow-downloads"
    shown.save(tmp_path / "it.html")
    assert (tmp_path / "it.html").read_text(encoding="utf-8") == shown.html
    assert [path.name for path in tmp_path.iterdir()] == ["it.html"]


def test_what_is_not_built_is_said(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(page, "STATIC", Path("nowhere"))
    with pytest.raises(ValueError, match="make web"):
        SavedPage(build_page(trace))
