"""A model in Marian's own files computes the same after its import.

They are written as `benchmarks/as_marian.py` writes them, which Marian's own decoder reads.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import as_marian
from glassformer.config import BOS, EOS, Config
from glassformer.extensions.bridge.importing import import_model
from glassformer.model.files.directory import Tokenizers, build_model, load_model, save_model
from glassformer.text.kinds import train_tokenizer

MODEL = {
    "d_model": 16,
    "d_ff": 24,
    "heads": 2,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "norm_epsilon": 1e-9,
    "output_bias": True,
    "positions": {"layout": "concatenated", "grid": "tensor2tensor"},
}


def write(folder: Path) -> torch.nn.Module:
    """Write a random model in Marian's files to `folder`/npz; return it as ours."""
    torch.manual_seed(1)
    tokenizer = train_tokenizer(["a few words of text", "and a few more"], 300)
    config, tokenizers = Config.read({"model": MODEL}), Tokenizers(tokenizer, tokenizer)
    network = build_model(config, tokenizers).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        network.target_embedding.table.weight[BOS] = 0  # type: ignore[index, union-attr, operator]
    save_model(folder / "ours", config, tokenizers, network.state_dict())
    as_marian.write(folder / "ours", folder / "npz")
    words = "vocabs:\n- words.yml\n- words.yml\n"
    (folder / "npz" / "decoder.yml").write_text(words)
    return network


def test_logits_are_the_same(tmp_path: Path) -> None:
    network = write(tmp_path)
    found = import_model(tmp_path / "npz", tmp_path / "back", subwords=["none"])
    assert found.grids is not None and found.grids.grid == "marian"
    config, tokenizers, back = load_model(tmp_path / "back")
    assert (config.model.tie, config.model.norm) == ("three-way", "post")
    names = tokenizers.source.vocabulary
    kept = range(3, len(network.state_dict()["output_bias"]))
    ids = {EOS: EOS, **{id: names.index(str(id)) for id in kept}}  # its words are our ids
    source, target = [20, 33, 44, 17, EOS], [9, 10, 40]
    with torch.inference_mode():
        wanted = network(torch.tensor([source]), torch.tensor([[BOS, *target]]))[0]
        mine = torch.tensor([[ids[id] for id in source]])
        logits = back(mine, torch.tensor([[BOS, *(ids[id] for id in target)]]))[0]
    assert torch.equal(logits[:, [*ids.values()]], wanted[:, [*ids]])
    assert logits.log_softmax(-1)[:, :2].max() < -100, "neither padding nor the begin"


ID_CONVENTIONS: dict[str, dict[str, int]] = {
    "of spm_train": {},
    "of Marian": {"unk_id": 1, "bos_id": -1, "eos_id": 0},
    "turned": {"unk_id": 3, "bos_id": 2, "eos_id": 1, "pad_id": 0},
}


@pytest.mark.parametrize("convention", ID_CONVENTIONS)
def test_ids_are_those_of_the_file(convention: str, tmp_path: Path) -> None:
    """A row of Marian's table belongs to the token of this id, which SentencePiece itself says."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    write(tmp_path)
    folder = tmp_path / "npz"
    arrays = dict(np.load(folder / "model.npz"))
    rows = len(arrays["Wemb"])
    text = ["the cat sat on the mat and the dog did not", "it is said of it, so they say"] * 20
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text),
        model_prefix=str(tmp_path / "spm"),
        vocab_size=40,
        hard_vocab_limit=False,
        minloglevel=2,
        **ID_CONVENTIONS[convention],
    )
    (tmp_path / "spm.model").rename(folder / "vocab.spm")
    (folder / "decoder.yml").write_text("vocabs:\n- vocab.spm\n- vocab.spm\n")
    theirs = sentencepiece.SentencePieceProcessor(str(folder / "vocab.spm"))
    size = theirs.get_piece_size()
    assert size <= rows
    arrays["Wemb"] = arrays["Wemb"][:size]
    arrays["decoder_ff_logit_out_b"] = arrays["decoder_ff_logit_out_b"][:, :size]
    np.savez(folder / "model.npz", **arrays)
    import_model(folder, tmp_path / "back")
    _, tokenizers, back = load_model(tmp_path / "back")
    weights = back.state_dict()
    for line in ("the cat did not say so", "zzz it is"):
        wanted = arrays["Wemb"][theirs.encode(line)]
        ids = tokenizers.source.encode(line)
        assert np.array_equal(weights["source_embedding.table.weight"][ids].numpy(), wanted), line
    own = weights["target_embedding.table.weight"]
    assert np.array_equal(own[EOS].numpy(), arrays["Wemb"][theirs.eos_id()])
    assert not own[BOS].any()


@pytest.mark.parametrize(
    ("normalize", "penalty"),
    [
        ("0.6", ("power", 0.6)),
        ("0", ("none", None)),
        ("true", ("power", 1.0)),
        ("", ("power", 1.0)),
    ],
)
def test_the_length_penalty_is_that_of_the_file(
    normalize: str, penalty: tuple[str, float | None], tmp_path: Path
) -> None:
    write(tmp_path)
    with (tmp_path / "npz" / "decoder.yml").open("a") as file:
        file.write(f"normalize: {normalize}\n" * bool(normalize))
    import_model(tmp_path / "npz", tmp_path / "back", subwords=["none"])
    decode = load_model(tmp_path / "back")[0].decode
    assert decode.length_penalty == penalty[0] and penalty[1] in (None, decode.alpha)


@pytest.mark.parametrize(
    ("names", "languages", "source"),
    [
        (("vocab.de.yml", "vocab.en.yml"), "en-de", "en"),
        (("vocab.de.yml", "vocab.en.yml"), "de-en", "de"),
        (("trgvocab.yml", "srcvocab.yml"), "", "src"),
        (("vocab.de.yml", "vocab.en.yml"), "", ""),
    ],
)
def test_which_vocabulary_is_of_the_source(
    names: tuple[str, str], languages: str, source: str, tmp_path: Path
) -> None:
    write(tmp_path)
    folder = tmp_path / "npz"
    words = (folder / "words.yml").read_text(encoding="utf-8")
    for name in names:  # the tokens of the source begin with a mark
        mark = "S" if source and source in name else "T"
        text = re.sub(r'^"?(\d+)"?:', rf'"{mark}\1":', words, flags=re.MULTILINE)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "decoder.yml").unlink()
    how = {"subwords": ["none"], "languages": languages}
    if not source:
        with pytest.raises(ValueError, match="--languages"):
            import_model(folder / "model.npz", tmp_path / "back", **how)
        return
    import_model(folder / "model.npz", tmp_path / "back", **how)
    _, tokenizers, _ = load_model(tmp_path / "back")
    assert any(token.strip().startswith("S") for token in tokenizers.source.vocabulary)
    assert not any(token.strip().startswith("S") for token in tokenizers.target.vocabulary)


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    write(tmp_path)
    folder, out = tmp_path / "npz", tmp_path / "back"
    with pytest.raises(ValueError, match="--subwords FILE"):
        import_model(folder, out)
    whole = dict(np.load(folder / "model.npz"))
    text = whole["special:model.yml"].tobytes().rstrip(b"\0").decode()
    for change, sentence in (
        ({"special:model.yml": np.frombuffer(b"type: s2s\n", np.int8)}, "type=s2s: only models wi"),
        ({"encoder_l1_ffn_W1": np.array([None])}, "damaged, or more than weights"),
        ({"encoder_l1_self_Wq_lora": np.zeros(3, "f4")}, "lora is no weight of a plain Transf"),
        (
            {
                "special:model.yml": np.frombuffer(
                    f"{text}transformer-ffn-depth: 3\n".encode(), "i1"
                )
            },
            "transformer-ffn-depth=3: only models with 2",
        ),
    ):
        np.savez(folder / "model.npz", **{**whole, **change})
        with pytest.raises(ValueError, match=sentence):
            import_model(folder, out, subwords=["none"])
    whole.pop("special:model.yml")
    np.savez(folder / "model.npz", **whole)
    with pytest.raises(ValueError, match="so it is no model of Marian"):
        import_model(folder, out, subwords=["none"])
    assert not out.exists()
