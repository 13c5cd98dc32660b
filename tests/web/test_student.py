"""A student as browsers have it, on a page: its tokens and its numbers are those of Python."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load, load_file, save
from tests.equal.test_marian_student import LINES as SEEN
from tests.equal.test_marian_student import make
from tests.equal.test_sentencepiece import LINES, MODES, learn, make_texts

from glassformer.config import Config
from glassformer.extensions.bridge.importing import import_model
from glassformer.extensions.bridge.marian_student import export_student
from glassformer.extensions.foreign_tokenizers.sentencepiece import Sentencepiece
from glassformer.extensions.site import four_bits
from glassformer.extensions.site.living import WASM, build_living_page
from glassformer.extensions.site.portable import _describe_graph, describe_tokenizer, pack_model
from glassformer.model.files.directory import (
    CONFIG,
    WEIGHTS,
    Tokenizers,
    build_model,
    load_model,
    open_model,
    save_model,
)
from glassformer.text import Tokenizer
from glassformer.text.kinds import train_tokenizer
from glassformer.text.layout import CONTROLS
from glassformer.translator import Translator

from .test_living import load_quantized, run_vitest

CUT = [name for name, mode in MODES.items() if "unigram" in name or "model_type" not in mode]
ASKED: list[dict[str, Any]] = [
    {"text": "the cat sat on the mat", "decode": {"search": "beam", "beam": 3}},
    {"text": "so it is said, or sung, of it", "decode": {"search": "greedy"}},
    *(
        {"text": "the dog did not sit", "decode": {"search": "greedy"}, "edits": [edit]}
        for edit in (
            {"do": "cut", "word": "dog"},
            {"do": "silence", "name": "decoder.0.ssru"},
            {"do": "silence", "name": "decoder.1.cross_attention", "head": 1},
            {"do": "pin", "name": "decoder.1.cross_attention", "key": 1, "head": 0},
            {"do": "row", "name": "memory", "position": 2, "factor": 0.5},
        )
    ),
]
TEXTS = 600  # of random characters; as many of words


@pytest.mark.thorough
def test_text_is_cut_as_python_cuts_it(tmp_path: Path) -> None:
    """Random strings of all planes of Unicode, of what normalisers join, and of symbols."""
    pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    texts = [*make_texts(TEXTS, seed=11), ">>fra<< the cat", "a >>deu<<", "x\ud800y"]
    tokenizers: dict[str, Tokenizer] = {"learned": train_tokenizer(LINES, 600, kind="unigram")}
    for name in CUT:
        theirs = learn(tmp_path, **MODES[name])
        names = [theirs.id_to_piece(id) for id in range(theirs.get_piece_size())]
        known = [each for each in names if each not in (*CONTROLS, "<unk>")]
        vocabulary = [*CONTROLS, "<unk>", ">>fra<<", *known[:-7]]  # the network lacks some
        tokenizers[name] = Sentencepiece.read(tmp_path / "spm.model").to_tokenizer(vocabulary)
    told = {name: _tell(tmp_path, each, texts) for name, each in tokenizers.items()}
    (tmp_path / "told.json").write_text(json.dumps(told), encoding="utf-8")
    run_vitest("tests/unigram.test.ts", UNIGRAMS=str(tmp_path / "told.json"))


def _tell(folder: Path, tokenizer: Tokenizer, texts: list[str]) -> dict[str, Any]:
    rows = [tokenizer.tokens(text) for text in texts]
    pieces = [
        [x for id, span in zip(row.ids, row.spans, strict=True) for x in (id, *span)]
        for row in rows
    ]
    return {
        "tables": describe_tokenizer(folder, tokenizer),
        "texts": texts,
        "pieces": pieces,
        "spelled": [tokenizer.decode(row.ids) for row in rows],
        "unknown": [tokenizer.find_unknown(text) for text in texts],
    }


@pytest.mark.thorough
def test_it_computes_what_python_computes(tmp_path: Path) -> None:
    """Every number of a recording, under edits too, of an imported student of random weights."""
    export_student(make(tmp_path), tmp_path / "student", texts=SEEN)
    import_model(tmp_path / "student", tmp_path / "model")
    translator = Translator.load(tmp_path / "model", device="cpu", precision="fp32")
    _compare(tmp_path / "packed", tmp_path / "model", translator)


@pytest.mark.thorough
def test_a_tag_is_before_each_source(tmp_path: Path) -> None:
    """Every number again, of a model that is told to which language to translate."""
    config, tokenizers, _ = load_model(make(tmp_path))
    config = config.changed(data={"tag": "<2de>"})
    tagged = Tokenizers(*[tokenizers.source.with_tags(["<2de>"])] * 2)
    torch.manual_seed(1)
    weights = build_model(config, tagged).state_dict()
    save_model(tmp_path / "model", config, tagged, weights)
    translator = load_quantized(str(tmp_path / "model"), tmp_path / "quantized")
    assert translator.see("the dog").source[0].text == "<2de>"
    _compare(tmp_path / "packed", tmp_path / "model", translator)


def _compare(packed: Path, model: Path, translator: Translator) -> None:
    packed.mkdir()
    (packed / "model").write_bytes(pack_model(model))
    if WASM.is_file():
        shutil.copyfile(WASM, packed / WASM.name)
    short = pack_model(model, bits=4)
    (packed / "short").write_bytes(short)
    (packed / "widened").write_bytes(save(widen(load(short))))
    for number, asked in enumerate(ASKED):
        translator.see(**asked).save(packed / f"trace.{number}")
    (packed / "told.json").write_text(json.dumps(ASKED), encoding="utf-8")
    done = run_vitest("tests/student.test.ts", STUDENT=str(packed))
    assert ("skipped" in done) == (not WASM.is_file())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decode": {"repetition_penalty": 1.2}}, r"search with decode\.repetition_penalty=1\.2"),
        ({"decode": {"beam": 4, "beam_groups": 2}}, r"search with decode\.beam_groups=2"),
        ({"decode": {"mbr": 8}}, r"search with decode\.mbr=8"),
        ({"decode": {"typography": "plain"}}, r"search with decode\.typography=plain"),
        ({"text": {"source_eos": False}}, r"does not know text\.source_eos=false"),
        ({"data": {"target_tag": "<2de>"}}, r"does not know .* data\.target_tag"),
    ],
)
def test_settings_that_a_page_would_leave_out_are_refused(
    tmp_path: Path, model: Path, changes: dict[str, Any], message: str
) -> None:
    folder = shutil.copytree(model, tmp_path / "model")
    (folder / CONFIG).write_text(Config.load(folder / CONFIG).changed(**changes).to_toml())
    with pytest.raises(ValueError, match=f"a page (cannot )?{message}"):
        pack_model(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made"))


def widen(stored: dict[str, Any]) -> dict[str, Any]:
    """Four bits as int8, number by number."""
    found = {}
    for name, each in stored.items():
        if f"factors.{name}" in stored:
            each = each.copy()
            for (row, column), number in np.ndenumerate(each):
                factor = int(stored[f"factors.{name}"][row, column // 64])
                each[row, column] = math.floor(int(number) * factor / 4 + 0.5)
        if not name.startswith("factors."):
            found[name] = each
    return found


def test_four_bits_are_near_eight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few numbers for each row, and int8 ones that are nearer than those by the largest number."""
    monkeypatch.setattr(four_bits, "FREQUENT", 20)
    config, tokenizers, network = load_model(make(tmp_path, d_ff=100))  # no multiple of 64
    save_model(tmp_path / "model", config, tokenizers, network.state_dict())
    whole, short = (load(pack_model(tmp_path / "model", bits)) for bits in (8, 4))
    found, count = widen(short), 0
    for name, wanted in whole.items():
        if wanted.dtype != np.int8:
            np.testing.assert_allclose(found[name], wanted, rtol=2**-8)
            continue
        largest = np.full((len(wanted), 1), 7)
        if "table" in name:
            largest[four_bits.find_rare(tokenizers.source)] = 3
            assert (largest == 7).sum() == 20
        assert (np.abs(short[name]) <= largest).all()
        for at in range(0, wanted.shape[1], 64):
            group = wanted[:, at : at + 64].astype(int)
            step = np.maximum(1, np.abs(group).max(axis=1, keepdims=True) / largest)
            plain = ((np.rint(group / step) * step - group) ** 2).sum()
            error = ((found[name][:, at : at + 64] - group) ** 2).sum()
            # Factors are in quarters, and products whole: half a step each in a third of the cases.
            assert error <= 0.97 * plain + group.size / 6, name
            count += 1
    assert count > 20
    with pytest.raises(ValueError, match="bits=5: one of 4, 8"):
        build_living_page([tmp_path / "model"], bits=5)


def test_the_numbers_of_a_student_stay(tmp_path: Path) -> None:
    """A page has the int8 numbers of its file: one step for a whole matrix, not one for a row."""
    export_student(make(tmp_path), tmp_path / "student", texts=SEEN)
    import_model(tmp_path / "student", tmp_path / "model")
    wanted, found = load_file(tmp_path / "model" / WEIGHTS), load(pack_model(tmp_path / "model"))
    assert {*wanted} == {*found}
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


def test_a_weight_that_no_equation_has_is_not_left_out() -> None:
    config, tokenizers, weights = open_model("demo")
    names = [*weights.tensors, "decoder.0.self_attention.temperature"]
    assert _describe_graph(config.model, tokenizers, weights.tensors)
    with pytest.raises(ValueError, match=r"compute without the weight decoder\.0\.self_attention"):
        _describe_graph(config.model, tokenizers, names)
