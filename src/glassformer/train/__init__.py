"""The paper's section 5: a corpus in, a model directory out."""

from .averaging import average
from .goal import Goal
from .start import Summary, resume, train

__all__ = ["Goal", "Summary", "average", "resume", "train"]
