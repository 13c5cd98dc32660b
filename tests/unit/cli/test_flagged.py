"""`translate` says in one line how many texts its check has flagged."""

import json
from pathlib import Path

import pytest

from glassformer.cli import main
from glassformer.cli.decoding import FlagCounts
from glassformer.translate.sentence import CheckedTranslation, Problem


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["", "parts"], ""),
        (["", "copy", "copy unsure"], "2 of 3 translations look wrong, 1 text is unlike the"),
        (["copy", ""], "1 of 2 translations looks wrong"),
        (["unknown", "unsure language"], "2 texts are unlike the training text"),
    ],
)
def test_what_is_flagged_is_counted(kinds: list[str], said: str) -> None:
    flagged = FlagCounts()
    for each in kinds:
        flagged.add(
            CheckedTranslation([], tuple(Problem(kind, "") for kind in each.split()), 1.0, False)
        )
    assert flagged.said.startswith(said) and bool(flagged.said) == bool(said)


def test_it_is_told_after_the_last_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text"
    command = ["translate", "demo", str(text), "--precision", "fp32"]

    def run(*options: str) -> tuple[list[str], list[str]]:
        """Return the translations, and what stderr says besides the progress."""
        assert main([*command, *options]) == 0
        out, err = capfd.readouterr()
        return out.splitlines(), [each for each in err.splitlines() if "glassformer" in each]

    text.write_text("The cat is on the mat.\n我喜欢吃苹果。\n", encoding="utf-8")
    lines, told = run()
    said = "glassformer: 1 text is unlike the training text: --json says which"
    assert len(lines) == 2 and told == [said]
    lines, told = run("--json")
    assert not told and "unknown" in {each["kind"] for each in json.loads(lines[1])["problems"]}
    text.write_text("The cat is on the mat.\n", encoding="utf-8")
    assert run() == (["Le chat est sur le tapis."], [])
