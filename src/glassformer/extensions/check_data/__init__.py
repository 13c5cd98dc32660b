"""Checks of a parallel corpus that find errors, and where they are, before training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.foundation.lazy import import_lazily

if TYPE_CHECKING:
    from .examination import examine
    from .mending import check_kinds, fix, realign
    from .partners import explain_inequality
    from .ranking import choose_best, rank_by_lexicon, rank_by_model, read_amount
    from .report import Finding, Report

VERBS = {"check-data": ("Train", "", "cli.check_data.check_data")}
ADDS = {
    "examine_corpus": "examination.examine",
    "explain_inequality": "partners.explain_inequality",
}

__all__ = [
    "Finding",
    "Report",
    "check_kinds",
    "choose_best",
    "examine",
    "explain_inequality",
    "fix",
    "rank_by_lexicon",
    "rank_by_model",
    "read_amount",
    "realign",
]

_HOMES = {
    "examination": ("examine",),
    "mending": ("check_kinds", "fix", "realign"),
    "partners": ("explain_inequality",),
    "ranking": ("choose_best", "rank_by_lexicon", "rank_by_model", "read_amount"),
    "report": ("Finding", "Report"),
}

__getattr__ = import_lazily(__name__, _HOMES)
