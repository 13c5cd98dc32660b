"""Export of models to ONNX; each is compared with ours in onnxruntime before it is kept.

The folder has encoder.onnx and decoder.onnx, the tokenizer, the settings, the card, and
parity.json. The search stands outside the graphs.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.config import BOS, EOS, PAD
from glassformer.foundation.disk import check_new, prepare_beside
from glassformer.foundation.machine.extras import need
from glassformer.model.files.directory import write_json
from glassformer.model.transformer import Transformer

from .exporting import open_plain, write_companions
from .onnx_graph import build_decoder, build_encoder
from .parity import (
    OUTPUT,
    ROUNDING,
    Parity,
    Progress,
    Rows,
    choose_by_parity,
    score_tokens,
    translate_with,
)

ENCODER, DECODER, PARITY = "encoder.onnx", "decoder.onnx", "parity.json"


def export_onnx(
    model: Path | str,
    out: Path,
    *,
    texts: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Parity:
    """Write `model` as two graphs of ONNX to the new folder `out`; return how they compare.

    Both translate the first 200 of `texts` greedily, or random tokens without texts. ValueError if
    a log-probability differs by more than rounding explains; then nothing is written.
    """
    check_new(out)
    onnx, _ = need("onnx"), need("onnxruntime")
    config, tokenizers, network = open_plain(model, "ONNX export")
    sources = choose_by_parity(config, tokenizers.source, texts)
    with prepare_beside(out) as scratch:
        whole = scratch / "onnx"
        whole.mkdir()
        onnx.save(build_encoder(config.model, network), str(whole / ENCODER))
        onnx.save(build_decoder(config.model, network), str(whole / DECODER))
        parity = _compare(whole, network, sources, progress)
        parity.check()
        parity = replace(parity, tag=config.data.tag)
        write_companions(whole, model, config, tokenizers)
        write_json(whole / PARITY, asdict(parity))
        whole.rename(out)
    return parity


def _compare(
    folder: Path, network: Transformer, sources: Rows, progress: Progress | None
) -> Parity:
    """Score our greedy translations with both, step by step, and see what theirs would be."""
    ours = translate_with(network, sources, "greedy", progress)
    tokens = score_tokens(network, sources, ours)
    steps = OnnxSteps(folder)
    longest = min(OUTPUT, network.settings.positions.max_positions - 1)
    apart, different = [], 0
    for source, target, log_probs in zip(sources, ours, tokens, strict=True):
        result, greedy = steps.score([*source, EOS], target)
        apart += [abs(a - b) for a, b in zip(result, log_probs, strict=True)]
        ended = [*target, EOS] if len(target) < longest else target
        different += greedy[: len(ended)] != ended
        if progress:
            progress(1)
    largest = max(1.0, *(abs(each) for row in tokens for each in row))
    return Parity(
        quantization="float32",
        sentences=len(sources),
        tokens=len(apart),
        largest_difference=max(apart),
        mean_difference=sum(apart) / len(apart),
        allowed=ROUNDING * largest,
        different={"greedy": different},
        ties={"greedy": 0},
    )


class OnnxSteps:
    """An exported model in onnxruntime, one step at a time."""

    def __init__(self, folder: Path) -> None:
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = 1
        self.encoder, self.decoder = (
            InferenceSession(folder / name, options, providers=["CPUExecutionProvider"])
            for name in (ENCODER, DECODER)
        )
        self.memory = [each.name for each in self.encoder.get_outputs()]
        self.past = {
            each.name: np.zeros((1, each.shape[1], 0, each.shape[3]), np.float32)
            for each in self.decoder.get_inputs()
            if each.name.startswith("past_")
        }

    def score(self, source: Sequence[int], target: Sequence[int]) -> tuple[list[float], list[int]]:
        """Return the log-probability of each token and of EOS, and the likeliest at each place."""
        fed: dict[str, Any] = {"source_ids": np.array([source], np.int64), **self.past}
        memory_BSD = self.encoder.run(self.memory, {"source_ids": fed["source_ids"]})
        fed |= dict(zip(self.memory, memory_BSD, strict=True))
        log_probs, greedy = [], []
        for inputs, expected in zip([BOS, *target], [*target, EOS], strict=True):
            fed["token_ids"] = np.array([[inputs]], np.int64)
            (logits,), *present = self.decoder.run(None, fed)
            fed |= dict(zip(self.past, present, strict=True))
            high = logits.max()
            log_probs.append(float(logits[expected] - high - np.log(np.exp(logits - high).sum())))
            logits[[PAD, BOS]] = -np.inf
            greedy.append(int(logits.argmax()))
        return log_probs, greedy
