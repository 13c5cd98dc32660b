"""Answer a question in translation: train and score the size tiny with glassformer itself.

English to German, pre-norm, 4 layers a side of width 128: what is asked is changed in that network.
All have the same tokens, batches, optimizer and number of updates.
"""

from __future__ import annotations

import argparse
import json
import time
from hashlib import sha256
from typing import Any

from glassformer.config import Config
from glassformer.train import train
from glassformer.train.publish.card import read_facts

Setting = tuple[str, str, dict[str, Any]]  # what it is called in English and Chinese; changes

TINY: Setting = ("tiny: 4 layers, 4 heads, d_ff 256", "tiny：4 层，4 个头，d_ff 256", {})
UNPLACED: Setting = ("without positions", "没有位置", {"positions": {"layout": "none"}})

# The settings of each question that differed most in the small tasks, and what they begin from.
TRANSLATION: dict[str, list[Setting]] = {
    "V107": [
        ("added", "相加", {}),
        ("multiplied", "相乘", {"positions": {"combine": "multiply"}}),
        ("concatenated", "拼接", {"positions": {"combine": "concatenate"}}),
        UNPLACED,
    ],
    "V108": [
        ("sine and cosine", "正弦和余弦", {}),
        ("sine alone", "只有正弦", {"positions": {"layout": "sine"}}),
    ],
    "V109": [
        TINY,
        ("2 layers a side", "每侧 2 层", {"encoder_layers": 2, "decoder_layers": 2}),
        ("1 head, d_k 128", "1 个头，d_k 128", {"heads": 1}),
        ("1 head, d_k 8", "1 个头，d_k 8", {"heads": 1, "head_width": 8}),
    ],
    "V110": [TINY, ("without feed-forward", "没有前馈层", {"ablate": ["feed_forward"]})],
    "V111": [
        ("amplitude 0.1", "幅度 0.1", {"positions": {"amplitude": 0.1}}),
        ("amplitude 1", "幅度 1", {}),
        ("amplitude 3", "幅度 3", {"positions": {"amplitude": 3.0}}),
        ("amplitude 10", "幅度 10", {"positions": {"amplitude": 10.0}}),
    ],
    "parts": [
        TINY,
        ("without residuals", "没有残差", {"ablate": ["residual"]}),
        ("without norms", "没有归一化", {"ablate": ["norm"]}),
        ("without 1/√d_k", "不除以 √d_k", {"ablate": ["scale"]}),
        UNPLACED,
    ],
}


def measure_translation(
    options: argparse.Namespace, changes: dict[str, Any], seed: int, steps: int
) -> dict[str, float | None]:
    """Train for so many updates; return BLEU and loss on test2016, and the cost.

    That text is validated on once, after the last update, by greedy search: nothing is chosen by
    it. The time, of the processor, is of the whole training with the reading of the corpus. A
    training that diverges has a BLEU of 0, and no loss.
    """
    if options.data is None or options.out is None:
        raise ValueError("multi30k needs --data and --out")
    name = sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()[:8]
    out = options.out / f"{name}-{steps}-{seed}"
    config = make_config(changes, steps, seed)
    files, valid = (
        [options.data / f"{part}.{lang}" for lang in ("en", "de")] for part in ("train", "test2016")
    )
    began = time.process_time()
    try:
        summary = train(config, files, out, valid=valid, quiet=True)
    except ValueError as error:
        if "has diverged" not in str(error):
            raise
        return {"steps": steps, "bleu": 0.0, "loss": None}
    seconds = time.process_time() - began
    if not summary.is_finished:
        raise ValueError(f"{out}: {summary.text}")
    facts = read_facts(out)
    return {
        "steps": steps,
        "bleu": round(facts["scores"]["BLEU"], 2),
        "loss": round(facts["scores"]["loss"], 4),
        "parameters": facts["parameters"],
        "milliseconds": round(1000 * seconds / steps, 2),
    }


def make_config(changes: dict[str, Any], steps: int, seed: int) -> Config:
    """Return the settings of a training with these changes of the network."""
    return Config.read(
        {
            "size": "tiny",
            "model": {"norm": "pre", "dropout": 0.1, **changes},
            "data": {"source_lang": "en", "target_lang": "de"},
            "text": {"vocabulary": 4000},
            "train": {
                "steps": steps,
                "seed": seed,
                "batch_tokens": 1024,
                "pad_to": 4,
                "optimizer": "muon",
                "learning_rate": 0.008,
                "warmup": max(1, steps // 5),
                "schedule": "cosine",
                "validate_every": steps,
                "watch": 0,
            },
            "decode": {"search": "greedy"},
        }
    )
