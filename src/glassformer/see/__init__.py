"""Look inside one real translation: record it, explain each of its numbers, and edit it.

recording   translate, run the network once more and keep its tensors
recorded    the data of a recording: tensors, tokens, predictions, the search
trace       a recording with what can be done with it; `files` stores it on disk
opgraph     the equation of each tensor; `recompute` evaluates equations in NumPy
explain     how one number was computed; `wording` writes it as text, LaTeX and code
derive      tensors and measures that are computed from a trace
edit        changes, such as a head silenced or a word swapped; `whatif` compares the results

Each name is imported at its first use, so that reading a trace needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation.lazy import import_lazily

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

__getattr__ = import_lazily(__name__, _HOMES)
