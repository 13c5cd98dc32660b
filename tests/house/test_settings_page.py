"""docs/settings.md is what its script makes of the settings."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "settings.py"


def test_the_page_is_what_the_settings_say() -> None:
    page = SCRIPT.with_suffix(".md").read_text(encoding="utf-8")
    assert runpy.run_path(str(SCRIPT))["render"]() == page, "run python docs/settings.py"
