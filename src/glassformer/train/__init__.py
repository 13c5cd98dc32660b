"""Training (section 5 of the paper): from a parallel corpus to a model directory."""

from .averaging import average
from .goal import Goal
from .start import Summary, resume, train

__all__ = ["Goal", "Summary", "average", "resume", "train"]
