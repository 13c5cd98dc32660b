"""Integrated gradients and value zeroing are those of Inseq, and those of a plain loop.

The loops know nothing of our network: they run its export in transformers. Inseq 0.7 does so, too,
in an environment of its own, since it needs transformers 4: `python -m venv DIR`, then
`DIR/bin/pip install "inseq==0.7.1" "transformers<5"`; `GLASSFORMER_INSEQ=DIR` says where it is.

Inseq's conventions: the way begins at the embedding of padding, where the tokenizer has no token
for what it does not know, but at </s> and <s> themselves; what is attributed is ln p, to the words'
scaled embeddings, without their positions. Each attention's shares of value zeroing are 1 together,
those of less than 1e-5 are dropped, and the last layer is measured behind the norm of its stack.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from tests.equal.post_norm import SENTENCE, save_post_norm
from torch import Tensor

from glassformer.cli import main
from glassformer.config import BOS, EOS, PAD
from glassformer.extensions.circuits.edges import WordContrast
from glassformer.extensions.circuits.methods import load_precise
from glassformer.extensions.circuits.mixing import zero_values
from glassformer.extensions.lab.contributions import attribute_gradients
from glassformer.see.trace import Trace
from glassformer.translator import Translator

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

NAMES = ("demo", "everyday-en-fr", "post-norm")
SIDES = ("source", "target")
ROWS = (6, 8)  # the first and the last that is asked about
POINTS = 20
TINY = 1e-5  # a move that is as good as none
NOISE = 5e-7  # of a move in single precision, which Inseq computes in


class Exported(NamedTuple):
    """A model, one of its recordings, and its export."""

    translator: Translator
    trace: Trace
    folder: Path
    network: Any  # of transformers, in double precision


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exported]:
    folder, found = tmp_path_factory.mktemp("inseq"), {}
    for name in NAMES:
        model = save_post_norm(folder / "model", norms=1.0) if name == "post-norm" else name
        out = folder / name
        assert main(["export", str(model), "--format", "transformers", "--out", str(out)]) == 0
        translator = Translator.load(model, device="cpu", precision="fp32")
        trace = translator.see(SENTENCE, target=SENTENCE if name == "post-norm" else None)
        network = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            out, attn_implementation="eager"
        )
        found[name] = Exported(translator, trace, out, network.double().eval())
    return found


@pytest.fixture(scope="module")
def told(exported: dict[str, Exported], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What Inseq says of each model."""
    place = Path(os.environ.get("GLASSFORMER_INSEQ", "nowhere"), "bin", "python")
    if not place.is_file():
        pytest.skip("GLASSFORMER_INSEQ names no environment that has Inseq")
    files = [tmp_path_factory.mktemp("asked") / f"{each}.json" for each in ("asked", "told")]
    questions = [
        {
            "folder": str(each.folder),
            "source": each.trace.text,
            "target": each.trace.translation,
            "rows": ROWS,
            "points": POINTS,
        }
        for each in exported.values()
    ]
    files[0].write_text(json.dumps(questions), encoding="utf-8")
    script = Path(__file__).with_name("ask_inseq.py")
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([place, script, *files], check=True, env=own, capture_output=True, timeout=900)
    answers = json.loads(files[1].read_text(encoding="utf-8"))
    return dict(zip(exported, answers, strict=True))


def list_ids(trace: Trace) -> list[list[int]]:
    return [[token.id for token in side] for side in (trace.source, trace.target)]


def list_beginnings(trace: Trace) -> dict[str, list[int]]:
    """Return where the way begins, as Inseq has it."""
    return {
        side: [id if id in (BOS, EOS) else PAD for id in ids]
        for side, ids in zip(SIDES, list_ids(trace), strict=True)
    }


def integrate_by_loop(each: Exported, row: int) -> list[Tensor]:
    """Return integrated gradients of ln p for the source and the target, a point after another."""
    network, trace = each.network, each.trace
    table, scale = network.get_input_embeddings(), network.get_encoder().embed_scale
    begins, ends = (
        [table(torch.tensor([ids])).detach() * scale for ids in both]
        for both in (list_beginnings(trace).values(), list_ids(trace))
    )
    sums = [torch.zeros(len(ids), dtype=torch.double) for ids in list_ids(trace)]
    for node, weight in zip(*np.polynomial.legendre.leggauss(POINTS), strict=True):
        at = [
            (begin + (end - begin) * (node + 1) / 2).requires_grad_()
            for begin, end in zip(begins, ends, strict=True)
        ]
        # transformers scales what the decoder is given, and not what the encoder is given.
        logits = network(inputs_embeds=at[0], decoder_inputs_embeds=at[1] / scale).logits
        log_prob = logits[0, row].log_softmax(-1)[trace.predicted[row].id]
        for side, grad in enumerate(torch.autograd.grad(log_prob, at)):
            sums[side] += (grad * (ends[side] - begins[side])).sum(-1)[0] * weight / 2
    return sums


@pytest.mark.parametrize("name", NAMES)
def test_integrated_gradients_are_those_of_a_loop(name: str, exported: dict[str, Exported]) -> None:
    each = exported[name]
    for row in (ROWS[0], ROWS[1]):
        found = attribute_gradients(
            each.translator, each.trace, [row], POINTS, list_beginnings(each.trace)
        )
        for side, wanted in zip(SIDES, integrate_by_loop(each, row), strict=True):
            assert_equal(torch.tensor(found.integrated[side]), wanted, 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_integrated_gradients_are_those_of_inseq(
    name: str, exported: dict[str, Exported], told: Any
) -> None:
    translator, trace, *_ = exported[name]
    assert told[name]["ids"][0] == list_ids(trace)[0]
    assert told[name]["ids"][1][: len(trace.target)] == list_ids(trace)[1]
    for at, row in enumerate(range(ROWS[0], ROWS[1] + 1)):
        found = attribute_gradients(translator, trace, [row], POINTS, list_beginnings(trace))
        assert np.exp(found.log_prob) == pytest.approx(told[name]["probability"][at], rel=1e-4)
        for side, length in (("source", len(trace.source)), ("target", row + 1)):
            own = torch.tensor(found.integrated[side])[:length]
            assert_equal(own, torch.tensor(told[name][side][at])[:length], 1e-3)


def assert_equal(found: Tensor, wanted: Tensor, tolerance: float) -> None:
    """Fail if two rows differ by more than a part of the largest number."""
    assert found.shape == wanted.shape
    assert float(wanted.abs().max()) > 1e-3, "there is something to compare"
    assert float((found - wanted).abs().max() / wanted.abs().max()) < tolerance


def list_moved(each: Exported) -> dict[str, list[Tensor]]:
    """Return how far rows move in our value zeroing, for each attention of each layer."""
    network = load_precise(each.trace)
    source, target = list_ids(each.trace)
    contrast = WordContrast((*source,), (*target,), (BOS, EOS))
    found: dict[str, list[Tensor]] = {"encoder": [], "decoder": [], "cross": []}
    for kind, all_moved in found.items():
        stack = "encoder" if kind == "encoder" else "decoder"
        block, length = ("self_attention", len(target if kind == "decoder" else source))
        if kind == "cross":
            block = "cross_attention"
        layers = getattr(network.settings, f"{stack}_layers")
        for layer in range(layers):
            is_last = layer == layers - 1 and network.settings.norm == "pre"
            behind = {"encoder": "memory", "decoder": "last"}[stack] if is_last else None
            blocks = {block: length}
            all_moved.append(zero_values(network, contrast, f"{stack}.{layer}", blocks, behind))
    return found


def normalize(moved: Tensor) -> Tensor:
    kept = torch.where(moved < TINY, 0, moved)
    return kept / kept.sum(-1, keepdim=True).where(kept.sum(-1, keepdim=True) > 0, 1)


def zero_by_loop(each: Exported, kind: str, layer: int) -> Tensor:
    """Return the shares of one attention, with a hook and a pass for each position."""
    network, ids = each.network, list_ids(each.trace)
    encoder, decoder = network.get_encoder(), network.get_decoder()
    block = (encoder if kind == "encoder" else decoder).layers[layer]
    attention = block.encoder_attn if kind == "cross" else block.self_attn
    rows, keys = (ids[kind != "encoder"], ids[kind == "decoder"])
    arguments = {
        "input_ids": torch.tensor([ids[0]]),
        "decoder_input_ids": torch.tensor([ids[1]]),
        "output_hidden_states": True,
        "use_cache": False,
    }
    states = "encoder_hidden_states" if kind == "encoder" else "decoder_hidden_states"
    with torch.no_grad():
        whole = network(**arguments)[states][layer + 1][0]
        moved = torch.zeros(len(rows), len(keys), dtype=torch.double)
        for key in range(len(keys)):

            def zero(module: Any, inputs: Any, value: Tensor, key: int = key) -> Tensor:
                changed = value.clone()
                changed[:, key] = 0
                return changed

            hook = attention.v_proj.register_forward_hook(zero)
            without = network(**arguments)[states][layer + 1][0]
            hook.remove()
            moved[:, key] = 1 - torch.cosine_similarity(whole, without, dim=-1)
    return normalize(moved)


@pytest.mark.parametrize("name", NAMES)
def test_value_zeroing_is_that_of_a_loop(name: str, exported: dict[str, Exported]) -> None:
    for kind, layers in list_moved(exported[name]).items():
        for layer in {0, len(layers) - 1}:
            wanted = zero_by_loop(exported[name], kind, layer)
            assert_equal(normalize(layers[layer]), wanted, 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_value_zeroing_is_that_of_inseq(
    name: str, exported: dict[str, Exported], told: Any
) -> None:
    """A row is left out if a number of it is so near the smallest that noise decides."""
    for kind, layers in list_moved(exported[name]).items():
        assert len(layers) == len(told[name][kind])
        for moved, other in zip(layers, told[name][kind], strict=True):
            rows = min(len(moved), len(other))  # Inseq leaves out the row that ends a sentence
            wanted = torch.tensor(other)[:rows, : moved.size(1)]
            apart = (normalize(moved)[:rows] - wanted).abs().amax(-1)
            is_near = ((moved[:rows] - TINY).abs() < NOISE).any(-1)
            allowed = 1e-3 + NOISE / moved[:rows].sum(-1)
            assert bool((apart < allowed)[~is_near].all())
            assert is_near.double().mean() < 0.5, "most rows are compared"
