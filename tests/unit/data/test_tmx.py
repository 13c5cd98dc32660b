"""Translation memories."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from glassformer.data.corpus import find_data

HEAD = '<?xml version="1.0" encoding="{}"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
UNIT = '<tu><tuv xml:lang="{}"><seg>{}</seg></tuv><tuv xml:lang="{}"><seg>{}</seg></tuv></tu>\n'


def _read(path: Path, body: str, encoding: str = "utf-8") -> list[tuple[str, str]]:
    text = HEAD.format(encoding) + f'<tmx version="1.4"><header/><body>{body}</body></tmx>\n'
    raw = text.encode(encoding)
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return list(find_data(path, "en", "de").train)


@pytest.mark.parametrize("name", ["m.tmx", "m.tmx.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_pairs_whatever_their_order_and_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    body = UNIT.format("en", "a &amp; b", "de", "für") + UNIT.format("de", "ß", "en", "c")
    assert _read(tmp_path / name, body, encoding) == [("a & b", "für"), ("c", "ß")]


def test_a_language_means_its_countries_too(tmp_path: Path) -> None:
    body = UNIT.format("EN-gb", "a", "de_AT", "b") + UNIT.format("eng", "x", "de", "y")
    both = '<tuv xml:lang="en-US"><seg>us</seg></tuv><tuv xml:lang="en"><seg>c</seg></tuv>'
    body += f'<tu>{both}<tuv lang="de"><seg>d</seg></tuv></tu>'
    assert _read(tmp_path / "m.tmx", body) == [("a", "b"), ("c", "d")]


def test_each_variant_is_a_pair(tmp_path: Path) -> None:
    variants = "".join(f'<tuv xml:lang="de"><seg>{text}</seg></tuv>' for text in "bcb")
    body = f'<tu><tuv xml:lang="en"><seg>a</seg></tuv>{variants}</tu>'
    countries = '<tuv xml:lang="en-US"><seg>us</seg></tuv><tuv xml:lang="en-GB"><seg>gb</seg></tuv>'
    body += f'<tu>{countries}<tuv xml:lang="de"><seg>d</seg></tuv></tu>'
    pairs = [("a", "b"), ("a", "c"), ("us", "d"), ("gb", "d")]
    assert _read(tmp_path / "m.tmx", body) == pairs


def test_markup_goes_and_its_text_stays(tmp_path: Path) -> None:
    marked = (
        'The <hi>red</hi> <bpt i="1">&lt;b&gt;</bpt>cat<ept i="1">&lt;/b&gt;</ept>'
        '<ph x="1">{0}<sub>hint</sub></ph>,\n  <it pos="begin">[</it>sat<ut>x</ut>.\n'
    )
    body = UNIT.format("en", marked, "de", "<![CDATA[1 < 2]]>\u00a0x")
    assert _read(tmp_path / "m.tmx", body) == [("The red cat, sat.", "1 < 2\u00a0x")]


def test_more_than_one_chunk(tmp_path: Path) -> None:
    body = "".join(UNIT.format("en", f"number {n}", "de", f"Nummer {n}") for n in range(5000))
    assert _read(tmp_path / "m.tmx", body)[4999] == ("number 4999", "Nummer 4999")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"<tmx><body><tu></body></tmx>", r"m\.tmx, line 1: not XML"),
        (b"<tmx>\n<body>", r"m\.tmx, line 2: not XML: no element found"),
        (b"\x00\x01", r"m\.tmx, line 1: not XML"),
        (b"<tmx></tmx>", r"m\.tmx: no pair of en and de; languages there: none"),
        (UNIT.format("en", "a", "fr", "b").encode(), r"of en and de; languages there: en, fr"),
        (b'<!DOCTYPE t [<!ENTITY a "aa">]><t>&a;</t>', r"m\.tmx: declares the entity a"),
        (b'<!DOCTYPE t [<!ENTITY a SYSTEM "m.tmx">]><t>&a;</t>', "declares the entity a"),
        (b'<!DOCTYPE t [<!ENTITY % a "b">]><t/>', "declares the entity a"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, raw: bytes, sentence: str) -> None:
    (tmp_path / "m.tmx").write_bytes(raw)
    with pytest.raises(ValueError, match=sentence):
        list(find_data(tmp_path / "m.tmx", "en", "de").train)


def test_languages_must_be_said(tmp_path: Path) -> None:
    (tmp_path / "m.tmx").write_text("<tmx/>", encoding="utf-8")
    with pytest.raises(ValueError, match="say --source-lang and --target-lang"):
        list(find_data(tmp_path / "m.tmx").train)
