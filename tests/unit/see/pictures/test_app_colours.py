"""The app and the figures are one: the same role has the same colour in both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib.colors import to_rgb

from glassformer.extensions.pictures.parts import style

CSS = Path(__file__).parents[4] / "web" / "src" / "theme.css"


@pytest.fixture(scope="module")
def light() -> dict[str, str]:
    """What theme.css says for a light page."""
    first = CSS.read_text(encoding="utf-8").split("}")[0]
    return {
        name: " ".join(text.split()) for name, text in re.findall(r"--([\w-]+):([^;]+);", first)
    }


@pytest.mark.parametrize("name", style.ROLES)
def test_roles(light: dict[str, str], name: str) -> None:
    role = style.role(name)
    assert (light[f"{name}-fill"], light[f"{name}-ink"]) == (role.fill, role.ink)


@pytest.mark.parametrize(("name", "scale"), [("signed", style.SIGNED), ("share", style.SHARE)])
def test_scales(light: dict[str, str], name: str, scale: object) -> None:
    stops = light[name].split()
    assert callable(scale)
    for place, stop in enumerate(stops):
        # A stop may lie between two of the 256 colours of the figures' table.
        assert to_rgb(stop) == pytest.approx(scale(place / (len(stops) - 1))[:3], abs=0.012)


def test_heads(light: dict[str, str]) -> None:
    assert tuple(light["heads"].split()) == style.HEADS
