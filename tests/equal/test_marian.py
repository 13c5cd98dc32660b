"""An imported model computes what `transformers` does, on the tokens that SentencePiece finds."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from glassformer.cli import main
from glassformer.config import BOS, EOS, PAD, Config, Decode
from glassformer.decode import search
from glassformer.extensions.bridge.importing import import_model
from glassformer.extensions.foreign_tokenizers.sentencepiece import Sentencepiece
from glassformer.model.files.directory import load_model
from glassformer.text.kinds import load_tokenizer

sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

TEXT = {
    "source": ["the cat sat on the mat and the dog did not", "it is said of it, so they say"] * 20,
    "target": ["die Katze sitzt auf der Matte, der Hund nicht", "man sagt es so, sagt man"] * 20,
}
SHAPES: dict[str, dict[str, Any]] = {
    "shared": {"activation_function": "swish"},
    "separate": {
        "activation_function": "relu",
        "share_encoder_decoder_embeddings": False,
        "d_model": 24,
    },
    "untied": {
        "activation_function": "gelu",
        "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False,
        "encoder_layers": 1,
    },
}
LONGEST = 48


def learn(lines: Iterator[str], stem: Path, vocabulary: int) -> Any:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines,
        model_prefix=str(stem),
        vocab_size=vocabulary,
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
    )
    stem.with_suffix(".model").rename(stem.with_suffix(".spm"))
    return sentencepiece.SentencePieceProcessor(model_file=str(stem.with_suffix(".spm")))


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[str]]]:
    """A folder with source.spm and target.spm, and the tokens of both."""
    folder = tmp_path_factory.mktemp("spm")
    tokens = []
    for side, lines in TEXT.items():
        model = learn(iter(lines), folder / side, 60)
        tokens.append([model.id_to_piece(id) for id in range(3, model.get_piece_size())])
    return folder, tokens


@pytest.fixture
def checkpoint(texts: tuple[Path, list[list[str]]], tmp_path: Path) -> Callable[[str], Any]:
    """Writes a checkpoint as `transformers` does, with random weights, and returns the model."""

    def write(shape: str) -> Any:
        folder = shutil.copytree(texts[0], tmp_path / "opus")
        settings = SHAPES[shape]
        sides = texts[1]
        if settings.get("share_encoder_decoder_embeddings", True):
            sides = [list(dict.fromkeys(sides[0] + sides[1]))] * 2
        for tokens, name in zip(sides, ("vocab.json", "target_vocab.json"), strict=True):
            filler = [f"filler{i}" for i in range(max(map(len, sides)) - len(tokens))]
            names = ["</s>", "<unk>", *tokens, *filler, ">>deu<<", "<pad>"]
            ids = {token: id for id, token in enumerate(names)}
            (folder / name).write_text(json.dumps(ids), encoding="utf-8")
        if sides[0] is sides[1]:
            (folder / "target_vocab.json").unlink()
        network = make(len(ids), **settings)
        network.save_pretrained(folder)
        return network

    return write


def make(vocabulary: int, **settings: Any) -> Any:
    shape = {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 20,
        "decoder_ffn_dim": 20,
        "max_position_embeddings": LONGEST,
        "scale_embedding": True,
        "eos_token_id": 0,
        "pad_token_id": vocabulary - 1,
        "decoder_start_token_id": vocabulary - 1,
        "forced_eos_token_id": None,
    }
    torch.manual_seed(1)
    config = transformers.MarianConfig(vocab_size=vocabulary, **{**shape, **settings})
    network = transformers.MarianMTModel(config).eval()
    network.generation_config.num_beams = 3
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:  # loud enough for the source to matter to greedy output
                mean = 1.0 if "norm.weight" in name else 0.0
                large = 2.0 if "encoder_attn.v_proj" in name else 0.3
                parameter.normal_(mean, 0.2 if parameter.dim() == 1 else large)
        for stack in (network.model.encoder, network.model.decoder):
            stack.embed_tokens.weight[-1] = 0  # what <pad> is in a converted model
        network.final_logits_bias.normal_(0, 0.1)
    return network


def rows_of(folder: Path, name: str) -> Tensor:
    """Their id of each of ours, from the names alone; their <pad> serves as our <s> as well."""
    path = folder / name
    theirs = json.loads((path if path.is_file() else folder / "vocab.json").read_text("utf-8"))
    others = [token for token in theirs if token not in ("<pad>", "</s>")]
    return torch.tensor([theirs[token] for token in ("<pad>", "<pad>", "</s>", *others)])


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("shape", SHAPES)
def test_logits_and_greedy_output_are_those_of_transformers(
    shape: str, checkpoint: Callable[[str], Any], tmp_path: Path
) -> None:
    theirs = checkpoint(shape)
    import_model(tmp_path / "opus", tmp_path / "m")
    _, tokenizers, ours = load_model(tmp_path / "m")
    sources, targets = (rows_of(tmp_path / "opus", x) for x in ("vocab.json", "target_vocab.json"))
    generator = torch.Generator().manual_seed(2)
    source_BS = torch.randint(3, len(tokenizers.source), (20, 9), generator=generator)
    target_BT = torch.randint(3, len(tokenizers.target), (20, 7), generator=generator)
    source_BS[:, -1], target_BT[:, 0] = EOS, BOS
    source_BS[1, 4:], source_BS[1, 3] = PAD, EOS
    attention = (source_BS != PAD).long()
    with torch.inference_mode():
        wanted = theirs(sources[source_BS], attention, decoder_input_ids=targets[target_BT]).logits
        logits = ours(source_BS, target_BT)
        kept = torch.tensor([id for id in range(logits.size(-1)) if id != BOS])
        scale = max(1.0, wanted.abs().max().item())
        assert (logits - wanted[..., targets])[..., kept].abs().max() <= 1e-4 * scale
        apart = logits.log_softmax(-1) - wanted.log_softmax(-1)[..., targets]
        assert apart[..., kept].abs().max() <= 1e-4 * scale
        assert logits.log_softmax(-1)[..., BOS].max() < -100, "it never says that it starts"
        generated = theirs.generate(
            sources[source_BS],
            attention_mask=attention,
            num_beams=1,
            do_sample=False,
            max_new_tokens=30,
            bad_words_ids=[[theirs.config.pad_token_id]],
        )
        rows = [row[row != PAD].tolist() for row in source_BS]
        greedy = Decode(search="greedy", max_ratio=0, max_extra=30)
        found = [best[0].tokens for best in search(ours, rows, greedy)]
    eos = theirs.config.eos_token_id
    for mine, other in zip(found, generated.tolist(), strict=True):
        other = other[1 : other.index(eos)] if eos in other else other[1:]
        assert targets[torch.tensor(mine, dtype=torch.long)].tolist() == other
    assert len(set(map(tuple, found))) > 3, "the sources matter"


def test_the_other_grid_is_another_model(checkpoint: Callable[[str], Any], tmp_path: Path) -> None:
    """Its difference is reported, and is the same whichever is chosen (as far as greedy goes)."""
    checkpoint("shared")
    assert main(["import", str(tmp_path / "opus"), "--out", str(tmp_path / "a")]) == 0
    found = import_model(tmp_path / "opus", tmp_path / "b", grid="marian")
    assert found.grids is not None
    assert found.grids.largest_difference > found.grids.mean_difference > 1e-5
    grids = [load_model(tmp_path / name)[0].model.positions.grid for name in "ab"]
    assert grids == ["paper", "tensor2tensor"]
    weights = [load_model(tmp_path / name)[2].state_dict() for name in "ab"]
    assert all(torch.equal(x, weights[1][name]) for name, x in weights[0].items())


def test_settings_come_along(checkpoint: Callable[[str], Any], tmp_path: Path) -> None:
    checkpoint("untied")
    import_model(tmp_path / "opus", tmp_path / "m")
    config, tokenizers, _ = load_model(tmp_path / "m")
    assert (config.model.tie, config.model.activation) == ("none", "gelu")
    assert (config.model.positions.max_positions, config.decode.beam) == (LONGEST, 3)
    assert (config.decode.length_penalty, config.decode.alpha) == ("power", 1.0)
    assert config.text.vocabulary >= len(tokenizers.target) and not config.text.shared


@pytest.mark.parametrize(
    "said, known",
    [
        ({"source_lang": "en", "target_lang": "de"}, ("en", "de")),
        ({"source_lang": "ROMANCE", "target_lang": "eng"}, (None, "eng")),
        ({"source_lang": 3}, (None, None)),
        (None, (None, None)),
    ],
)
def test_languages_come_along(
    checkpoint: Callable[[str], Any],
    tmp_path: Path,
    said: dict[str, Any] | None,
    known: tuple[str | None, str | None],
) -> None:
    checkpoint("shared")
    if said is not None:
        text = json.dumps({"tokenizer_class": "MarianTokenizer", **said})
        (tmp_path / "opus" / "tokenizer_config.json").write_text(text, encoding="utf-8")
    import_model(tmp_path / "opus", tmp_path / "m")
    data = Config.load(tmp_path / "m" / "config.toml").data
    assert (data.source_lang, data.target_lang) == known


def test_weights_of_old_checkpoints(checkpoint: Callable[[str], Any], tmp_path: Path) -> None:
    """Their pickle is read as weights; one that would run something is refused."""
    theirs = checkpoint("shared")
    import_model(tmp_path / "opus", tmp_path / "new")
    (tmp_path / "opus" / "model.safetensors").unlink()
    old = tmp_path / "opus" / "pytorch_model.bin"
    torch.save(theirs.state_dict(), old)
    import_model(tmp_path / "opus", tmp_path / "old")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("new", "old")]
    assert weights[0] == weights[1]
    for content, sentence in (
        ({"weights": print}, "damaged, or more than weights"),
        ([torch.zeros(2)], "not weights by their names"),
        (None, "damaged, or more than weights"),
    ):
        torch.save(content, old)
        if content is None:
            old.write_bytes(b"junk")
        with pytest.raises(ValueError, match=f"pytorch_model.bin: {sentence}"):
            import_model(tmp_path / "opus", tmp_path / "x")
        assert not (tmp_path / "x").exists()


def test_tokens_are_those_of_their_tokenizer(
    checkpoint: Callable[[str], Any], tmp_path: Path
) -> None:
    checkpoint("shared")
    import_model(tmp_path / "opus", tmp_path / "m")
    tokenizers = load_model(tmp_path / "m")[1]
    ids = json.loads((tmp_path / "opus" / "vocab.json").read_text("utf-8"))
    for tokenizer, side in ((tokenizers.source, "source"), (tokenizers.target, "target")):
        model = sentencepiece.SentencePieceProcessor(str(tmp_path / "opus" / f"{side}.spm"))
        for text in (*TEXT["source"][:2], *TEXT["target"][:2], "", "  ", "Kä</s>", "\ud800x"):
            wanted = model.encode(text.replace("\ud800", "\ufffd"), out_type=str)
            found = tokenizer.tokens(text)
            assert found.texts == tuple(p if p in ids else "<unk>" for p in wanted)
            assert list(found.ids) == tokenizer.encode(text)
            assert not found.spans or (found.spans[0][0], found.spans[-1][1]) == (0, len(text))
    coded = tokenizers.source.tokens(">>deu<< the cat")
    assert (coded.texts[:2], coded.spans[:2]) == ((">>deu<<", "▁the"), ((0, 7), (7, 11)))


@pytest.mark.parametrize("files", [("tatoeba_en_de/train.de", "multi30k/train.en")])
@pytest.mark.thorough
def test_tokens_of_ten_thousand_lines(files: tuple[str, str], data: Path, tmp_path: Path) -> None:
    """As SentencePiece has them, but for ties: the same tokens in another order."""

    def lines(name: str, count: int) -> list[str]:
        with (data / name).open(encoding="utf-8") as file:
            return [line.rstrip("\n") for line in islice(file, count)]

    model = learn(iter(lines(files[0], 1500)), tmp_path / "real", 1500)
    read = Sentencepiece.read(tmp_path / "real.spm")
    vocabulary = ["<pad>", "<s>", "</s>", "<unk>", *read.scores]
    read.to_tokenizer(vocabulary).save(tmp_path / "tokenizer.json")
    tokenizer = load_tokenizer(tmp_path / "tokenizer.json")
    ids = {token: id for id, token in enumerate(vocabulary)}
    texts = [line for name in files for line in lines(name, 5000)]
    wanted = [[ids.get(p, 3) for p in row] for row in model.encode(texts, out_type=str)]
    found = tokenizer.encode_many(texts)
    unequal = [pair for pair in zip(found, wanted, strict=True) if pair[0] != pair[1]]
    assert len(texts) == 10_000 and len(unequal) <= 10
    assert all(sorted(mine) == sorted(theirs) for mine, theirs in unequal)
    rows = model.encode(texts, out_type=int)
    assert tokenizer.decode_many(wanted) == [
        line.replace(" \u2047 ", "\ufffd") for line in model.decode(rows)
    ]


@pytest.mark.parametrize(
    ("file", "change", "sentence"),
    [
        ("config.json", {"model_type": "bart"}, "of the kind bart: only MarianMT"),
        (
            "config.json",
            {"activation_function": "tanh"},
            "function=tanh: known are relu",
        ),
        ("config.json", {"normalize_before": True}, "normalize_before=True: only models with Fal"),
        ("config.json", {"decoder_ffn_dim": 7}, "decoder_ffn_dim=7: only models with 20"),
        (
            "config.json",
            {"encoder_ffn_dim": 7, "decoder_ffn_dim": 7},
            "weight is .* the settings",
        ),
        ("config.json", {"decoder_layers": 4}, "model.decoder.layers.3.* is missing"),
        ("config.json", {"decoder_layers": 2}, "decoder.layers.2.* is no weight of a plain Tr"),
        ("vocab.json", {"one more": 500}, "its ids are not the numbers from 0 on"),
        ("config.json", None, "config.json: damaged .no JSON"),
        ("source.spm", None, "source.spm: damaged, or no SentencePiece model"),
        ("model.safetensors", None, "damaged, or no safetensors file"),
    ],
)
def test_mistakes(
    file: str,
    change: dict[str, Any] | None,
    sentence: str,
    checkpoint: Callable[[str], Any],
    tmp_path: Path,
) -> None:
    checkpoint("shared")
    path = tmp_path / "opus" / file
    if change is None:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    else:
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(ValueError, match=sentence):
        import_model(tmp_path / "opus", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("final_logits_bias", lambda x: x[:, :5], "5 rows for"),
        ("model.encoder.layers.0.fc1.weight", lambda x: x * math.nan, "is not of finite floats"),
        ("model.encoder.layers.0.fc1.weight", lambda x: x.int(), "is not of finite floats"),
    ],
)
def test_weights_that_cannot_be_taken(
    name: str,
    change: Callable[[Tensor], Tensor],
    sentence: str,
    checkpoint: Callable[[str], Any],
    tmp_path: Path,
) -> None:
    checkpoint("separate")
    path = tmp_path / "opus" / "model.safetensors"
    weights = load_file(path)
    save_file({**weights, name: change(weights[name]).contiguous()}, path)
    with pytest.raises(ValueError, match=sentence):
        import_model(tmp_path / "opus", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_vocabulary_larger_than_its_table(
    checkpoint: Callable[[str], Any], tmp_path: Path
) -> None:
    checkpoint("separate")
    path = tmp_path / "opus" / "target_vocab.json"
    ids = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**ids, "one more": len(ids)}), "utf-8")
    with pytest.raises(ValueError, match=f"{len(ids)} rows for {len(ids) + 1} tokens"):
        import_model(tmp_path / "opus", tmp_path / "new")


@pytest.mark.parametrize("files", [("tatoeba_en_de/train.de", "multi30k/train.en")])
def test_tokens_of_a_byte_pair_model(files: tuple[str, str], data: Path, tmp_path: Path) -> None:
    """As SentencePiece has them, also those that the network has not."""
    texts = [
        line
        for name in files
        for line in (data / name).read_text(encoding="utf-8").split("\n")[:3000]
    ]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts[::2]),
        model_prefix=str(tmp_path / "bpe"),
        vocab_size=1500,
        model_type="bpe",
        minloglevel=2,
        num_threads=1,
    )
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "bpe.model"))
    read = Sentencepiece.read(tmp_path / "bpe.model")
    vocabulary = ["<pad>", "<s>", "</s>", "<unk>", *[*read.scores][:-50]]
    read.to_tokenizer(vocabulary).save(tmp_path / "tokenizer.json")
    tokenizer = load_tokenizer(tmp_path / "tokenizer.json")
    ids = {token: id for id, token in enumerate(vocabulary)}
    texts += ["", "  a  b ", "日本 text", "½ ﬁ"]
    wanted = [[ids.get(p, 3) for p in row] for row in model.encode(texts, out_type=str)]
    found = tokenizer.encode_many(texts)
    assert found == wanted and sum(row.count(3) for row in found) > 10
    (whole,) = [row for row in found if 3 not in row][:1]
    assert tokenizer.decode(whole) == texts[found.index(whole)]
