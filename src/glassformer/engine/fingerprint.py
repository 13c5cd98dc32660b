"""The fingerprint of `model/`: the engine in C computes the network whose code has this one.

Whoever changes `model/` gets the network as changed, in PyTorch, and is told so once.
"""

import sys
from functools import cache
from pathlib import Path

from ..foundation.hashing import sha256_hex

MODEL = Path(__file__).parents[1] / "model"
FINGERPRINT = "bd841b56caa4d8cc"  # tests/house/test_fingerprint.py says what to do when it differs


@cache
def is_model_unchanged() -> bool:
    """Return whether `model/` is the network that the engine in C computes; if not, say so once."""
    is_unchanged = take_model_fingerprint() == FINGERPRINT
    if not is_unchanged:
        message = (
            "the code in model/ was changed: the network translates as it is, in PyTorch, slower"
        )
        print(f"glassformer: {message}", file=sys.stderr)
    return is_unchanged


def take_model_fingerprint() -> str:
    """Return a hash of the code in `model/`, the same for all ends of lines."""
    code = [
        f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in sorted(MODEL.glob("*.py"))
    ]
    return sha256_hex("".join(code).encode())[:16]
