"""Who looks for the unit tests of a folder of the package finds them under its name."""

from __future__ import annotations

from pathlib import Path

from .sources import FILES

UNIT = Path(__file__).parents[1] / "unit"


def test_folders_of_unit_tests_are_named_as_those_of_the_package() -> None:
    names = {path.parent.name for path in FILES}
    folders = {path.parent for path in UNIT.rglob("test_*.py")} - {UNIT}
    assert len(folders) > 20
    assert not [str(each.relative_to(UNIT)) for each in folders if each.name not in names]
