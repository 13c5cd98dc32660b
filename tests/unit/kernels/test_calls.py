"""What C is pointed at."""

from __future__ import annotations

import pytest
import torch

from glassformer.kernels.calls import call, point


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


def test_what_has_no_gaps_is_pointed_at() -> None:
    x = torch.arange(12).view(3, 4)
    assert point(x) == x.data_ptr() and point(x[1:]) == x.data_ptr() + 4 * x.element_size()


def test_no_room_is_an_error() -> None:
    with pytest.raises(MemoryError):
        call(lambda *given: 1, torch.ones(3))
