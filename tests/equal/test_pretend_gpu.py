"""On a GPU that is not there: whether all that belongs together is on one device.

What a real GPU alone can tell (bf16, speed, memory) is in test_cuda.py.
"""

from __future__ import annotations

import copy
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.equal.conftest import SETTINGS, V
from tests.equal.pretend_gpu import GPU, GpuTensor, pretend_gpu

from glassformer.cli import main
from glassformer.config import BOS, EOS, PAD, Model, Train
from glassformer.data.batches import Batch
from glassformer.model.files.directory import load_model
from glassformer.model.transformer import Transformer
from glassformer.train.run.updates import Updater

CPU = torch.device("cpu")
MORE = pytest.mark.thorough
SENTENCES = {
    "en": ["The cat is on the mat.", "The dog sees the old house.", "The bird is tired."],
    "fr": [
        "Le chat est sur le tapis.",
        "Le chien voit la vieille maison.",
        "L'oiseau est fatigué.",
    ],
}
SMALL = (
    "--steps 2 --set model.d_model=16 --set text.vocabulary=300 --batch-tokens 64 "
    "--set train.validate_every=2 --set train.watch=0 --precision fp32"
)
NETWORK = "--set model.heads=2 --set model.d_ff=24"
ENCODER, DECODER = (f"{NETWORK} --set model.{side}coder_layers=1" for side in ("en", "de"))
BOTH = f"{ENCODER} --set model.decoder_layers=1"
PAIRS = "train auto test.en test.fr --source-lang en --target-lang fr "
PAIRS += f"--valid test.en --valid test.fr {SMALL}"
SAME_WORDS = [
    "translate demo test.en",
    "translate demo-rnn-attention test.en",
    "translate demo test.en --beam 3 --no-repeat-ngram-size 2 --repetition-penalty 1.2",
    "translate demo test.en --beam 4 --beam-groups 2",
    "translate demo test.en --search sample --top-p 0.9",
    "translate demo test.en --mbr 4",
    "translate demo test.en --model demo",
    "translate demo test.en --glossary terms.tsv",
    "translate demo test.en --prefix-file prefixes.fr",
    "translate demo test.en --alignment",
    "complete demo-lm 'The cat'",
    "complete demo-lm 'The cat' --search sample",
    "fill demo-mlm 'The [MASK] is on the mat.'",
]
OTHERS = [
    "score demo test.en test.fr --precision fp32",
    "score demo-rnn test.en test.fr --precision fp32",
    "score demo-lm test.en --precision fp32",
    "align demo test.en test.fr",
    "evaluate demo test.en test.fr --precision fp32 --worst 1",
    "evaluate demo-mlm test.en --precision fp32",
    "evaluate demo --contrastive pairs.tsv --precision fp32",
    "see demo 'The cat is on the mat.' --precision fp32 --cell 'logits[0,0]'",
    "see demo 'The cat is on the mat.' --precision fp32 --edit cut:cat --picture V49 -o cat.svg",
    "see demo-rnn-attention 'The cat is on the mat.' --precision fp32",
    "see demo-lm 'The cat is' --precision fp32",
    "see demo-mlm 'The [MASK] is on the mat.' --precision fp32",
    "augment demo-fr-en test.fr --out made.tsv --precision fp32",
    "heads demo test.en",
    "probe demo-rnn-attention pairs.tsv",
    "probe demo pairs.tsv",
]
TRAININGS = {
    "plain": f"{PAIRS} {BOTH}",
    "muon": f"{PAIRS} {BOTH} --set train.optimizer=muon --set train.schedule=plateau",
    "adam": f"{PAIRS} {BOTH} --set train.optimizer=adam --set train.deterministic=true",
    "recomputed": f"{PAIRS} {BOTH} --set train.gradient_checkpointing=true "
    "--gradient-accumulation 2 --set model.dropout=0.1 --set train.rdrop_alpha=1",
    "aligned": f"{PAIRS} {BOTH} --set train.alignment_weight=0.1 --alignments links.txt",
    "taught": f"{PAIRS} {BOTH} --teacher demo",
    "context": f"{PAIRS} {BOTH} --context 1",
    "rnn": f"{PAIRS} --network rnn",
    "decoder": f"train auto test.fr --network decoder {SMALL} {DECODER}",
    "encoder": f"train auto test.fr --network encoder {SMALL} {ENCODER}",
    "labels": f"train auto labels.tsv --network encoder {SMALL} {ENCODER}",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the current folder one with text of all kinds."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "test.en": SENTENCES["en"],
        "test.fr": SENTENCES["fr"],
        "links.txt": ["0-0 1-1 2-2"] * 3,
        "prefixes.fr": ["Le"] * 3,
        "terms.tsv": ["cat\tchat"],
        "pairs.tsv": ["The cat is old.\tLe chat est vieux.\tLe chat est vieille."],
        "labels.tsv": [f"{n % 2}\t{text}" for n, text in enumerate(SENTENCES["en"] * 4)],
    }
    for name, lines in texts.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def run(command: str) -> None:
    with pretend_gpu():
        assert main([*shlex.split(command), "--device", "cuda"]) == 0


def test_it_refuses_what_a_gpu_refuses() -> None:
    with pretend_gpu():
        x = torch.ones(3, 4, device="cuda", requires_grad=True)
        assert isinstance(x, GpuTensor) and x.device == GPU and x.cpu().device == CPU
        with pytest.raises(RuntimeError, match="on the same device"):
            x + torch.ones(4)
        with pytest.raises(RuntimeError, match="on the same device"):
            torch.ones(2, 3) @ x
        with pytest.raises(TypeError, match="to numpy"):
            x.detach().numpy()
        (x * torch.arange(4.0).to(GPU)).sum().backward()
        assert x.grad is not None and x.grad.device == GPU
        assert x.grad.tolist() == [[0, 1, 2, 3]] * 3


def make_batch(seed: int) -> Batch:
    draw = np.random.default_rng(seed)
    source, target = draw.integers(3, V, (5, 9)), draw.integers(3, V, (5, 7))
    target[:, 0], target[:, -1] = BOS, EOS
    source[0, 4:], target[0, 3:] = (EOS, *[PAD] * 4), (EOS, *[PAD] * 3)
    return Batch(source, target, np.arange(5))


@pytest.mark.parametrize(
    "name",
    [name if name in ("post", "pre") else pytest.param(name, marks=MORE) for name in SETTINGS],
)
def test_the_same_updates(name: str, build: Callable[[Model], Transformer]) -> None:
    """Dropout is drawn otherwise there, so there is none."""
    network = build(SETTINGS[name].model_copy(update={"dropout": 0.0}))
    train = Train(optimizer="muon" if name == "pre" else "adam", ema=0.9)
    losses = []
    with pretend_gpu():
        for device in (CPU, GPU):
            updater = Updater(copy.deepcopy(network), train, device, "fp32")
            outcomes = [updater.update(n, 1e-3, [make_batch(n)]) for n in range(1, 4)]
            losses.append([outcome.loss for outcome in outcomes])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("command", SAME_WORDS)
@pytest.mark.thorough
def test_the_same_words(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    run(f"{command} --precision fp32")
    there = capfd.readouterr().out
    assert main([*shlex.split(command), "--device", "cpu", "--precision", "fp32"]) == 0
    assert there == capfd.readouterr().out != ""


@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=MORE if n % 2 else []) for n, each in enumerate(OTHERS)]
)
def test_it_works(command: str) -> None:
    run(command)


@MORE
def test_it_prunes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSFORMER_DEVICE", "cuda")
    with pretend_gpu():
        assert main(shlex.split("prune demo test.en --heads 2 --d-ff 40 --out small")) == 0


@MORE
@pytest.mark.parametrize("name", TRAININGS)
def test_it_trains(name: str) -> None:
    run(f"{TRAININGS[name]} --out made")
    written = load_file("made/model.safetensors").values()
    parameters = load_model("made")[2].parameters()
    assert sum(x.numel() for x in written) == sum(p.numel() for p in parameters)


@MORE
def test_it_goes_on_and_starts_from(folder: Path) -> None:
    run(f"{TRAININGS['plain']} --out made")
    run("train --resume made --set train.steps=3 --accept-changed-settings")
    start = "train --data test.en --data test.fr --valid test.en --valid test.fr --steps 2"
    start += " --precision fp32"
    run(f"{start} --from made --out adapted --set train.lora_rank=2 --set train.optimizer=adam")
    run(f"{start} --from made --out other --new-tokenizer")
    run(f"{start} --from made --out bold --set train.risk_weight=0.5 --set train.risk_samples=2")
    run("average made --last 1 --out averaged")
    assert (folder / "averaged" / "model.safetensors").is_file()
