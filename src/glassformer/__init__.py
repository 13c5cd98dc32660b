"""Train, run and look inside your own translation Transformer.

Each name is imported at its first use, so that `import glassformer` takes no time.
`train` and `evaluate` are packages: `from glassformer.train import train`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .foundation.lazy import import_lazily
from .foundation.machine.openmp import wait_briefly
from .foundation.version import __version__ as __version__

if TYPE_CHECKING:
    from .config import Config, Decode
    from .foundation.tap import record
    from .see.trace import Trace
    from .translate.language_model import LanguageModel
    from .translator import Scored, Translation, Translator

__all__ = [
    "Config",
    "Decode",
    "LanguageModel",
    "Scored",
    "Trace",
    "Translation",
    "Translator",
    "record",
]

wait_briefly()

_HOMES = {
    "config": ("Config", "Decode"),
    "translate.language_model": ("LanguageModel",),
    "see.trace": ("Trace",),
    "foundation.tap": ("record",),
    "translator": ("Scored", "Translation", "Translator"),
}

__getattr__ = import_lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
