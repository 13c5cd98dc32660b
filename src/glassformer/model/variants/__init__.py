"""Variants of the Transformer's parts: changes of later work, and parts left out, one idea a file.

A network has these modules only where its settings ask for them; the paper's own are beside this
folder. Read them first.
"""

from .choice import (
    make_attention,
    make_embedding,
    make_feed_forward,
    make_residual,
    make_self_attention,
)

__all__ = [
    "make_attention",
    "make_embedding",
    "make_feed_forward",
    "make_residual",
    "make_self_attention",
]
