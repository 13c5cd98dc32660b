"""A student exported as browsers have it: its numbers come back, and Mozilla's engine runs it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.cli import main
from glassformer.config import BOS, EOS, Config, Model, Positions
from glassformer.extensions.bridge.importing import import_model
from glassformer.extensions.bridge.marian_bin import read_marian_bin
from glassformer.extensions.bridge.marian_student import export_student
from glassformer.extensions.bridge.parity import translate_with
from glassformer.extensions.short_list.shortlisting import save_shortlist
from glassformer.model.files.directory import (
    SHORTLIST,
    Tokenizers,
    build_model,
    load_model,
    save_model,
    tell_tokenizers,
)
from glassformer.text.kinds import train_tokenizer
from glassformer.text.layout import FIRST_BYTE

from .test_marian_bin import STUDENTS, needs_students, read_by_hand

LINES = ["the cat sat on the mat", "the dog did not sit", "so it is said, or sung, of it", "a mat!"]


def make(folder: Path, *, start: float = 0.0, **changes: Any) -> Path:
    """Write the directory of a student with random weights."""
    torch.manual_seed(1)
    shape: dict[str, Any] = {"d_model": 64, "heads": 2, "d_ff": 128, "decoder": "ssru"}
    shape |= {"encoder_layers": 2, "decoder_layers": 2, "output_bias": True}
    shape |= {"positions": Positions(grid="tensor2tensor", max_positions=64)}
    config = Config(model=Model(**{**shape, **changes}))
    tokenizer = train_tokenizer(LINES * 3, 320, kind="unigram")
    tokenizers = Tokenizers(tokenizer, tokenizer)
    network = build_model(config, tokenizers)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        network.get_parameter("target_embedding.table.weight")[BOS] = start
        network.get_parameter("output_bias")[FIRST_BYTE : FIRST_BYTE + 256] = -100.0
    save_model(folder / "ours", config, tokenizers, network.state_dict())
    rows = [np.arange(3, 3 + id % 5) for id in range(len(tokenizer))]
    save_shortlist(
        folder / "ours" / SHORTLIST, [*rows, np.array([50, 60])], tell_tokenizers(tokenizers)
    )
    return folder / "ours"


def test_the_file_has_our_numbers(tmp_path: Path) -> None:
    """Each matrix within half a step, read by code of the tests; and alphas of what was seen."""
    folder = make(tmp_path)
    found = export_student(folder, tmp_path / "student", texts=LINES)
    assert found.sentences == len(LINES) and found.difference < 0.1
    path = tmp_path / "student" / "model.intgemm.alphas.bin"
    theirs = read_by_hand(path)
    _, tokenizers, ours = load_model(folder)
    order = [*range(0, 64, 2), *range(1, 64, 2)]  # all sines first
    for name, wanted in {
        "encoder_l2_ffn_W1": ours.get_parameter("encoder.1.feed_forward.inner.weight")[:, order].T,
        "decoder_l1_rnn_Wf": ours.get_parameter("decoder.0.ssru.to_forget.weight")[order][
            :, order
        ].T,
        "decoder_l2_context_Wo": ours.get_parameter("decoder.1.cross_attention.to_output.weight")[
            order
        ].T,
    }.items():
        step = wanted.abs().max() / 127
        assert np.abs(theirs[name] - wanted.detach().numpy()).max() <= 0.51 * step
    assert len(theirs["Wemb"]) % 8 == 0 and len(theirs["Wemb"]) > len(tokenizers.target)
    inner, seen = ours.get_submodule("encoder.0.feed_forward.inner"), list[float]()
    inner.register_forward_pre_hook(lambda _, given: seen.append(float(given[0].abs().max())))
    for row in tokenizers.source.encode_many(LINES):
        with torch.inference_mode():
            ours.encode(torch.tensor([[*row, EOS]]), torch.ones(1, 1, len(row) + 1).bool())
    wanted = 127 / (np.mean(seen) + 1.1 * np.std(seen))
    assert np.isclose(read_marian_bin(path).quantized["encoder_l1_ffn_W1"].alpha, wanted, rtol=1e-4)


def test_what_is_exported_is_imported(tmp_path: Path) -> None:
    """The logits, of the rounded weights; the short-list, its common tokens at </s>."""
    folder = make(tmp_path)
    export_student(folder, tmp_path / "student", texts=LINES)
    import_model(tmp_path / "student", tmp_path / "back")
    _, tokenizers, ours = load_model(folder)
    _, others, back = load_model(tmp_path / "back")
    source, target = tokenizers.source.encode(LINES[0]), tokenizers.target.encode(LINES[1])
    ids = [
        others.target.vocabulary.index(x.replace(" ", "▁"))
        for x in tokenizers.target.vocabulary[3:]
    ]
    theirs = dict(zip(range(3, 3 + len(ids)), ids, strict=True)) | {EOS: EOS, BOS: BOS}
    with torch.inference_mode():
        wanted = ours(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))[0, :, 3:]
        rows = [[*source, EOS], [BOS, *target]]
        mine = [torch.tensor([[theirs[id] for id in row]]) for row in rows]
        found = back(*mine)[0][:, ids]
    assert (found.log_softmax(-1) - wanted.log_softmax(-1)).abs().max() < 0.2
    head = struct.unpack_from("<6Q", (tmp_path / "student" / "lex.50.50.s2t.bin").read_bytes())
    assert head[2] == EOS + 1
    assert (tmp_path / "back" / SHORTLIST).is_file()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("pair", "said", "wanted"),
    [
        ("ende", [], ("en", "de")),
        ("ende", ["--languages", "es-ca"], ("es", "ca")),
        ("", [], (None, None)),
        ("", ["--languages", "pt-en"], ("pt", "en")),
    ],
)
def test_the_names_of_the_files_say_the_languages(
    pair: str, said: list[str], wanted: tuple[str | None, ...], tmp_path: Path
) -> None:
    """And the settings of the run say that browsers search greedily."""
    languages = f'source_lang = "{pair[:2]}"\ntarget_lang = "{pair[2:]}"\n' if pair else ""
    folder = make(tmp_path)
    text = (folder / "config.toml").read_text(encoding="utf-8")
    (folder / "config.toml").write_text(
        text.replace("[data]\n", f"[data]\n{languages}"), encoding="utf-8"
    )
    export_student(folder, tmp_path / "student", texts=LINES)
    out = tmp_path / "back"
    assert main(["import", str(tmp_path / "student"), "--out", str(out), *said]) == 0
    config, _, _ = load_model(out)
    assert (config.data.source_lang, config.data.target_lang) == wanted
    assert config.decode.search == "greedy"
    (tmp_path / "student" / "config.yml").unlink()
    assert main(["import", str(tmp_path / "student"), "--out", str(tmp_path / "more"), *said]) == 0
    assert load_model(tmp_path / "more")[0].decode.search == "beam"
    wrong = [
        "import",
        str(tmp_path / "student"),
        "--out",
        str(tmp_path / "no"),
        "--languages",
        "en",
    ]
    assert main(wrong) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"decoder": "attention"}, "model.decoder=attention: browsers have ssru"),
        ({"norm": "pre"}, "model.norm=pre: Marian computes post"),
        ({"d_ff": 100}, "model.d_ff=100: browsers multiply"),
        ({"start": 0.5}, "begins a translation with an embedding of <s>"),
        ({"tie": "none"}, "model.tie=none"),
    ],
)
def test_what_browsers_do_not_compute(
    changes: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, text, out = make(tmp_path, **changes), tmp_path / "text", tmp_path / "student"
    text.write_text("\n".join(LINES), encoding="utf-8")
    command = ["export", str(folder), "--format", "marian-bin", "--out", str(out)]
    assert main([*command, "--source", str(text)]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert main(command) == 2
    assert "needs --source" in capsys.readouterr().err
    assert not out.exists()


def test_training_leaves_the_beginning_zero() -> None:
    """The gradient of a tied table moves every row but that of <s>."""
    tokenizer = train_tokenizer(LINES * 3, 300)
    shape = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
    config = Config(model=Model(**shape, decoder="ssru"))
    network = build_model(config, Tokenizers(tokenizer, tokenizer))
    table = network.get_parameter("target_embedding.table.weight")
    before, optimizer = table.detach().clone(), torch.optim.Adam(network.parameters(), 0.1)
    for _ in range(3):
        logits = network(torch.tensor([[9, 8, EOS]]), torch.tensor([[BOS, 9, 8]]))
        torch.nn.functional.cross_entropy(logits[0], torch.tensor([9, 8, EOS])).backward()
        optimizer.step()
    moved = (table.detach() - before).abs().amax(1) > 0
    assert not table[BOS].any() and not moved[BOS] and moved[[9, 8, EOS, 40]].all()


def test_mozillas_engine_runs_our_student(tmp_path: Path) -> None:
    fxtranslate = pytest.importorskip("fxtranslate", reason="fxtranslate is not installed")
    folder = make(tmp_path)
    export_student(folder, tmp_path / "student", texts=LINES)
    vocabulary = (tmp_path / "student" / "vocab.spm").read_bytes()
    model = (tmp_path / "student" / "model.intgemm.alphas.bin").read_bytes()
    theirs = fxtranslate.Translator(model, vocabulary, vocabulary)
    _, tokenizers, network = load_model(folder)
    rows = translate_with(network, tokenizers.source.encode_many(LINES), "greedy")
    for text, wanted in zip(LINES, tokenizers.target.decode_many(rows), strict=True):
        assert theirs.translate(text)[:20].strip() == wanted[:20].strip()


@needs_students
def test_a_browsers_student_comes_back(tmp_path: Path) -> None:
    """The int8 numbers of each matrix of an imported student are those of its file."""
    assert STUDENTS is not None
    (folder,) = STUDENTS.glob("enpt-*")
    import_model(folder, tmp_path / "student")
    texts = ["The house is old, but the garden behind it is very beautiful.", "Where is she?"]
    export_student(tmp_path / "student", tmp_path / "back", texts=texts)
    (one,), (other,) = (each.glob("model*.bin") for each in (folder, tmp_path / "back"))
    first, second = (read_marian_bin(path).quantized for path in (one, other))
    assert first.keys() == second.keys()
    for name in first.keys() - {"Wemb"}:
        assert np.array_equal(first[name].values, second[name].values)
