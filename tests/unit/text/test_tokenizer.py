"""Whatever goes in comes out, in tokens that know where they are from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from damage.growth import is_linear
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend

from glassformer.text import BOS, EOS, PAD, Tokenizer
from glassformer.text.kinds import train_tokenizer
from glassformer.text.layout import FIRST_BYTE, FIRST_CHARACTER

NASTY = [
    "",
    " ",
    "  ",
    "  x",
    "x  ",
    " a  b ",
    "\t",
    "\n",
    "a\r\nb",
    "\u00a0a\u00a0",
    "\u2028",
    "\x00",
    "<",
    "<pad>",
    "<s>",
    "</s>",
    "<0x41>",
    "<0x41><0x42>",
    " <pad> ",
    "<<pad>>",
    "<0x",
    "x<s>y",
    "_",
    "snake_case",
    "|",
    "a|b",
    "▁",
    "▁a ▁b",
    "@@",
    "a@@ b",
    "##a",
    "Ġ",
    "\ufffd",
    "\ufeff",
    "🙂",
    "👩‍👩‍👧‍👦",
    "🏳️‍🌈",
    "🇫🇷",
    "a🙂b",
    "שלום",
    "مرحبا بالعالم",
    "我喜欢",
    "学 习",
    "ไทย",
    "한국어",
    "e\u0301",
    "\u0301",
    " \u0301",
    "q\u0307\u0323",
    "\u1112\u1161\u11ab",
    "Å",
    "\u212b",
    "ﬁ",
    "don't",
    "l’homme",
    "'",
    "''",
    "1984",
    "٣٤",
    "½",
    "\ud800",
    "a\udfffb",
    "\ud83d\ude42",
]
parts = st.sampled_from([*NASTY, "the cat", " cat", "é", "<b>", "10"])
texts = st.one_of(st.text(st.characters()), st.lists(parts).map("".join))


def expected(text: str) -> str:
    return normalize("NFC", re.sub(r"[\ud800-\udfff]", "\ufffd", text))


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text_comes_back(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == expected(text)


@given(text=texts)
def test_any_text_comes_back(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == expected(text)
    assert all(EOS < id < len(tokenizer) for id in ids)


@given(text=texts)
def test_spans_are_in_order_and_cover_the_text(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.tokens(text)
    assert list(tokens.ids) == tokenizer.encode(text)
    assert tokens.texts == tuple(map(tokenizer.token, tokens.ids))
    assert tokens.spans == tuple(sorted(tokens.spans))
    reached = 0
    for start, end in tokens.spans:
        assert start <= reached <= end
        reached = end
    assert reached == len(text)


@given(text=texts)
def test_a_token_is_what_its_span_holds(tokenizer: Tokenizer, text: str) -> None:
    text = expected(text)
    tokens = tokenizer.tokens(text)
    for number, (id, span) in enumerate(zip(tokens.ids, tokens.spans, strict=True)):
        held = text[slice(*span)] if number else " " + text[slice(*span)]
        if FIRST_BYTE <= id < FIRST_CHARACTER:
            assert len(held) == 1
            assert id - FIRST_BYTE in held.encode()
        else:
            assert held == tokenizer.token(id)


def test_the_bytes_of_a_character_share_its_span(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokens("a🙂e\u0301")
    assert tokens.texts[-5:] == ("<0xF0>", "<0x9F>", "<0x99>", "<0x82>", "é")
    assert tokens.spans[-5:] == ((1, 2), (1, 2), (1, 2), (1, 2), (2, 4))


def test_a_first_word_is_the_token_that_it_is_elsewhere(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("cat").texts == (" cat",)
    assert tokenizer.tokens("cat").spans == ((0, 3),)
    assert tokenizer.tokens("the cat").texts == (" the", " cat")
    assert tokenizer.tokens(" cat").texts == (" ", " cat")
    assert tokenizer.tokens(" cat").spans == ((0, 0), (0, 4))


@given(st.data())
def test_what_was_in_the_training_text_is_never_split(
    tokenizer: Tokenizer, lines: list[str], data: st.DataObject
) -> None:
    text = data.draw(st.text(st.sampled_from(sorted(set("".join(lines))))))
    assert all(id >= FIRST_CHARACTER for id in tokenizer.encode(text))


@given(st.data())
def test_any_ids_give_a_text(tokenizer: Tokenizer, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(-5, len(tokenizer) + 5)))
    text = tokenizer.decode(ids)
    text.encode("utf-8")
    assert tokenizer.decode([BOS, *ids, EOS, PAD]) == text
    assert tokenizer.decode(np.array(ids, dtype=np.int64)) == text
    assert ("\ufffd" in text) or all(0 <= id < len(tokenizer) for id in ids)


def test_broken_bytes_and_controls(tokenizer: Tokenizer) -> None:
    bytes_of = [FIRST_BYTE + byte for byte in "é".encode()]
    assert tokenizer.decode(bytes_of) == "é"
    assert tokenizer.decode(bytes_of[:1]) == "\ufffd"
    assert tokenizer.decode([bytes_of[0], BOS, bytes_of[1], PAD]) == "é"
    assert tokenizer.decode_many([[], [EOS], bytes_of]) == ["", "", "é"]
    assert [tokenizer.token(id) for id in (PAD, BOS, EOS)] == ["<pad>", "<s>", "</s>"]
    assert tokenizer.token(FIRST_BYTE + 0x41) == "<0x41>"
    with pytest.raises(ValueError, match=f"go from 0 to {len(tokenizer) - 1}"):
        tokenizer.token(-1)


def test_many_at_once_are_as_one_by_one(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode_many(NASTY) == [tokenizer.encode(text) for text in NASTY]
    assert tokenizer.encode_many([]) == []


def test_every_character_enters_however_rare() -> None:
    tokenizer = train_tokenizer(["aa bb aa bb " * 50, "≈"], 262 + 4)
    assert "≈" in tokenizer.vocabulary
    assert len(tokenizer) == 262 + 4


def test_text_about_controls_and_bytes_yields_neither() -> None:
    text = "a <pad> <s>b</s> <0x41><0x42> <<s>> "
    tokenizer = train_tokenizer([text * 50] * 9, 400)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert min(tokenizer.encode(text)) >= FIRST_CHARACTER
    assert len(set(tokenizer.vocabulary)) == len(tokenizer)


def test_no_room_for_the_characters() -> None:
    with pytest.raises(ValueError, match=r"3 different characters .* must be at least 262"):
        train_tokenizer(["ab"], 261)
    assert len(train_tokenizer(["ab"], 262)) == 262  # 3 controls, 256 bytes, " ", "a", "b"


def test_a_vocabulary_may_be_smaller_than_asked() -> None:
    tokenizer = train_tokenizer(["ab ab cd"], 5000)
    assert tokenizer.vocabulary[FIRST_CHARACTER:] == (" ", "a", "b", "c", "d", " a", " ab")


def test_nothing_to_learn_from() -> None:
    with pytest.raises(ValueError, match="no text"):
        train_tokenizer(["", ""], 1000)


def test_an_error_in_the_lines_comes_through() -> None:
    def lines() -> Iterator[str]:
        yield "a"
        raise ValueError("line 2 is bad")

    with pytest.raises(ValueError, match="line 2 is bad"):
        train_tokenizer(lines(), 1000)


@given(text=st.text(st.characters(exclude_categories=("Cs", "Cn"), max_codepoint=0xFFFF)))
def test_hugging_face_reads_the_file_alike(
    tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "tokenizer.json"
    if not path.exists():
        tokenizer.save(path)
    theirs = Backend.from_file(str(path))
    assert theirs.encode(text).ids == tokenizer.encode(text)
    assert theirs.decode(tokenizer.encode(text)) == expected(text)


def test_training_is_the_same_in_another_process(tokenizer: Tokenizer, lines: list[str]) -> None:
    program = (
        "import sys; from glassformer.text import train_tokenizer; "
        "print(train_tokenizer(sys.argv[1:], 600).fingerprint)"
    )
    for seed, threads in (("1", "1"), ("2", "3")):
        settings = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads}
        settings |= {"PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run(
            [sys.executable, "-c", program, *lines], capture_output=True, check=True, env=settings
        )
        assert ran.stdout.decode().strip() == tokenizer.fingerprint


@pytest.mark.parametrize("unit", ["a", "好", "一二三四五", " ", "🙂", "e\u0301", "\u0301", "<"])
def test_long_text_takes_time_in_proportion(tokenizer: Tokenizer, unit: str) -> None:
    def read(text: str) -> None:
        assert tokenizer.decode(tokenizer.tokens(text).ids) == expected(text)

    assert is_linear(read, lambda length: unit * (length // len(unit)))


def test_real_text_comes_back(data: Path) -> None:
    lines = (data / "multi30k" / "valid.de").read_text(encoding="utf-8").split("\n")
    tokenizer = train_tokenizer(lines, 2000)
    assert len(tokenizer) == 2000
    encoded = tokenizer.encode_many(lines)
    assert tokenizer.decode_many(encoded) == lines
    assert sum(map(len, encoded)) < 0.35 * sum(map(len, lines))
