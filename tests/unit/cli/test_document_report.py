"""`translate --file`: what it says about a document, on stderr and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassformer.cli import main


@pytest.mark.parametrize("content", ["", "%%%\n \n"])
def test_nothing_to_translate_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    document, output = tmp_path / "a.txt", tmp_path / "b.txt"
    document.write_text(content, encoding="utf-8")
    main(["translate", "demo", "--file", str(document), "-o", str(output), "--json"])
    printed = capsys.readouterr()
    assert f"{document}: nothing to translate" in printed.err
    report = json.loads(printed.out)
    assert report["texts"] == 0 and report["note"].startswith("nothing to translate")
    assert output.read_text(encoding="utf-8") == content


def test_what_is_doubtful_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document, output = tmp_path / "a.html", tmp_path / "b.html"
    document.write_text("<p>The cat is old.</p><p>Qwzx 12345 vkjq 678.</p>", encoding="utf-8")
    main(["translate", "demo", "--file", str(document), "-o", str(output), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["texts"] == 2 and [each["text"] for each in report["doubtful"]] == [2]
    assert report["doubtful"][0]["problems"] and report["doubtful"][0]["translation"]
