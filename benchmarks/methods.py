"""Try what methods say: do they name what matters, is a lens near the end, what does ALTI+ notice?

    python -m benchmarks methods MODEL --source FILE [--words 100] [--made 200] [--out FILE]

Sentences of FILE are translated. (1) Of their words, which methods name a source word without which
another token is written? (2) How far are the tuned lens and the logit lens from the last layer, on
sentences that the former was not fitted on? (3) Translations are made up in three ways: that of
another sentence; what the network writes with the whole source hidden from its decoder; what it
writes with the second half hidden (half as long as the plain one at least). Each is read with its
whole source, and ALTI+'s share of the source is compared with the mean log-probability of a token,
the simple rival, by the area under the curve (AUROC): 1 if every made-up translation has a lower
number than every plain one, 0.5 if by chance.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch

from glassformer.config import BOS, EOS
from glassformer.extensions.circuits.edges import WordContrast
from glassformer.extensions.circuits.examples import record_questions
from glassformer.extensions.circuits.lenses import TunedLens, fit_lens
from glassformer.extensions.circuits.methods import compare_methods
from glassformer.extensions.circuits.mixing import keep_windows, list_alti, roll_out_rows
from glassformer.extensions.circuits.words import ask_word
from glassformer.foundation.tap import record
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import write_json
from glassformer.see.derive import group_words
from glassformer.translator import Translator

LEAST, MOST = 5, 15  # words of a sentence
LENS = 200  # sentences for the tuned lens
KINDS = ("another", "hidden", "half")


def read_lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").split("\n")
    return [each for each in lines if LEAST <= len(each.split()) <= MOST]


def try_methods(
    translator: Translator, lines: Sequence[str], words: int, lens: TunedLens
) -> dict[str, Any]:
    """Return how often each method names a word without which another token is written."""
    right, asked = Counter[str](), Counter[str]()
    for line in lines:
        trace = translator.see(line, level="attention")
        for group in group_words(trace.predicted, trace.translation):
            first, last = (trace.predicted[group[n]] for n in (0, -1))
            word = trace.translation[first.start : last.end].strip()
            if asked["words"] == words:
                return {"asked": dict(asked), "right": dict(right)}
            if not word.isalpha() or trace.translation.count(word) != 1:
                continue
            table = compare_methods(trace, ask_word(trace, word), lens)
            asked["words"] += 1
            for cut in ("decoder", "everywhere"):
                changed = [getattr(each, f"{cut}_changed") for each in table.trials]
                asked[cut] += any(changed)
                for answer in table.answers:
                    right[f"{answer.method}, {cut}"] += changed[answer.named]
    return {"asked": dict(asked), "right": dict(right)}


def write_hidden(network: EncoderDecoder, pair: WordContrast, hidden: range) -> tuple[int, ...]:
    """Return what the network writes by itself with source positions hidden from its decoder."""
    least, most = len(pair.given) // 2, 2 * len(pair.source) + 5

    def hide(mask: torch.Tensor) -> torch.Tensor:
        changed = mask.clone()
        changed[..., hidden.start : hidden.stop] = False
        return changed

    layers = range(network.settings.decoder_layers)
    edits = {f"decoder.{n}.cross_attention.mask": hide for n in layers}
    given = [BOS]
    with torch.no_grad():
        while len(given) < most:
            with record(network, lambda name: False, edits) as (view, _):
                logits_V = view(torch.tensor([pair.source]), torch.tensor([given]))[0, -1]
            if len(given) <= least:
                logits_V[EOS] = -torch.inf
            id = int(logits_V.argmax())
            if id == EOS:
                break
            given.append(id)
    return (*given,)


def make_up(
    network: EncoderDecoder, pairs: Sequence[WordContrast]
) -> dict[str, list[WordContrast]]:
    """Return the sentences with translations that are made up, by the way in which they are."""
    found: dict[str, list[WordContrast]] = {kind: [] for kind in KINDS}
    for n, pair in enumerate(pairs):
        words = len(pair.source) - 1  # without EOS
        others = {
            "another": pairs[(n + 1) % len(pairs)].given,
            "hidden": write_hidden(network, pair, range(words)),
            "half": write_hidden(network, pair, range(words // 2, words)),
        }
        for kind, given in others.items():
            if given != pair.given and len(given) > 1:
                found[kind].append(pair._replace(given=given))
    return found


def measure(network: EncoderDecoder, pair: WordContrast) -> tuple[float, float]:
    """Return ALTI+'s mean share of the source, and the mean log-probability of a token."""
    kept = keep_windows(network, pair)
    rows_TN = roll_out_rows(*list_alti(network, kept))
    log_prob_TV = kept["logits"][0][0].log_softmax(-1)
    wanted_T = torch.tensor([*pair.given[1:], EOS])
    log_prob_T = log_prob_TV.gather(-1, wanted_T[:, None])[:, 0]
    return float(rows_TN[:, : len(pair.source)].sum(1).mean()), float(log_prob_T.mean())


def measure_area(made_up: Sequence[float], plain: Sequence[float]) -> float:
    """Return the area under the curve: how often something made up has the lower number."""
    below = np.subtract.outer(np.array(plain), np.array(made_up))
    return float((below > 0).mean() + (below == 0).mean() / 2)


def try_alti(network: EncoderDecoder, pairs: Sequence[WordContrast]) -> dict[str, Any]:
    """Return the areas of ALTI+ and of the probability, by the way of making up."""
    plain = [measure(network, each) for each in pairs]
    results: dict[str, Any] = {"plain": len(plain), "share": float(np.mean(plain, 0)[0])}
    for kind, made_up in make_up(network, pairs).items():
        numbers = [measure(network, each) for each in made_up]
        areas = [
            measure_area(own, other)
            for own, other in zip(zip(*numbers, strict=True), zip(*plain, strict=True), strict=True)
        ]
        results[kind] = {"made_up": len(made_up), "share": float(np.mean(numbers, 0)[0])}
        results[kind] |= dict(zip(("alti", "probability"), areas, strict=True))
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--made", type=int, default=200)
    parser.add_argument("--out", type=Path)


def main(options: argparse.Namespace) -> None:
    translator = Translator.load(options.model, device="cpu", precision="fp32")
    lines = read_lines(options.source)
    network = deepcopy(translator.model).double().eval().requires_grad_(False)
    fitted = record_questions(translator, lines[-LENS:])
    lens = fit_lens(network, fitted)
    found: dict[str, Any] = {"lens": lens.to_json()}
    print(found["lens"], flush=True)
    pairs = record_questions(translator, lines[: options.made])
    found["alti"] = try_alti(network, pairs)
    print(found["alti"], flush=True)
    found["methods"] = try_methods(translator, lines, options.words, lens)
    print(found["methods"])
    if options.out:
        write_json(options.out, found)
