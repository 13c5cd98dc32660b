"""Sentences by rule: what ends one, what does not, and that nothing is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from damage.growth import is_linear
from hypothesis import given
from hypothesis import strategies as st

from glassformer.text import sentences
from glassformer.text.sentences import split_sentences
from glassformer.text.spacing import join_sentences
from tools.demo_corpus import pairs

# Each row is one text; its sentences stand between bars.
TEXTS = """
The cat sleeps.|The dog runs!|Does it?|Yes... no?!|It does…|So it is
He said “Go.”|Then he left.|"Stop!" he cried.|(He came.|He saw.)|Done.
"Where?" she asked.|He (Tom!) laughed.|'Here.'|Oh!
Dr. Smith met Mr. and Mrs. Jones, Prof. J. S. Bach and John F. Kennedy Jr. here.|They sang.
It ended at 5 p.m.|They left the U.S. Army at 8 a.m. sharp.|We saw Plan B.|Then it rained.
See e.g. Paris, i.e. France, cf. Fig. 3, No. 5 vs. No. 6 of Vol. 2 etc. and so on.|No.|It isn't.
It's 3.14, .5 or 1.000,50.|Open a.txt, see https://a.org/b?c=d!e.f now.|Node.js and .NET run.
If you don't.|I can't.|It was Tom's.|Then came 1984.|And 2001.|Ok
Ich komme am 3. Mai, im 19. Jahrhundert, mit Wilhelm II. Kaiser nach Hause.|Er kommt.
Das ist z. B. Der Spiegel, d. h. Sie lesen ihn, bzw. Frau Dr. Maier (geb. Müller).|Gut.
Er sagte: „Hallo.“|Dann ging er.|Sie rief: »Nein!«|»Doch.«|„Na ja …“|Schluss.
Mit Mehl, Zucker usw. backt er bei Nr. 7 der S. 12, 3. Aufl. und fertig.|Ende
M. Dupont et Mme. Curie sont là, p. ex. Marie.|« Quoi ? » dit-il.|« Oui ! »|Elle rit !|C'est tout.
Il l'a.|Elle y va.|Qu'est-ce qu'il y a ?|Rien av. J.-C. non plus.|L'an 2000.
¿Qué tal?|¡Hola!|Muy bien.|Ça va ?|– Oui.|– Non.
你好。|你是谁？|他说：“走吧！”|她走了…我不知道，“真的！”，他说。|来!|你呢?|对.|嗯
3．14是圆周率。|他来了！！|真的吗？！|「はい。」|彼は行った｡|終わり
नमस्ते।|आप कैसे हैं?|ठीक है।|کیا حال ہے؟|ٹھیک ہے۔|ሰላም።|እንዴት?|مرحبا.|كيف حالك؟
ሰላም ነው፡፡|ደህና ነኝ፡፡|አበበ፡ሄደ፡ቤቱ፧|እሺ።|ᐊᐃ ᐃᓄᒃ᙮|ᐄ ᐊᑏ᙮|ᏣᎳᎩ ᎠᏯ.|ᎤᏙᎯᏳ?
ጣቶች::|ፍትህ ለዞን ::|ቤት:መንግስት:: !|ང་འགྲོ་གི་ཡིན།|ཁོང་ཡོང་གི་རེད། །|ག་རེ་བྱེད༎|ཡོད།
2021 წელს მოვიდა.|შემდეგ წავიდა.|NATO აქ არის.|„კარგი!“|ასე თქვა.
안녕하세요.|네.|좋아요!
i like it.|you do not.|he said "no." and left
1. The cat.|2. The dog.|(A) A bird.|B. It sings.|IV. The end.
Hello. :-) How are you ??|Fine !!! ... ok . . .|So *** it is.
the cat is on the mat .|the dog runs .|yes
""".strip().splitlines()


KHMER = """
ខ្ញុំទិញផ្លែឈើ ។ល។ ហើយត្រឡប់មកផ្ទះវិញ។|គាត់មក។
ផ្លែឈើ។ ល ។ ហើយត្រឡប់ (ផ្លែឈើ ។ល។) មកផ្ទះ។
ខ្ញុំទិញផ្លែឈើ ។ល។
ខ្ញុំទិញផ្លែឈើ ។ល។។|គាត់មក។
""".strip().splitlines()


def cut(text: str, language: str | None = None) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, language)]


@pytest.mark.parametrize("row", TEXTS + KHMER)
def test_sentences_of(row: str) -> None:
    east = any("\u3040" <= character <= "\u9fff" for character in row)
    gap = "" if east else "  "
    expected = row.split("|")
    text = gap.join(expected)
    assert cut(text) == expected
    assert cut(f"\t{text} \u3000") == expected


def test_an_ordinal_needs_a_language_that_has_them() -> None:
    text = "There were 12. Tom left."
    assert cut(text, "en-GB") == ["There were 12.", "Tom left."]
    assert cut(text, "de") == cut(text) == [text]


def test_a_text_without_words_is_whole() -> None:
    assert cut("... !!! 。。 ?") == ["... !!! 。。 ?"]
    assert cut(" \u3000\n") == cut("") == []
    assert cut("Yes. ...") == ["Yes. ..."]


PIECES = [
    *sentences.ENDS_BEFORE_SPACE,
    *sentences.ENDS_ANYWHERE,
    *"\"'“”„»«‹)]（」 \n\u3000\u00a0,;:-*",
    "Dr",
    "z",
    "B",
    "3",
    "XIV",
    "No",
    "a",
    "The",
    "i",
    "I",
    "word",
    "Wort",
    "你",
    "好",
    "네",
]
SLOW = ["a.-", "Dr.-", "!*-", "(((", "?-", "a.", ".-", "-", "a-b-", "。，", '."', "Aa.-", "».«-"]
SLOW += ["「", "「。", "「。」", "“！", "（。", "Nr.-1.-", "J.-S.-", "l'art.-", "a.-C.-"]
SLOW += ["ሰ::", "ཀ།"]
ANY_TEXT = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))


@given(ANY_TEXT, st.sampled_from([None, "de", "en"]))
def test_sentences_and_white_space_are_the_whole_text(text: str, language: str | None) -> None:
    spans = split_sentences(text, language)
    at = 0
    for start, end in spans:
        assert text[at:start].strip() == "" and start < end
        assert text[start:end] == text[start:end].strip()
        at = end
    assert text[at:].strip() == ""
    assert join_sentences(text, spans, [text[slice(*span)] for span in spans]) == (text, spans)


@given(ANY_TEXT)
def test_every_sentence_has_a_word_if_the_text_has_one(text: str) -> None:
    found = cut(text)
    assert len(found) <= 1 or all(any(c.isalnum() or c == "_" for c in each) for each in found)


@pytest.mark.parametrize("unit", SLOW)
def test_time_grows_like_the_text(unit: str) -> None:
    assert is_linear(split_sentences, lambda length: (unit.replace("-", " ") * length)[:length])


@pytest.mark.parametrize(("source", "gap"), [("en", " "), ("fr", "  "), ("zh", "")])
def test_a_paragraph_of_the_built_in_corpus(source: str, gap: str) -> None:
    """Eight sentences at a time, in any order; those that end without a mark have no end."""
    target = "en" if source == "fr" else "fr"
    texts = [text for text, _ in pairs(source, target, 400, seed=3)]
    texts = [text for text in texts if text[-1] in ".!?。！？" and not text[0].islower()]
    assert len(texts) > 200
    random.SystemRandom().shuffle(texts)
    for start in range(0, len(texts), 8):
        eight = texts[start : start + 8]
        assert cut(gap.join(eight), source) == eight


@pytest.mark.parametrize("name", ["train.en", "train.de", "train.fr"])
def test_real_captions_are_seldom_torn(data: Path, name: str) -> None:
    """Multi30k has one sentence a line, but for a few: at most 1 line of 400 is divided."""
    lines = (data / "multi30k" / name).read_text(encoding="utf-8").splitlines()[:8000]
    torn = [line for line in lines if len(cut(line, name[-2:])) > 1]
    assert len(torn) <= len(lines) / 400, torn
    whole = [line for line in lines if line.endswith(".") and line[0].isupper()]
    text = " ".join(whole)
    assert len(cut(text, name[-2:])) >= 0.998 * len(whole)
