"""Folders that are prepared beside the place where they are to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.foundation.disk import prepare_beside


def test_what_a_killed_process_has_left_is_gone(tmp_path: Path) -> None:
    out = tmp_path / "new" / "model"
    left = out.with_name("model.partial") / "half"
    left.mkdir(parents=True)
    with prepare_beside(out) as scratch:
        assert [*scratch.iterdir()] == []
        (scratch / "whole").mkdir()
        (scratch / "whole").rename(out)
    assert [path.name for path in out.parent.iterdir()] == ["model"]


def test_nothing_is_left_of_what_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="wrong"), prepare_beside(tmp_path / "model") as scratch:
        (scratch / "file").write_text("half", encoding="utf-8")
        raise ValueError("wrong")
    assert [*tmp_path.iterdir()] == []
