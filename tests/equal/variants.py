"""Settings of networks that are not the paper's, by name: each idea in one of them at least."""

from __future__ import annotations

from typing import Any

VARIANTS: dict[str, dict[str, Any]] = {
    "rotary": {"positions": {"layout": "rotary"}, "head_width": 6, "norm": "pre"},
    "alibi": {"positions": {"layout": "alibi"}, "normalization": "rms"},
    "relative": {"positions": {"layout": "relative", "reach": 2}, "key_value_heads": 1},
    "none": {"positions": {"layout": "none"}, "gated": True, "activation": "silu"},
    "sine": {"positions": {"layout": "sine", "combine": "multiply", "amplitude": 0.7}},
    "concatenate": {"positions": {"combine": "concatenate", "offset": 2}, "ablate": ["residual"]},
    "normed": {"embedding_norm": True, "norm": "pre", "activation": "gelu"},
    "grouped": {"heads": 4, "key_value_heads": 2, "ablate": ["scale"], "gated": True},
    "bare": {"ablate": ["norm", "feed_forward"], "norm": "pre"},
    "local": {"attention": {"pattern": "local", "width": 2}, "norm": "pre"},
    "local-alibi": {
        "attention": {"pattern": "local", "width": 1},
        "positions": {"layout": "alibi"},
        "ablate": ["scale"],
    },
    "local-rotary": {
        "attention": {"pattern": "local", "width": 2},
        "positions": {"layout": "rotary"},
        "head_width": 6,
        "key_value_heads": 1,
        "ablate": ["scale"],
    },
    "local-relative": {
        "attention": {"pattern": "local", "width": 1},
        "positions": {"layout": "relative", "reach": 1},
        "ablate": ["scale"],
    },
    "ssru": {"decoder": "ssru"},
    "ssru-local": {
        "decoder": "ssru",
        "norm": "pre",
        "attention": {"pattern": "local", "width": 2},
        "positions": {"layout": "relative", "reach": 2},
    },
    "strided": {"attention": {"pattern": "strided", "width": 1, "stride": 3}, "gated": True},
    "global+local": {
        "attention": {"pattern": "global+local", "width": 1, "globals": 2},
        "gated": True,
        "activation": "gelu",
    },
}
