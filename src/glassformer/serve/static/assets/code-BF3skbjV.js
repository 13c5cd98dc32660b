var e={attention:`"""Multi-head attention (paper 3.2).

Letters: B sentences; Q query positions; M memory positions, that is of keys and values;
L positions of either; R rows of a search; D model width; H heads; K width of one head.
"""

import math

from torch import Tensor, nn

from ..config import Model
from ..tap import Watchable, tap
from .kv_cache import KVCache


class MultiHeadAttention(Watchable):
    """H attention heads side by side, each in a subspace of width K (3.2.2).

    One class serves the paper's three uses (3.2.3): queries come from \`x\`, keys and values come
    from \`memory\`, and the caller decides what these are.
    """

    def __init__(self, settings: Model):
        super().__init__()
        d_model, all_heads = settings.d_model, settings.heads * settings.width
        self.heads = settings.heads
        self.to_query = nn.Linear(d_model, all_heads)  # the W_Q of all heads, stacked
        self.to_key = nn.Linear(d_model, all_heads)
        self.to_value = nn.Linear(d_model, all_heads)
        self.to_output = nn.Linear(all_heads, d_model)  # W_O
        self.dropout = nn.Dropout(settings.attention_dropout)

    @property
    def cached_heads(self) -> int:
        """Return how many heads a KV cache has memory for."""
        return self.heads

    def forward(self, x_BQD: Tensor, memory_BMD: Tensor, mask: Tensor) -> Tensor:
        """Return the attention output, B Q D. \`mask\` is True where a query may attend to a key."""
        return self.attend_to(x_BQD, self.keys_values(memory_BMD), mask)

    def step(self, x_RQD: Tensor, cache: KVCache, mask: Tensor) -> Tensor:
        """Return the self-attention of the newest positions, R Q D; \`cache\` gets their keys and
        values, and has those of all others."""
        return self.attend_to(x_RQD, cache.append(*self.keys_values(x_RQD)), mask)

    def keys_values(self, memory_BMD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and the values of \`memory\`, each B H M K."""
        return (
            tap(self, "key", self._split(self.to_key(memory_BMD))),
            tap(self, "value", self._split(self.to_value(memory_BMD))),
        )

    def attend_to(self, x_BQD: Tensor, keys_values: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """Attend from \`x\` to keys and values that are already computed; return B Q D.

        Decoding keeps them from step to step.
        """
        q_BHQK = tap(self, "query", self._split(self.to_query(x_BQD)))
        z_BHQK = tap(self, "context", self.attend(q_BHQK, *keys_values, mask))
        return tap(self, "output", self.to_output(z_BHQK.transpose(1, 2).flatten(2)))

    def attend(self, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor) -> Tensor:
        """Compute softmax(Q Kᵀ / √d_k) V, B H Q K: equation 1, one step on each line."""
        scores_BHQM = q_BHQK @ k_BHMK.mT / math.sqrt(q_BHQK.size(-1))
        scores_BHQM = tap(self, "scores", scores_BHQM)
        masked_BHQM = scores_BHQM.masked_fill(~tap(self, "mask", mask), -math.inf)
        weights_BHQM = tap(self, "weights", masked_BHQM.softmax(-1))
        return self.dropout(weights_BHQM) @ v_BHMK

    def _split(self, x_BLD: Tensor) -> Tensor:
        return x_BLD.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # B H L K
`,embedding:`"""Token embeddings (paper 3.4), to which position vectors are added (3.5).

Letters: B sentences; L positions; D model width.
"""

import math

import torch
from torch import Tensor, nn

from ..config import Model
from ..tap import Watchable, tap
from .positions import check_reach, sinusoids


class Embedding(Watchable):
    """The sum of scaled token embeddings and position vectors.

    Source and target have one each; both may share one table.
    """

    positions_LD: Tensor

    def __init__(self, table: nn.Embedding, settings: Model):
        super().__init__()
        self.table = table  # row i is one-hot(i) times this matrix
        self.dropout = nn.Dropout(settings.dropout)
        if settings.positions.layout == "learned":
            self.positions_LD = nn.Parameter(
                torch.empty(settings.positions.max_positions, settings.d_model)
            )
            nn.init.normal_(self.positions_LD, std=settings.d_model**-0.5)
        else:
            positions_LD = sinusoids(settings.positions, settings.d_model).float()
            self.register_buffer("positions_LD", positions_LD, persistent=False)

    def forward(self, ids_BL: Tensor, position_BL: Tensor | None = None) -> Tensor:
        """Return the sum of token and position vectors, B L D, after dropout.

        Without \`position_BL\`, positions count from 0.
        """
        words_BLD = tap(self, "embedded", self.table(ids_BL) * math.sqrt(self.table.embedding_dim))
        if position_BL is None:
            check_reach(ids_BL.size(1), len(self.positions_LD))
            places = self.positions_LD[: ids_BL.size(1)]
        else:
            places = self.positions_LD[position_BL]
        mixed_BLD = self.mix(words_BLD, tap(self, "positions", places))
        return tap(self, "sum", self.dropout(mixed_BLD))

    def mix(self, words_BLD: Tensor, places_LD: Tensor) -> Tensor:
        """Return the sum of both, B L D."""
        return words_BLD + places_LD
`,feed_forward:`"""The position-wise feed-forward network (paper 3.3).

Letters: B sentences; L positions; D model width; F inner width.
"""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional

from ..config import Model
from ..tap import Watchable, tap

Activation = Callable[[Tensor], Tensor]
NAMES = "relu", "silu", "gelu"
ACTIVATIONS: dict[str, Activation] = {name: getattr(functional, name) for name in NAMES}


class FeedForward(Watchable):
    """The network max(0, x W₁ + b₁) W₂ + b₂, which is applied to each position separately.

    The settings may name another activation than the paper's max(0, x).
    """

    def __init__(self, settings: Model):
        super().__init__()
        self.inner = nn.Linear(settings.d_model, settings.d_ff)
        self.outer = nn.Linear(settings.d_ff, settings.d_model)
        self.activation = ACTIVATIONS[settings.activation]
        self.dropout = nn.Dropout(settings.activation_dropout)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Return the network's output, B L D."""
        inner_BLF = tap(self, "inner", self.inner(x_BLD))
        hidden_BLF = tap(self, "hidden", self.activation(inner_BLF))
        return tap(self, "output", self.outer(self.dropout(hidden_BLF)))
`,layers:`"""The encoder layer and the decoder layer (paper 3.1, figure 1).

Letters: B sentences; R rows of a search; Q new positions; S source; T target; L any length;
D model width.
"""

from torch import Tensor

from ..config import Model
from ..tap import Watchable
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
        y_BTD = self.self_attention_residual(y_BTD, lambda y: self.self_attention(y, y, mask))
        y_BTD = self.cross_attention_residual(
            y_BTD, lambda y: self.cross_attention(y, memory_BSD, source_mask)
        )
        return self.feed_forward_residual(y_BTD, self.feed_forward)

    def remember(self, memory_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cross-attention's keys and values of memory, computed once for all steps."""
        return self.cross_attention.keys_values(memory_BSD)

    def step(self, y_RQD: Tensor, cache: KVCache, mask: Tensor, source_mask: Tensor) -> Tensor:
        """Return the output for the newest positions, R Q D; \`cache\` has the keys and values of all
        others and gets those of the newest."""

        def look_at_source(y_RQD: Tensor) -> Tensor:
            # The rows of a sentence share its memory, as if they were its query positions.
            y_BQD = y_RQD.reshape(source_mask.size(0), -1, y_RQD.size(-1))
            z_BQD = self.cross_attention.attend_to(y_BQD, cache.source, source_mask)
            return z_BQD.view_as(y_RQD)

        y_RQD = self.self_attention_residual(
            y_RQD, lambda y: self.self_attention.step(y, cache, mask)
        )
        y_RQD = self.cross_attention_residual(y_RQD, look_at_source)
        return self.feed_forward_residual(y_RQD, self.feed_forward)
`,masks:`"""Attention masks (paper 3.2.3). True means that the query may attend to the key.

Letters: B sentences; R rows of a search; Q new positions; M memory positions; T target.
"""

import torch
from torch import Tensor

from ..config import PAD, AttentionPattern


def padding_mask(ids_BM: Tensor) -> Tensor:
    """Return the mask that hides padding, B 1 1 M: the same for every head and every query."""
    return (ids_BM != PAD)[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Return a lower triangle, 1 1 T T: each position attends to itself and to those before it."""
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def target_mask(ids_BT: Tensor, attention: AttentionPattern) -> Tensor:
    """Return the mask of a decoder's self-attention, B 1 T T, for what comes before and no padding.

    Attention that follows a pattern hides by itself what comes after: for that it is B 1 1 T.
    """
    if attention.pattern != "full":
        return padding_mask(ids_BT)
    return causal_mask(ids_BT.size(1), ids_BT.device) & padding_mask(ids_BT)


def cached_mask(length_R: Tensor, queries: int, capacity: int) -> Tensor:
    """Return the causal mask, R 1 Q M, of \`queries\` new positions in each row.

    Row r already holds length_R[r] positions.
    """
    last_RQ = length_R[:, None] + torch.arange(queries, device=length_R.device)
    return torch.arange(capacity, device=length_R.device) <= last_RQ[:, None, :, None]
`,positions:`"""Positional encoding (paper 3.5), in the paper's layout and in Tensor2Tensor's.

Tables are computed in float64, where the angles of late positions are still exact; the caller
keeps one fp32 table.

Letters: L positions; D model width; I = D / 2 frequencies.
"""

import math

import torch
from torch import Tensor

from ..config import Positions

BASE = 10000.0


def rates(d_model: int, grid: str = "paper") -> Tensor:
    """Return the angle between neighbouring positions, in radians, for each frequency.

    The shape is I, the type float64. "paper": BASE^(-2i/D), so that the slowest wave stays above
    1/BASE. "tensor2tensor": BASE^(-i/(D/2-1)), so that the slowest is 1/BASE exactly. Neither is
    a reordering of the other.
    """
    i_I = torch.arange(d_model // 2, dtype=torch.float64, device="cpu")
    steps = d_model / 2 if grid == "paper" else max(d_model // 2 - 1, 1)
    return torch.exp(-math.log(BASE) * i_I / steps)


def check_reach(tokens: int, longest: int) -> None:
    """Raise ValueError where there are more tokens than positions."""
    if tokens > longest:
        raise ValueError(f"{tokens} tokens, but positions.max_positions={longest}")


def sinusoids(settings: Positions, d_model: int) -> Tensor:
    """Return the vectors of the first \`settings.max_positions\` positions, L D, in float64.

    "interleaved" (the paper): dimension 2i is the sine, 2i+1 the cosine of frequency i.
    "concatenated" (Tensor2Tensor): all sines, then all cosines. "sine" (to see what the cosines
    are for): sines alone, of D frequencies.
    """
    position_L = (
        torch.arange(settings.max_positions, dtype=torch.float64, device="cpu") + settings.offset
    )
    width = 2 * d_model if settings.layout == "sine" else d_model
    angle_LI = position_L[:, None] * rates(width, settings.grid)
    waves = (angle_LI.sin(), angle_LI.cos())
    if settings.layout == "interleaved":
        table_LD = torch.stack(waves, dim=-1).flatten(1)
    elif settings.layout == "sine":
        table_LD = waves[0]
    else:
        table_LD = torch.cat(waves, dim=-1)
    return table_LD * settings.amplitude
`};function t(e,t){let n=e.split(`
`),r=n.findIndex(e=>e.trimStart().startsWith(`def ${t}(`));if(r<0)throw Error(`there is no ${t}`);let i=n[r].search(/\S/),a=r;for(;n[a].trimEnd().endsWith(`:`)===!1;)a++;let o=a+1,s=e=>!e.trim()||e.search(/\S/)>i;for(;o<n.length&&s(n[o]);)o++;let c=n.slice(a+1,o).join(`
`).replace(/^\s*"""[^]*?"""\n/,``);return[...n.slice(r,a+1),...c.split(`
`)].map(e=>e.slice(i)).join(`
`).trimEnd()}export{t as n,e as t};