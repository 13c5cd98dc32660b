"""Numbers of things, in words."""

import pytest

from glassformer.foundation.plurals import tell_count


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs"), (1000, "1,000 pairs")]
)
def test_one_is_singular(count: int, said: str) -> None:
    assert tell_count(count, "pair") == said
