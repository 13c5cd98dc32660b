"""A question's answer in translation: the size tiny, trained and scored with glassformer itself."""

from __future__ import annotations

import argparse
import json
import time
from hashlib import sha256
from typing import Any

import sacrebleu

from glassformer.config import Config
from glassformer.train import train
from glassformer.translator import Translator


def measure_translation(
    options: argparse.Namespace, changes: dict[str, Any], seed: int
) -> dict[str, float]:
    """Train English to German for `options.steps` updates; return BLEU on test2016 and the cost.

    `exact` is the share of sentences that are the reference, `tokens` is BLEU.
    """
    if options.data is None or options.out is None:
        raise ValueError("multi30k needs --data and --out")
    name = sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()[:8]
    out = options.out / f"{name}-{seed}"
    config = Config.read(
        {
            "recipe": "paper",
            "size": "tiny",
            "model": {"norm": "pre", **changes},
            "data": {"source_lang": "en", "target_lang": "de"},
            "train": {"steps": options.steps, "seed": seed, "warmup": max(1, options.steps // 20)},
        }
    )
    began = time.process_time()
    summary = train(config, [options.data / "train"], out, valid=[options.data / "valid"])
    if not summary.is_finished:
        raise ValueError(f"{out}: {summary.text}")
    seconds = time.process_time() - began
    source, wanted = (
        (options.data / f"test2016.{end}").read_text(encoding="utf-8").splitlines()
        for end in ("en", "de")
    )
    found = Translator.load(out, precision="fp32").translate(source)
    right = sum(a == b for a, b in zip(found, wanted, strict=True))
    return {
        "exact": 100 * right / len(wanted),
        "tokens": sacrebleu.corpus_bleu(found, [wanted]).score,
        "loss": round(summary.to_json()["scores"]["loss"], 4),
        "parameters": sum(p.numel() for p in Translator.load(out).model.parameters()),
        "milliseconds": round(1000 * seconds / options.steps, 2),
    }
