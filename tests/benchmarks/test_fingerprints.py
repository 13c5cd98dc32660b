"""Fingerprints of a model are the same twice, and tell what has changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from glassformer.translator import Translator

ASKED = ("translations", "greedy", "beam", "samples", "scores", "recording")


def take(path: Path, *rest: str) -> dict[str, str]:
    assert main(["fingerprints", str(path), "demo-rnn", *rest]) == 0
    taken: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return taken


@pytest.mark.thorough
def test_a_change_of_the_code_is_told_by_what_it_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = take(tmp_path / "before.json")
    drawn = [name for name in before if "picture" in name]
    assert {*before} == {f"demo-rnn: {what}" for what in ASKED} | {*drawn} and len(drawn) == 3
    against = ("--against", str(tmp_path / "before.json"))
    assert take(tmp_path / "after.json", *against) == before
    assert capsys.readouterr().out.endswith("9 fingerprints are the same\n")

    translate = Translator.translate

    def shout(self: Translator, texts: list[str]) -> list[str]:
        return [each.upper() for each in translate(self, texts)]

    monkeypatch.setattr(Translator, "translate", shout)
    with pytest.raises(SystemExit):
        take(tmp_path / "after.json", *against)
    told = capsys.readouterr().out.splitlines()
    # the given translations that are scored are these
    assert told == ["demo-rnn: translations is another", "demo-rnn: scores is another"]


def test_what_one_file_lacks_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = take(tmp_path / "before.json")
    del taken["demo-rnn: beam"]
    taken |= {"demo-rnn: lost": "0", "demo: greedy": "0"}  # demo is not asked for
    (tmp_path / "before.json").write_text(json.dumps(taken), encoding="utf-8")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        take(tmp_path / "after.json", "--against", str(tmp_path / "before.json"))
    told = capsys.readouterr().out.splitlines()
    assert told == ["demo-rnn: lost is missing", "demo-rnn: beam is new"]
