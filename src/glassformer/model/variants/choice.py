"""The module of each part that the settings ask for: the paper's, or a variant of it."""

from torch import nn

from ...config import Model
from ..attention import MultiHeadAttention
from ..embedding import Embedding
from ..feed_forward import FeedForward
from ..residual import Residual
from .attention import VariedAttention, VariedSelfAttention
from .embedding import BareEmbedding, MixedEmbedding, NormedEmbedding, begin_with_zeros
from .gated import GatedFeedForward
from .left_out import LeftOut, WithoutResidual

Table = nn.Embedding


def make_embedding(table: Table, settings: Model) -> Embedding | BareEmbedding:
    """Return the embedding of one side, with position vectors or without."""
    if settings.decoder == "ssru":
        begin_with_zeros(table)
    if not settings.positions.are_vectors:
        return BareEmbedding(table, settings)
    if settings.embedding_norm:
        return NormedEmbedding(table, settings)
    kind = Embedding if settings.positions.combine == "add" else MixedEmbedding
    return kind(table, settings)


def make_attention(settings: Model) -> MultiHeadAttention:
    """Return the attention to another sequence, in which no position is told."""
    is_varied = settings.key_value_heads is not None or "scale" in settings.ablate
    return VariedAttention(settings) if is_varied else MultiHeadAttention(settings)


def make_self_attention(settings: Model, *, is_causal: bool) -> MultiHeadAttention:
    """Return the attention of a sequence to itself; if causal, to what stands before."""
    if settings.positions.are_distances or settings.attention.pattern != "full":
        return VariedSelfAttention(settings, is_causal=is_causal)
    return make_attention(settings)


def make_feed_forward(settings: Model) -> nn.Module:
    """Return the feed-forward network, or an empty place."""
    if "feed_forward" in settings.ablate:
        return nn.Identity()
    return GatedFeedForward(settings) if settings.gated else FeedForward(settings)


def make_residual(settings: Model, sublayer: str = "attention") -> nn.Module:
    """Return the residual connection around a sub-layer."""
    if sublayer in settings.ablate:
        return LeftOut()
    return WithoutResidual(settings) if "residual" in settings.ablate else Residual(settings)
