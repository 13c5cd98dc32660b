"""What happens to a text before it is cut, the way back, and that Hugging Face does the same."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers.normalizers import NFKC

from glassformer.config import Config
from glassformer.text import Normalization
from glassformer.text.kinds import load_tokenizer, train_tokenizer
from glassformer.text.normalization import MARKS, PLAIN

ALL = [Normalization(*flags) for flags in product((False, True), repeat=3)]
LINES = ["the “Cat” – ﬁne … ÉTÉ", "the 'cat' - fine ... été ΟΔΟΣ"] * 3
TRICKY = ["ﬁ", "ｶﾞ", "Å", "e\u0301", "É", "İ", "Σ", "…", "“", "–", "½", "ß", "\u1112\u1161", "x"]
# Compatibility characters that are younger than the Unicode of Hugging Face's tokenizers.
YOUNG = "\u32ff\ua7f2\ua7f3\ua7f4\uab69"
texts = st.one_of(st.text(), st.lists(st.sampled_from([*TRICKY, " ", "\ud800"])).map("".join))
normalizations = st.sampled_from(ALL)


@pytest.mark.parametrize(
    ("how", "text", "wanted"),
    [
        ({}, "“É”…", "“É”…"),
        ({"nfkc": True}, "ﬁ ｶﾞ ½ É", "fi ガ 1⁄2 É"),
        ({"lowercase": True}, "ÉTÉ ΟΔΟΣ", "été οδοσ"),
        ({"punctuation": True}, "„a“ «b» ‹c’ – — −1 …", '"a" "b" \'c\' - - -1 ...'),
        (dict.fromkeys(("nfkc", "lowercase", "punctuation"), True), "“ＡＢ”…", '"ab"...'),
    ],
)
def test_what_a_text_becomes(how: dict[str, bool], text: str, wanted: str) -> None:
    assert Normalization(**how).clean(text) == wanted


@given(texts, normalizations)
def test_spans_are_in_order_and_cover_the_text(text: str, how: Normalization) -> None:
    cleaned, spans = how.clean_with_spans(text)
    assert cleaned == how.clean(text)
    assert len(spans) == len(cleaned) and spans == sorted(spans)
    assert {place for span in spans for place in range(*span)} == {*range(len(text))}


def test_every_character_is_found_again_in_nfkc() -> None:
    form = Normalization(nfkc=True)
    for code in (*range(0xD800), *range(0xE000, 0x30000)):
        for text in (chr(code), f"x{chr(code)}\u0301", f"か{chr(code)}"):
            assert form.clean_with_spans(text)[0] == normalize("NFKC", text), hex(code)


def test_only_young_characters_differ_from_those_of_hugging_face() -> None:
    theirs = NFKC()
    characters = [chr(code) for code in range(0x10000) if category(chr(code)) not in ("Cs", "Cn")]
    others = [x for x in characters if theirs.normalize_str(x) != normalize("NFKC", x)]
    assert len(characters) > 50_000 and {*others} <= {*YOUNG}


@given(
    text=st.text(
        st.characters(
            exclude_categories=("Cs", "Cn"), max_codepoint=0xFFFF, exclude_characters=YOUNG
        )
    )
)
@pytest.mark.parametrize("how", ALL)
def test_the_file_has_it_and_hugging_face_does_the_same(
    how: Normalization, text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"{ALL.index(how)}.json"
    if not path.exists():
        train_tokenizer(LINES, 400, "bpe", how).save(path)
    ours = load_tokenizer(path)
    assert ours.normalization == how
    assert Backend.from_file(str(path)).encode(text).ids == ours.encode(text)
    assert ours.decode(ours.encode(text)) == how.clean(text)
    assert list(ours.tokens(text).ids) == ours.encode(text)


def test_a_mark_stands_for_one_other_only() -> None:
    marks = "".join(MARKS.values())
    assert len({*marks}) == len(marks) and not {*marks} & {*"".join(MARKS)}


def test_the_settings_say_of_which_side() -> None:
    text = Config.read({"text": {"nfkc": "both", "lowercase": "source"}}).text
    assert Normalization.choose(text, "source") == Normalization(nfkc=True, lowercase=True)
    assert Normalization.choose(text, "target") == Normalization(nfkc=True)
    assert Normalization.choose(Config().text, "source") == PLAIN


def test_another_normalization_keeps_the_tokens(tmp_path: Path) -> None:
    plain = train_tokenizer(["a cat"] * 3, 300)
    small = plain.with_normalization(Normalization(lowercase=True))
    assert small.vocabulary == plain.vocabulary
    assert small.encode("A CAT") == plain.encode("a cat") != plain.encode("A CAT")
    assert small.with_tags(["<bt>"]).normalization == small.normalization
    assert small.find_unknown("A CAT") == [] != plain.find_unknown("A CAT")
