"""The paper's section 5: a corpus in, a model directory out."""

from .averaging import average
from .start import Summary, resume, train

__all__ = ["Summary", "average", "resume", "train"]
