"""The encoder layer and the decoder layer (paper 3.1, figure 1).

Letters: B sentences; R rows of a search; Q new positions; S source; T target; L any length;
D model width.
"""

from torch import Tensor

from ..config import Model
from ..foundation.tap import Watchable
from .kv_cache import KVCache
from .variants import make_attention, make_feed_forward, make_residual, make_self_attention


class EncoderLayer(Watchable):
    """Self-attention, then the feed-forward network, each in a residual connection."""

    def __init__(self, settings: Model, *, is_causal: bool = False):
        super().__init__()
        self.self_attention = make_self_attention(settings, is_causal=is_causal)
        self.feed_forward = make_feed_forward(settings)
        self.self_attention_residual = make_residual(settings)
        self.feed_forward_residual = make_residual(settings, "feed_forward")

    def forward(self, x_BSD: Tensor, mask: Tensor) -> Tensor:
        """Return the layer's output, B S D."""
        x_BSD = self.self_attention_residual(x_BSD, lambda x: self.self_attention(x, x, mask))
        return self.feed_forward_residual(x_BSD, self.feed_forward)


class DecoderLayer(Watchable):
    """Self-attention, cross-attention and the feed-forward network, each in a residual
    connection."""

    def __init__(self, settings: Model):
        super().__init__()
        self.self_attention = make_self_attention(settings, is_causal=True)
        self.cross_attention = make_attention(settings)
        self.feed_forward = make_feed_forward(settings)
        self.self_attention_residual = make_residual(settings)
        self.cross_attention_residual = make_residual(settings)
        self.feed_forward_residual = make_residual(settings, "feed_forward")

    def forward(
        self, y_BTD: Tensor, memory_BSD: Tensor, mask: Tensor, source_mask: Tensor
    ) -> Tensor:
        """Return the output for all target positions at once, B T D, as training needs it."""
        y_BTD = self.read_target(y_BTD, mask)
        y_BTD = self.cross_attention_residual(
            y_BTD, lambda y: self.cross_attention(y, memory_BSD, source_mask)
        )
        return self.feed_forward_residual(y_BTD, self.feed_forward)

    def read_target(self, y_BTD: Tensor, mask: Tensor) -> Tensor:
        """Return what each position knows of itself and of those before it, B T D."""
        return self.self_attention_residual(y_BTD, lambda y: self.self_attention(y, y, mask))

    def make_cache(self, memory_BSD: Tensor) -> KVCache:
        """Return a cache with the keys and values of memory, computed once for all steps."""
        k_BHSK, v_BHSK = self.cross_attention.keys_values(memory_BSD)
        return KVCache((k_BHSK, v_BHSK), (k_BHSK[:, :, :0], v_BHSK[:, :, :0]))

    def step(self, y_RQD: Tensor, cache: KVCache, mask: Tensor, source_mask: Tensor) -> Tensor:
        """Return the output for the newest positions, R Q D; `cache` has the keys and values of all
        others and gets those of the newest."""

        def look_at_source(y_RQD: Tensor) -> Tensor:
            # The rows of a sentence share its memory, as if they were its query positions.
            y_BQD = y_RQD.reshape(source_mask.size(0), -1, y_RQD.size(-1))
            return self.cross_attention.attend_to(y_BQD, cache.source, source_mask).view_as(y_RQD)

        y_RQD = self.read_newest(y_RQD, cache, mask)
        y_RQD = self.cross_attention_residual(y_RQD, look_at_source)
        return self.feed_forward_residual(y_RQD, self.feed_forward)

    def read_newest(self, y_RQD: Tensor, cache: KVCache, mask: Tensor) -> Tensor:
        """Return what the newest positions know of themselves and of those before, R Q D."""
        attention = self.self_attention
        return self.self_attention_residual(y_RQD, lambda y: attention.step(y, cache, mask))
