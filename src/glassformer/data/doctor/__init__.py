"""What is wrong with a parallel corpus, and where: to be known before anything is trained."""

from .examination import examine
from .mending import fix
from .partners import explain_inequality
from .report import Finding, Report

__all__ = ["Finding", "Report", "examine", "explain_inequality", "fix"]
