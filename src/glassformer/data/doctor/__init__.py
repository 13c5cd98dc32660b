"""Checks of a parallel corpus that find errors, and where they are, before training."""

from .examination import examine
from .mending import fix, realign
from .partners import explain_inequality
from .report import Finding, Report

__all__ = ["Finding", "Report", "examine", "explain_inequality", "fix", "realign"]
