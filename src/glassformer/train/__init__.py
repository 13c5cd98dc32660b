"""Training (section 5 of the paper): from a parallel corpus to a model directory.

Each name is imported at its first use, so that what training left behind is read without PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation.lazy import import_lazily

if TYPE_CHECKING:
    from .plan.goal import Goal
    from .plan.hooks import Event, Hooks, load_plugin
    from .seeds import resume_seeds, train_seeds
    from .start import Summary, resume, train

__all__ = [
    "Event",
    "Goal",
    "Hooks",
    "Summary",
    "load_plugin",
    "resume",
    "resume_seeds",
    "train",
    "train_seeds",
]

_HOMES = {
    "plan.goal": ("Goal",),
    "plan.hooks": ("Event", "Hooks", "load_plugin"),
    "seeds": ("resume_seeds", "train_seeds"),
    "start": ("Summary", "resume", "train"),
}

__getattr__ = import_lazily(__name__, _HOMES)
