"""What C is pointed at."""

from __future__ import annotations

import pytest
import torch

from glassformer.engine.kernels.calls import call, point, point_apart


@pytest.mark.parametrize(
    "view",
    [torch.ones(1).expand(4), torch.ones(4, 4).T, torch.ones(4, 4)[:, 1], torch.ones(9)[::2]],
    ids=["repeated", "turned", "a column", "every other"],
)
def test_a_view_is_refused(view: torch.Tensor) -> None:
    """It would be read as if it had no gaps."""
    with pytest.raises(ValueError, match="strides"):
        point(view)
    with pytest.raises(ValueError, match="strides"):
        call(lambda *given: 0, view)


def test_other_numbers_are_refused() -> None:
    """They would be read as if each had as many bytes, or as if they were here."""
    with pytest.raises(ValueError, match=r"int32 on cpu: it wants torch\.int64"):
        point(torch.ones(3, dtype=torch.int32), torch.int64)
    elsewhere = torch.ones(3, device="meta")
    for give in (point, point_apart, lambda x: call(lambda *given: 0, x)):
        with pytest.raises(ValueError, match="meta"):
            give(elsewhere)


def test_what_has_no_gaps_is_pointed_at() -> None:
    x = torch.arange(12).view(3, 4)
    assert point(x) == x.data_ptr() and point(x[1:]) == x.data_ptr() + 4 * x.element_size()


def test_no_room_is_an_error() -> None:
    with pytest.raises(MemoryError):
        call(lambda *given: 1, torch.ones(3))
