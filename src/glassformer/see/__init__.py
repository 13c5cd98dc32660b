"""Looking inside: one real translation recorded, every number of it explained, and what if.

recording   run a translation and keep what passed; the only place here that runs the network
trace       what was kept: tensors, tokens, predictions, the search; on disk, `files`
opgraph     how each tensor is made of others, declared once; `recompute` follows it in NumPy
explain     where one number comes from; `wording` says it as text, LaTeX and code
notebook    how a trace shows itself there
derive      what can be computed from a trace, and is named so
edit        what if: a head silenced, a word swapped; `whatif` compares before and after

Each name is imported when it is first asked for: whoever only reads a trace needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .document import Token
    from .explain import Explanation
    from .recording import record
    from .trace import Trace
    from .whatif import EditEffect, compare_traces

__all__ = ["EditEffect", "Explanation", "Token", "Trace", "compare_traces", "record"]

_HOMES = {
    "document": ("Token",),
    "explain": ("Explanation",),
    "recording": ("record",),
    "trace": ("Trace",),
    "whatif": ("EditEffect", "compare_traces"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
