"""What a recording costs beside a plain translation; the limits are those of two cores."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import pytest

from glassformer.config import Decode
from glassformer.see import record
from glassformer.translator import Translator

DEMO = {"d_model": 64, "d_ff": 128, "heads": 4, "encoder_layers": 6, "decoder_layers": 6}
BASE = {"d_model": 512, "d_ff": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6}
OPEN = {"head_width": None, "positions": {"max_positions": 128}}


def measure(run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(5):
        begun = perf_counter()
        run()
        times.append(perf_counter() - begun)
    return median(times)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "tokens", "limit"), [(DEMO, 12, 0.05), (BASE, 60, 1.0)], ids=["demo", "base"]
)
def test_recording_costs_little(
    make: Callable[..., Translator], shape: dict[str, int], tokens: int, limit: float
) -> None:
    translator = make(**shape, **OPEN)
    text = "a" + " a" * (tokens // 2)
    decode = Decode(beam=4, max_ratio=0.0, max_extra=tokens, min_length=tokens - 1)
    assert len(record(translator, text, decode=decode).target) == tokens
    plain = measure(lambda: translator.search([text], decode=decode, split=False))
    recorded = measure(lambda: record(translator, text, decode=decode))
    assert recorded - plain <= limit
