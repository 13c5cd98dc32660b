"""Terms of a glossary: where a text has them, and translations that have to contain them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from glassformer import Translator
from glassformer.cli import main
from glassformer.config import EOS, Config
from glassformer.data.glossary import Glossary, GlossaryTerm, count_terms
from glassformer.decode.run import search
from glassformer.decode.sentences import Constraint, Spelling
from glassformer.extensions.terms.constrained import measure_progress
from glassformer.extensions.terms.spelling import TermSpeller
from glassformer.text import Tokenizer

LINES = ["The cat is on the mat.", "The dog bites the old cat.", "A horse runs.", ""]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo", device="cpu", precision="fp32")


def test_a_text_has_whole_words_and_the_longest_terms() -> None:
    glossary = Glossary.of({"cat": "chat", "old cat": "matou", "US": "USA", "猫": "chat"})
    assert [t.source for t in glossary.find("The Cat, the old cat, us.")] == ["cat", "old cat"]
    assert [t.source for t in glossary.find("cats concatenate in the US")] == ["US"]
    assert [t.source for t in glossary.find("我的猫在睡")] == ["猫"]


def test_marks_go_on_a_word_and_some_scripts_have_no_spaces() -> None:
    glossary = Glossary.of({"कम": "few", "ផ្ទះ": "house", "บ้าน": "house"})
    texts = {"कमी": [], "कम पानी": ["कम"], "ក្នុងផ្ទះ": ["ផ្ទះ"], "ฉันไปบ้านแล้ว": ["บ้าน"]}
    assert {text: [each.source for each in glossary.find(text)] for text in texts} == texts
    tokenizer = SimpleNamespace(
        vocabulary=["a", "\u0940", ".", " b"], encode=lambda _: [2], encode_inside=lambda _: [3]
    )
    speller = TermSpeller(cast(Tokenizer, tokenizer), None)
    spaced, unspaced = (
        speller._spell(GlossaryTerm("x", (each,))).spellings for each in ("कम", "บ้าน")
    )
    assert [each.continuing for each in spaced] == [{0, 1}]
    assert [each.ids for each in unspaced] == [(2,), (3,)]


def test_a_target_is_whole_or_a_stem() -> None:
    assert GlossaryTerm("cat", ("chat",)).is_in("Le chat dort.")
    assert not GlossaryTerm("cat", ("chat",)).is_in("La chatte dort.")
    assert GlossaryTerm("cat", ("chat*",)).is_in("La chatte dort.")
    assert GlossaryTerm("cat", ("minet", "matou")).is_in("Un matou")


@pytest.mark.parametrize("target", ["", "\u200b", "chat|\ufeff\u2060", "\u00ad*"])
def test_a_target_of_which_nothing_is_seen_is_refused(target: str) -> None:
    with pytest.raises(ValueError, match=r"^term 'cat': neither the source nor a target may be"):
        Glossary.of({"cat": target})


def test_every_term_is_met(translator: Translator) -> None:
    for terms in ({"cat": "minet"}, {"cat": "chien", "dog": "chat|minet"}, {"mat": "lit*"}):
        found = translator.translate(LINES, glossary=terms, again=False)
        asked, met = count_terms(Glossary.of(terms), LINES, found)
        assert asked == met > 0
        assert found[3] == ""


def test_sentences_without_terms_and_terms_met_anyway_stay(translator: Translator) -> None:
    plain = translator.translate(LINES, decode={"beam": 5}, again=False)
    with_terms = translator.translate(
        LINES, decode={"beam": 5}, glossary={"cat": "chat"}, again=False
    )
    assert with_terms == plain


def test_batches_change_nothing(translator: Translator) -> None:
    how = {"glossary": {"cat": "minet", "dog": "toutou"}, "again": False}
    alone = [translator.translate(line, **how) for line in LINES]
    assert translator.translate(LINES, **how) == alone


@cache
def load_everyday() -> Translator:
    return Translator.load("everyday-en-fr", device="cpu", precision="fp32")


@pytest.mark.parametrize(
    ("text", "terms", "translation"),
    [
        (
            "Mrs. Okonkwo gave me the book.",
            {"Okonkwo": "Okonkw\u00f3"},
            "Mme Okonkw\u00f3 m'a donn\u00e9 le livre.",
        ),
        ("Thomas and Mary are there.", {"Thomas": "Tomas"}, "Tomas et Mary sont l\u00e0."),
        ("Tom left.", {"Tom": "Thomas"}, "Thomas est parti."),
        (
            "We are open 24/7 in summer.",
            {"24/7": "24 heures sur 24"},
            "Nous sommes ouverts 24 heures sur 24 en \u00e9t\u00e9.",
        ),
        ("I work for Acme Corp.", {"Acme Corp": "Acme SARL"}, "Je travaille pour Acme SARL."),
        ("NASA", {"NASA": "la NASA"}, "la NASA"),
        ("Mary Okonkwo is here.", {"Mary": "Marie*"}, "Marie Okonkwo est ici."),
        (
            "I bought Windows 11 Pro.",
            {"Windows 11 Pro": "Fen\u00eatres 11|Windows 11"},
            "J'ai achet\u00e9 Fen\u00eatres 11.",
        ),
        ("WE LOVE NASA.", {"nasa": "la NASA"}, "NOUS ADORONS la NASA."),
        (
            "Call me at 10 a.m. please.",
            {"a.m.": "du matin"},
            "Appelle-moi \u00e0 10:00 du matin.",
        ),
        ("I met him (Okonkwo).", {"Okonkwo": "Oko"}, "Je l'ai rencontr\u00e9 (Oko)."),
        ("20% of people are here.", {"20%": "un cinqui\u00e8me"}, None),
        ("Okonkwo and Okonkwo met.", {"Okonkwo": "Bob"}, None),
    ],
)
def test_a_term_in_what_stands_in_is_there_once(
    text: str, terms: dict[str, str], translation: str | None
) -> None:
    translated = load_everyday().translate(text, glossary=terms)
    assert translation in (None, translated)
    (target,) = terms.values()
    spelled = target.partition("|")[0].rstrip("*")
    assert translated.count(spelled) == len(Glossary.of(terms).locate(text))


def test_all_of_the_best_have_a_term_that_stands_in() -> None:
    terms = {"Okonkwo": "Okonkw\u00f3"}
    best = load_everyday().search("I saw Okonkwo.", n_best=3, glossary=terms)
    assert [each.text.count("Okonkw\u00f3") for each in best] == [1, 1, 1]


def test_a_term_is_found_where_a_text_is_not_composed() -> None:
    text = "The cafe\u0301 of the cafe\u0301s"
    (place,) = Glossary.of({"caf\u00e9": "bistrot"}).locate(text)
    assert text[place.start : place.end] == "cafe\u0301"


def test_a_target_without_tokens_is_refused(translator: Translator) -> None:
    alone, beside = (
        Glossary([GlossaryTerm("cat", targets)]) for targets in (("\u200b",), ("\u200b", "minet"))
    )
    with pytest.raises(ValueError, match="term 'cat': no token spells"):
        translator.translate("The cat is old.", glossary=alone)
    assert "minet" in translator.translate("The cat is old.", glossary=beside)


class _Stubborn:
    """A network that hardly ever ends, or writes 7."""

    def start(self, sources: list[list[int]]) -> _Stubborn:
        return self

    def step(self, tokens: torch.Tensor, state: object) -> torch.Tensor:
        logits = torch.full((*tokens.shape, 10), -20.0)
        for token, logit in ((5, 0.0), (6, -0.5), (7, -9.0), (EOS, -60.0)):
            logits[..., token] = logit
        return logits

    def keep(self, rows: torch.Tensor, state: object) -> None: ...

    def rewind(self, lengths: torch.Tensor, state: object) -> None: ...


@pytest.mark.parametrize("n_best", [1, 4])
def test_a_search_that_is_cut_keeps_its_terms(n_best: int) -> None:
    decode = Config.read({"decode": {"beam": 4, "max_extra": 4, "max_ratio": 0}}).decode
    terms = [[Constraint((Spelling((7,), frozenset()),))]]
    network: Any = _Stubborn()
    (hypotheses,) = search(network, [[4, 4, EOS]], decode, n_best=n_best, constraints=terms)
    assert hypotheses and not any(each.finished for each in hypotheses)
    assert all(7 in each.tokens for each in hypotheses)


def test_progress_of_a_phrase() -> None:
    phrase = Constraint((Spelling((7, 8, 9), frozenset({4})), Spelling((5,), frozenset({4}))))
    assert measure_progress([], phrase) == (0, 7)
    assert measure_progress([3, 7, 8], phrase) == (2, 9)
    assert measure_progress([7, 8, 7], phrase) == (1, 8)
    assert measure_progress([7, 8, 9], phrase) == (3, None)
    assert measure_progress([7, 8, 9, 4], phrase) == (0, 7)
    assert measure_progress([5, 6], phrase) == (3, None)
    assert measure_progress([5, 4], phrase) == (0, 7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cat\n", "line 1: a source term, a tab, a target term"),
        ("cat\tchat\tx\n", "line 1: a source term"),
        ("# only this\n\n", "there are no terms"),
        ("cat\tchat\ncat\tminet\n", "line 2: cat is there twice"),
        ("cat\t*\n", "line 1: neither"),
        ("\tchat\n", "line 1: neither"),
    ],
)
def test_mistakes_in_a_file_are_told(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        Glossary.read(path)


def test_a_glossary_needs_a_beam(translator: Translator) -> None:
    for decode in ({"search": "sample"}, {"mbr": 4}):
        with pytest.raises(ValueError, match="a glossary needs search=beam"):
            translator.search(LINES, decode=decode, glossary={"cat": "minet"})


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "terms.tsv").write_text("cat\tminet\n", encoding="utf-8")
    (tmp_path / "x.en").write_text("\n".join(LINES[:2]) + "\n", encoding="utf-8")
    (tmp_path / "x.fr").write_text("Le minet.\nLe chien.\n", encoding="utf-8")
    terms, source, target = (str(tmp_path / name) for name in ("terms.tsv", "x.en", "x.fr"))
    how = ["--precision", "fp32", "--device", "cpu"]
    assert main(["translate", "demo", source, "--glossary", terms, *how]) == 0
    assert capsys.readouterr().out.count("minet") == 2
    assert main(["evaluate", "demo", source, target, "--glossary", terms, *how]) == 0
    assert "2 of 2 terms as it asks" in capsys.readouterr().out
    assert main(["translate", "demo", source, "--alignment", "--confidence", *how]) == 0
    first = capsys.readouterr().out.splitlines()[0].split("\t")
    assert first[0] == "Le chat est sur le tapis." and 0 < float(first[1]) <= 1
    assert "1-1" in first[2].split()
