"""An export computes what the model does; what does not is never written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.cli import main
from glassformer.config import EOS, Config, Model, Positions
from glassformer.decode import score_targets
from glassformer.extensions.bridge import ctranslate2 as bridge
from glassformer.model.files.directory import Tokenizers, build_model, load_model, save_model
from glassformer.text import Tokenizer
from glassformer.text.kinds import train_tokenizer

LINES = ["the cat sat on the mat", "the dog did not sit", "so it is said, or sung, of it", "a mat!"]
TEXTS = [f"{one}; {other}" for one in LINES for other in LINES]
LONGEST = 24  # short translations: quick tests

# No two sizes alike, heads that are no part of d_model, and everything that is not the default.
ODD = Model(
    d_model=22,
    heads=3,
    head_width=5,
    d_ff=13,
    encoder_layers=2,
    decoder_layers=3,
    positions=Positions(max_positions=LONGEST),
)
CHANGES: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm": "pre", "activation": "gelu", "tie": "two-way"},
    "concatenated": {
        "positions": Positions(
            layout="concatenated",
            grid="tensor2tensor",
            offset=1,
            amplitude=0.5,
            max_positions=LONGEST,
        ),
        "activation": "silu",
        "tie": "none",
        "output_bias": True,
        "norm_epsilon": 1e-3,
    },
    "learned": {
        "positions": Positions(layout="learned", max_positions=LONGEST),
        "head_width": None,
        "heads": 2,
        "encoder_layers": 1,
        "norm": "pre",
    },
}

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra glassformer[bridge] is absent")


@pytest.fixture(scope="module")
def vocabularies() -> tuple[Tokenizer, Tokenizer]:
    return train_tokenizer(LINES * 3, 320), train_tokenizer(reversed("".join(LINES) * 3), 300)


@pytest.fixture
def make(tmp_path: Path, vocabularies: tuple[Tokenizer, Tokenizer]) -> Any:
    """Writes a model directory with random weights, none of them at its first value."""

    def make(name: str) -> Path:
        torch.manual_seed(1)
        config = Config(model=ODD.model_copy(update=CHANGES[name]))
        source, target = vocabularies
        shared = config.model.tie == "three-way"
        tokenizers = Tokenizers(source, source if shared else target)
        network = build_model(config, tokenizers)
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, 0.5 if parameter.dim() == 1 else 0, 0.5)
        save_model(tmp_path / name, config, tokenizers, network.state_dict())
        return tmp_path / name

    return make


@pytest.mark.parametrize("name", CHANGES)
def test_an_export_says_the_same(name: str, make: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    parity = bridge.export_ctranslate2(make(name), out, texts=TEXTS)
    assert parity.sentences == len(TEXTS) and parity.tokens >= len(TEXTS)
    assert parity.largest_difference <= parity.allowed <= 1e-5 * 50
    assert parity.different == {"greedy": 0, "beam": 0}
    assert json.loads((out / "parity.json").read_text())["allowed"] == parity.allowed
    assert {"config.toml", "model.bin"} < {path.name for path in out.iterdir()}
    assert sorted(path.name for path in out.glob("tokenizer*")) == sorted(
        path.name for path in (tmp_path / name).glob("tokenizer*")
    )


def test_log_probabilities_asked_for_by_hand(make: Any, tmp_path: Path) -> None:
    """As a user of the export would, from its own files: no code of ours in between."""
    from tokenizers import Tokenizer as Backend

    folder = make("post")
    bridge.export_ctranslate2(folder, tmp_path / "out", texts=LINES)
    cut = Backend.from_file(str(tmp_path / "out" / "tokenizer.json"))
    engine = ctranslate2.Translator(str(tmp_path / "out"), compute_type="float32")
    tokens = cut.encode(LINES[0]).tokens, cut.encode(LINES[1]).tokens
    (found,) = engine.score_batch([tokens[0]], [tokens[1]])
    _, tokenizers, network = load_model(folder)
    source, target = (tokenizers.source.encode(line) for line in LINES[:2])
    with torch.inference_mode():
        (wanted,) = score_targets(network, [[*source, EOS]], [target])
    assert found.log_probs == pytest.approx(wanted, abs=1e-5 * max(map(abs, wanted)))


def test_the_table_of_positions_is_long(make: Any, tmp_path: Path) -> None:
    """Longer than CTranslate2's own limits, whatever the model's."""
    bridge.export_ctranslate2(make("post"), tmp_path / "out", texts=LINES)
    engine = ctranslate2.Translator(str(tmp_path / "out"))
    (found,) = engine.translate_batch([["t"] * 1500], max_input_length=0, max_decoding_length=3)
    assert found.hypotheses


@pytest.mark.parametrize("quantization", ["int8", "int16"])
def test_quantised(quantization: str, make: Any, tmp_path: Path) -> None:
    exact = bridge.export_ctranslate2(make("post"), tmp_path / "exact", texts=TEXTS)
    small = bridge.export_ctranslate2(
        tmp_path / "post", tmp_path / "small", quantization=quantization, texts=TEXTS
    )
    assert small.quantization == quantization
    assert exact.mean_difference < small.stored_difference <= small.allowed
    assert small.stored_difference < small.mean_difference + 0.01
    assert ("on this processor" in str(small)) == (small.mean_difference > small.allowed)
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("exact", "small")]
    assert sizes[1] < sizes[0]


def test_what_computes_something_else_is_not_written(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make("post")
    monkeypatch.setitem(bridge.ACTIVATIONS, "relu", "GELU")
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(folder), "--out", "new/out"]) == 2
    assert not list((tmp_path / "new").iterdir())
    with pytest.raises(
        ValueError, match=r"^not exported: in float32, .* differ by \S+ nats a token"
    ):
        bridge.export_ctranslate2(folder, tmp_path / "out", texts=LINES)


def test_a_translation_that_differs_is_noticed(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from glassformer.extensions.bridge import parity

    monkeypatch.setitem(
        parity.SEARCHES, "beam", parity.SEARCHES["beam"].model_copy(update={"min_length": 5})
    )
    monkeypatch.setattr(parity._Theirs, "search", lambda self, rows, name: [[7]] * len(rows))
    with pytest.raises(
        ValueError, match=r"^not exported: of 4 translations, others .*: \d with gr"
    ):
        bridge.export_ctranslate2(make("post"), tmp_path / "out", texts=LINES)


@pytest.mark.parametrize("sentences", [10, 87, 200])
def test_two_beam_searches_may_part_at_a_tie(sentences: int) -> None:
    from glassformer.extensions.bridge.parity import Parity

    def compare(greedy: int, beam: int) -> Parity:
        different = {"greedy": greedy, "beam": beam}
        return Parity("float32", sentences, 99, 0.0, 0.0, 1e-5, different, {})

    compare(0, 2).check()
    for parted in (compare(0, 3), compare(1, 0)):
        with pytest.raises(ValueError, match="--source FILE"):
            parted.check()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--out m", "m is there already: name a new folder"),
        ("--out new --quantization int4", "quantization=int4: one of float32, int8"),
        ("--out new --format tflite", "--format tflite: one of ctranslate2, onnx"),
        ("--out new --source none.txt", "none.txt: No such file or directory"),
        ("--out new --source empty.txt", "there is no text to compare on"),
    ],
)
def test_mistakes(
    arguments: str,
    sentence: str,
    make: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make("post").rename(tmp_path / "m")
    (tmp_path / "empty.txt").write_text("\n\n")
    monkeypatch.chdir(tmp_path)
    assert main(["export", "m", *arguments.split()]) == 2
    assert capsys.readouterr().err.startswith(f"glassformer: {sentence}")
    assert not (tmp_path / "new").exists()


def test_without_the_extra(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ValueError, match=r"not installed: pip install 'glassformer\[bridge\]'"):
        bridge.export_ctranslate2(make("post"), tmp_path / "out", texts=LINES)
