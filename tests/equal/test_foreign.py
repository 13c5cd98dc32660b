"""An imported model computes what its own toolkit's code computed, on random weights.

The models in `foreign/` were made by those toolkits: see `tools/foreign_models.py`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from glassformer.cli import main
from glassformer.config import BOS, EOS, PAD
from glassformer.extensions.bridge.foreign import Row
from glassformer.extensions.bridge.importing import READERS, import_model
from glassformer.extensions.foreign_tokenizers.subwords import read_codes
from glassformer.model.files.directory import load_model
from glassformer.translator import Translator

FOREIGN = Path(__file__).parent / "foreign"
TOOLKITS = sorted(path.name for path in FOREIGN.iterdir() if path.name.split("-")[0] in READERS)
CHECKPOINTS = {
    "fairseq": "checkpoint_best.pt",
    "joeynmt": "best.ckpt",
    "opennmt": "model_step_20.pt",
}


@pytest.fixture(params=TOOLKITS)
def toolkit(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def number(rows: list[Row], ids: Tensor) -> list[int]:
    """Return our ids of theirs; what they begin with is our <s>, which the caller sets."""
    ours = {row: id for id, row in enumerate(rows) if id != BOS}
    return [ours.get(id, BOS) for id in ids.tolist()]


def test_logits_are_those_of_the_toolkit(toolkit: str, tmp_path: Path) -> None:
    import_model(FOREIGN / toolkit, tmp_path / "m")
    config, _, network = load_model(tmp_path / "m")
    foreign = READERS[toolkit.split("-")[0]](FOREIGN / toolkit)
    expected = load_file(FOREIGN / toolkit / "expected.safetensors")
    rows = expected["logits.0"].size(1)
    sources, targets = (side.order(rows)[1] for side in (foreign.source, foreign.target))
    for case in "01":
        source = number(sources, expected[f"source.{case}"])
        target = [BOS, *number(targets, expected[f"target.{case}"][1:])]
        assert (source[-1] == EOS) == config.text.source_eos and PAD not in source
        with torch.inference_mode():
            (found,) = network(torch.tensor([source]), torch.tensor([target]))
        kept = [id for id, row in enumerate(targets) if row is not None and id != BOS]
        wanted = expected[f"logits.{case}"][:, [targets[id] for id in kept]]
        assert wanted.std() > 0.2, "the weights matter"
        assert (found[:, kept] - wanted).abs().max() <= 2e-5 * wanted.abs().max()
        everything = expected[f"logits.{case}"].log_softmax(-1)[:, [targets[id] for id in kept]]
        assert (found.log_softmax(-1)[:, kept] - everything).abs().max() <= 1e-4


def test_text_is_cut_as_its_codes_say(toolkit: str, tmp_path: Path) -> None:
    import_model(FOREIGN / toolkit, tmp_path / "m")
    tokenizer = load_model(tmp_path / "m")[1].source
    found = tokenizer.tokens("abc de x cde")
    assert found.texts == ("ab", "c</w>", "de</w>", "<unk>", "cde</w>")
    assert found.spans[:3] == ((0, 2), (2, 3), (3, 6))
    assert tokenizer.decode(found.ids) == "abc de \ufffd cde"


def test_codes_may_have_what_elsewhere_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "codes"
    path.write_text("#version: 0.2\na \u2028\n\x85 b</w>\n", "utf-8")
    assert read_codes(path) == [("a", "\u2028"), ("\x85", "b</w>")]


def test_it_translates_scores_and_aligns(toolkit: str, tmp_path: Path) -> None:
    """The engine in C, or PyTorch, sees the source as the toolkit does: with EOS or without."""
    import_model(FOREIGN / toolkit, tmp_path / "m")
    translator = Translator.load(tmp_path / "m", device="cpu", precision="fp32")
    text, network = "abc de", translator.model
    (best,) = translator.search([text], decode={"search": "greedy", "max_extra": 4}, split=False)[0]
    source = translator.tokenizers.source.encode(text)
    source += [EOS] if translator.config.text.source_eos else []
    ids = [translator.tokenizers.target.vocabulary.index(token) for token in best.tokens]
    with torch.inference_mode():
        logits = network(torch.tensor([source]), torch.tensor([[BOS, *ids]]))[0].log_softmax(-1)
    wanted = logits[range(len(ids)), ids].tolist()
    assert ids and best.token_log_probs[: len(ids)] == pytest.approx(wanted, abs=1e-4)
    target = translator.tokenizers.target.decode(ids)
    if translator.tokenizers.target.encode(target) == ids:
        assert translator.score(text, target).log_probs[: len(ids)] == pytest.approx(
            wanted, abs=1e-4
        )
    pair = [*translator.reader.tokenize(text).ids, EOS], ids
    ((_, (weights,)),) = translator.searcher.attend([pair[0]], [pair[1]], [(0, None)])
    assert weights.shape == (len(ids) + 1, len(pair[0]))
    assert weights.sum(1) == pytest.approx([1.0] * len(weights), abs=1e-5)


def test_the_look_at_a_sentence_reads_it_as_the_toolkit_does(toolkit: str, tmp_path: Path) -> None:
    text = "abc de"
    plausibility = import_model(FOREIGN / toolkit, tmp_path / "m", texts=[text]).plausibility
    translator = Translator.load(tmp_path / "m", device="cpu", precision="fp32")
    most = min(100, translator.reader.longest - 1)
    decode = {"search": "greedy", "length_penalty": "none", "max_ratio": 0, "max_extra": most}
    ((best,),) = translator.search([text], decode=decode, split=False)
    ids = [translator.tokenizers.target.vocabulary.index(token) for token in best.tokens]
    engine = translator.searcher.get_engine("fp32")
    (scored,) = engine.score(translator.reader.encode([text]), [ids], workers=1, budget=4096)
    assert plausibility and plausibility.translation == best.text
    assert plausibility.log_prob == pytest.approx(fmean(scored.log_probs), abs=1e-5)


def test_it_can_be_looked_inside(toolkit: str, tmp_path: Path) -> None:
    """The recording has the source as the toolkit reads it, and the numbers of the network."""
    import_model(FOREIGN / toolkit, tmp_path / "m")
    translator = Translator.load(tmp_path / "m", device="cpu", precision="fp32")
    trace = translator.see("abc de", decode={"search": "greedy", "max_extra": 4})
    source = [token.id for token in trace.document.source]
    assert (source[-1] == EOS) == translator.config.text.source_eos
    weights = trace["decoder.0.cross_attention.weights"]
    assert weights.shape[-1] == len(source) and weights.shape[-2] == len(trace.document.target)
    (best,) = translator.search(["abc de"], decode={"search": "greedy", "max_extra": 4})[0]
    assert trace.document.translation == best.text


@pytest.mark.parametrize("toolkit", CHECKPOINTS)
def test_one_file_is_as_good_as_its_folder(toolkit: str, tmp_path: Path) -> None:
    for name in ("", CHECKPOINTS[toolkit]):
        import_model(FOREIGN / toolkit / name, tmp_path / f"m{name}")
    both = [tmp_path / f"m{name}" / "model.safetensors" for name in ("", CHECKPOINTS[toolkit])]
    assert both[0].read_bytes() == both[1].read_bytes()


@pytest.mark.parametrize("toolkit", CHECKPOINTS)
def test_a_pickle_that_would_run_something_is_refused(toolkit: str, tmp_path: Path) -> None:
    folder = shutil.copytree(FOREIGN / toolkit, tmp_path / "theirs")
    path = folder / CHECKPOINTS[toolkit]
    torch.save({"model": print, "model_state": print}, path)
    with pytest.raises(ValueError, match=r"asks to run .*print, which nothing here does"):
        import_model(folder, tmp_path / "m")
    path.write_bytes(b"junk")
    with pytest.raises(ValueError, match="damaged, or more than weights"):
        import_model(folder, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_without_codes_the_command_says_what_is_missing(
    toolkit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(FOREIGN / toolkit, tmp_path / "theirs")
    (codes,) = [path for path in folder.iterdir() if "codes" in path.name]
    codes.rename(tmp_path / "elsewhere")
    command = ["import", str(folder), "--out", str(tmp_path / "m")]
    assert main(command) == 2
    assert "--subwords FILE, or --subwords none" in capsys.readouterr().err
    assert main([*command, "--subwords", "none"]) == 0
    tokenizer = load_model(tmp_path / "m")[1].target
    assert tokenizer.tokens("ab@@ c nothing").texts == ("ab@@", "c", "<unk>")
    assert tokenizer.decode(tokenizer.encode("ab@@ c")) == "ab@@ c"
    main(
        [
            "import",
            str(folder),
            "--out",
            str(tmp_path / "n"),
            "--subwords",
            str(tmp_path / "elsewhere"),
        ]
    )
    assert load_model(tmp_path / "n")[1].target.tokens("ab").texts == ("ab</w>",)


@pytest.mark.parametrize(
    ("toolkit", "setting", "value"),
    [
        ("fairseq", "no_cross_attention", True),
        ("fairseq", "decoder_normalize_before", True),
        ("joeynmt", "decoder.num_heads", 4),
        ("joeynmt", "encoder.alpha", 0.5),
        ("opennmt", "max_relative_positions", 20),
        ("eole", "embeddings.position_encoding_type", "Rotary"),
        ("eole", "parallel_residual", True),
    ],
)
def test_what_is_not_computed_here_is_refused(
    toolkit: str, setting: str, value: Any, tmp_path: Path
) -> None:
    folder = shutil.copytree(FOREIGN / toolkit, tmp_path / "theirs")
    *tables, name = setting.split(".")
    if toolkit in ("eole", "joeynmt"):
        path = folder / {"eole": "config.json", "joeynmt": "config.yaml"}[toolkit]
        raw = json.loads(path.read_text())  # JSON is YAML
        inner = raw["model"]
        for table in tables:
            inner = inner[table]
        inner[name] = value
        path.write_text(json.dumps(raw))
    else:
        path = folder / CHECKPOINTS[toolkit]
        with torch.serialization.safe_globals([argparse.Namespace]):
            whole = torch.load(path, weights_only=True)
        setattr(whole["args" if toolkit == "fairseq" else "opt"], name, value)
        torch.save(whole, path)
    with pytest.raises(ValueError, match=name.removeprefix("decoder_")):
        import_model(folder, tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("toolkit", CHECKPOINTS)
def test_weights_that_are_left_over_are_named(toolkit: str, tmp_path: Path) -> None:
    folder = shutil.copytree(FOREIGN / toolkit, tmp_path / "theirs")
    path = folder / CHECKPOINTS[toolkit]
    with torch.serialization.safe_globals([argparse.Namespace]):
        whole = torch.load(path, weights_only=True)
    weights = whole["model_state" if toolkit == "joeynmt" else "model"]
    name = next(name for name in weights if re.search(r"(layers|former)\.0\..*weight", name))
    weights[name.replace("weight", "lora")] = torch.zeros(2)
    torch.save(whole, path)
    with pytest.raises(ValueError, match="lora is no weight of a plain Transformer"):
        import_model(folder, tmp_path / "m")
