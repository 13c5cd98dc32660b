"""Patterns of sparse attention: which positions of its own sequence a position attends to.

Local and strided: Child et al. 2019; with global positions: Beltagy et al. 2020.

Letters: B sentences; Q query positions; M memory positions.
"""

from torch import Tensor

from ...config import AttentionPattern


def pattern_mask(settings: AttentionPattern, query_BQ: Tensor, key_BM: Tensor) -> Tensor:
    """Return where the pattern lets a position attend to another, B 1 Q M, by their numbers."""
    q_BQM, m_BQM = query_BQ[:, :, None], key_BM[:, None, :]
    mask_BQM = (q_BQM - m_BQM).abs() <= settings.width
    if settings.pattern == "strided":
        mask_BQM = mask_BQM | ((q_BQM - m_BQM) % settings.stride == 0)
    if settings.pattern == "global+local":
        mask_BQM = mask_BQM | (q_BQM < settings.globals) | (m_BQM < settings.globals)
    return mask_BQM[:, None]
