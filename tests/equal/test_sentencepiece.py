"""Imported tokenizers cut a text as SentencePiece itself, on all planes of Unicode."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from glassformer.extensions.foreign_tokenizers.sentencepiece import Sentencepiece
from glassformer.extensions.foreign_tokenizers.sentencepiece_writer import write_sentencepiece
from glassformer.text.kinds import load_tokenizer
from glassformer.text.layout import CONTROLS

sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")

LINES = [
    "the cat sat on the mat, and the dog did not",
    "it is said of it, so they say: 12,000 of ½ kg",
    "die Katze sitzt auf der Matte – während der Hund schläft",
    "パソコンのデータを入力してください。 ガギグゲゴ",
    "la señora no llegó, ¿verdad? emoji 😀 here <sep> and <2fr> there",
    "我喜欢学习编程，他也喜欢。 고양이가 매트 위에 있다",
] * 10
SYMBOLS = ["<sep>", "<2fr>", "e\u0301", "the ", "▁cat", "ab", "abc", "½", "ﾃﾞ"]
RULES = ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]
MODES: dict[str, dict[str, Any]] = {
    **{f"unigram {rule}": {"normalization_rule_name": rule} for rule in RULES},
    "bpe": {"model_type": "bpe"},
    "char": {"model_type": "char", "vocab_size": 120},
    "word": {"model_type": "word", "vocab_size": 40},
    "unigram bytes": {"byte_fallback": True},
    "bpe bytes": {"model_type": "bpe", "byte_fallback": True},
    "char bytes": {"model_type": "char", "byte_fallback": True, "vocab_size": 360},
    "word bytes": {"model_type": "word", "byte_fallback": True, "vocab_size": 300},
    "unigram symbols": {"user_defined_symbols": SYMBOLS},
    "bpe symbols": {"model_type": "bpe", "user_defined_symbols": SYMBOLS},
    "char symbols": {"model_type": "char", "user_defined_symbols": SYMBOLS, "vocab_size": 120},
    "word symbols": {"model_type": "word", "user_defined_symbols": SYMBOLS, "vocab_size": 40},
    "unigram all": {"user_defined_symbols": SYMBOLS, "byte_fallback": True},
    "bpe all": {"model_type": "bpe", "user_defined_symbols": SYMBOLS, "byte_fallback": True},
    "spaces": {"remove_extra_whitespaces": False, "normalization_rule_name": "identity"},
    "no prefix": {"add_dummy_prefix": False, "model_type": "bpe"},
    "suffix": {"treat_whitespace_as_suffix": True},
    "suffix bpe": {"treat_whitespace_as_suffix": True, "model_type": "bpe"},
    "suffix word": {"treat_whitespace_as_suffix": True, "model_type": "word", "vocab_size": 40},
    "phrases": {"split_by_whitespace": False, "max_sentencepiece_length": 24},
    "phrases bpe": {"split_by_whitespace": False, "model_type": "bpe"},
    "ids": {"unk_id": 1, "bos_id": -1, "eos_id": 0},
}


def learn(folder: Path, **settings: Any) -> Any:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_prefix=str(folder / "spm"),
        minloglevel=2,
        num_threads=1,
        **{"vocab_size": 420, "hard_vocab_limit": False, "character_coverage": 0.98, **settings},
    )
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm.model"))


def make_texts(count: int, seed: int) -> list[str]:
    """Return random strings: of the learned text, of all planes, of what normalisers join."""
    draw = random.Random(seed)
    planes = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    known = sorted({*"".join(LINES)})
    joining = [*map(chr, range(0x300, 0x350)), *map(chr, range(0xFF61, 0xFFA0)), *"ｶﾞﾊﾟ"]
    pools = [known, [*known, *SYMBOLS, "▁", "  ", "</s>", "<unk>", "<0x41>"], joining]
    texts = ["", " ", "  a  b ", "▁", "\x01", "\u3000a", "a\u3000", "ﾃﾞｰﾀ", "ﾊﾟｿｺﾝ", "<unk>", "q q"]
    for _ in range(count):
        text = draw.choices(draw.choice(pools), k=draw.randrange(1, 14))
        text += draw.choices(planes, k=draw.randrange(3))
        draw.shuffle(text)
        texts.append("".join(text))
    words = " ".join(LINES).split()
    return texts + [" ".join(draw.choices([*words, *SYMBOLS], k=9)) for _ in range(count)]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_tokens_are_those_of_sentencepiece(mode: str, tmp_path: Path) -> None:
    theirs = learn(tmp_path, **MODES[mode])
    read = Sentencepiece.read(tmp_path / "spm.model")
    names = [theirs.id_to_piece(id) for id in range(theirs.get_piece_size())]
    assert [token.text for token in read.tokens] == names
    assert read.find_unknown() == theirs.unk_id() and read.find_eos() == theirs.eos_id()
    known = [name for name in names if name not in (*CONTROLS, "<unk>")]
    vocabulary = [*CONTROLS, "<unk>", *known[:-7]]  # the network lacks some
    read.to_tokenizer(vocabulary).save(tmp_path / "tokenizer.json")
    tokenizer = load_tokenizer(tmp_path / "tokenizer.json")
    ids = {token: id for id, token in enumerate(vocabulary) if id >= len(CONTROLS)}
    texts = make_texts(600, seed=5)
    wanted = [[ids.get(token, 3) for token in row] for row in theirs.encode(texts, out_type=str)]
    found = tokenizer.encode_many(texts)
    wrong = [(t, f, w) for t, f, w in zip(texts, found, wanted, strict=True) if f != w]
    assert not wrong, (len(wrong), wrong[:3])


@pytest.mark.parametrize(
    "name", [x for x in MODES if not {"symbols", "all", "bytes"} & {*x.split()}]
)
def test_spans_are_those_of_sentencepiece(name: str, tmp_path: Path) -> None:
    """Theirs are in bytes, and those of tokens within a character are empty."""
    theirs = learn(tmp_path, **MODES[name])
    read = Sentencepiece.read(tmp_path / "spm.model")
    names = [theirs.id_to_piece(id) for id in range(theirs.get_piece_size())]
    tokenizer = read.to_tokenizer(
        [*CONTROLS, "<unk>", *(x for x in names if x not in (*CONTROLS, "<unk>"))]
    )
    for text in (line.replace("½", "2") for line in LINES[:6]):
        spans = tokenizer.tokens(text).spans
        assert spans[0][0] == 0 and spans[-1][1] == len(text)
        assert all(one[1] >= two[0] >= one[0] for one, two in pairwise(spans))
        pieces = theirs.encode(text, return_type="proto").pieces
        ends = {len(text.encode()[: x.end].decode()) for x in pieces if x.begin < x.end}
        assert ends == {end for begin, end in spans if begin < end}, text


def test_decoding_is_that_of_sentencepiece(mode: str, tmp_path: Path) -> None:
    theirs = learn(tmp_path, **MODES[mode])
    read = Sentencepiece.read(tmp_path / "spm.model")
    names = [theirs.id_to_piece(id) for id in range(theirs.get_piece_size())]
    vocabulary = [*CONTROLS, "<unk>", *(x for x in names if x not in (*CONTROLS, "<unk>"))]
    tokenizer = read.to_tokenizer(vocabulary)
    for text in LINES[:6]:
        ids = tokenizer.encode(text)
        if 3 not in ids:  # theirs writes ⁇ for an unknown token
            written = theirs.decode(theirs.encode(text))
            assert tokenizer.decode(ids) == written.rstrip(" ")  # of a suffix, theirs leaves one


@pytest.mark.parametrize("name", ["unigram nmt_nfkc", "unigram all", "suffix", "spaces"])
def test_what_is_written_is_read_by_sentencepiece(name: str, tmp_path: Path) -> None:
    theirs = learn(tmp_path, **MODES[name])
    read = Sentencepiece.read(tmp_path / "spm.model")
    names = [theirs.id_to_piece(id) for id in range(theirs.get_piece_size())]
    vocabulary = [*CONTROLS, "<unk>", *(x for x in names if x not in (*CONTROLS, "<unk>"))]
    tokenizer = read.to_tokenizer(vocabulary)
    write_sentencepiece(tokenizer, tmp_path / "again.model")
    again = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "again.model"))
    texts = make_texts(300, seed=7)
    assert again.encode(texts) == tokenizer.encode_many(texts)


def test_every_character_alone(tmp_path: Path) -> None:
    theirs = learn(tmp_path, normalization_rule_name="nmt_nfkc")
    read = Sentencepiece.read(tmp_path / "spm.model")
    vocabulary = [*CONTROLS, "<unk>", *(token.text for token in read.tokens[3:])]
    tokenizer, ids = read.to_tokenizer(vocabulary), {x: id for id, x in enumerate(vocabulary)}
    texts = [chr(code) for code in range(1, 0x110000, 7) if not 0xD800 <= code < 0xE000]
    wanted = [[ids.get(token, 3) for token in row] for row in theirs.encode(texts, out_type=str)]
    assert tokenizer.encode_many(texts) == wanted
