"""The engine in C computes the network of `model/` as it stands there."""

from __future__ import annotations

from glassformer.engine.fingerprint import FINGERPRINT, take_model_fingerprint


def test_the_engine_in_c_knows_the_code_of_the_model() -> None:
    found = take_model_fingerprint()
    assert found == FINGERPRINT, (
        "model/ has changed: make engine/native/ compute the same, let tests/unit/engine and "
        f"tests/equal pass, then write {found} into engine/fingerprint.py"
    )
