"""Short-lists: the search in C over the candidates of each sentence, and the files of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from ctypes import CDLL
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from torch import Tensor

from glassformer.cli import main
from glassformer.config import Decode
from glassformer.decode import Hypothesis, search
from glassformer.engine.native_engine import NativeEngine
from glassformer.engine.shortlist import Shortlist
from glassformer.engine.weights import say_once
from glassformer.extensions.short_list.shortlisting import make_shortlist
from glassformer.foundation.shared_library import load_library
from glassformer.model.files.directory import SHIPPED, SHORTLIST
from glassformer.model.transformer import Transformer
from glassformer.train.publish.health import examine_model
from glassformer.translate.options import SearchOptions
from glassformer.translator import Translator

from .conftest import Driver, pack_model
from .test_native_engine import SEARCHES, SOURCES, VOCABULARY, Driven, DrivenState, network

pytestmark = pytest.mark.skipif(load_library("engine") is None, reason="no library here")
__all__ = ["network"]  # a fixture
LISTED = {
    name: each.model_copy(update={"shortlist": True})
    for name, each in SEARCHES.items()
    if each.search != "sample"
}


def write_list(path: Path, rows: Sequence[Sequence[int]]) -> Path:
    ends = np.cumsum([0, *map(len, rows)])
    ids = np.array([token for row in rows for token in row])
    save_file({"starts": ends.astype("i4"), "ids": ids.astype("i4")}, path)
    return path


def draw_list(path: Path, likely: int, common: int) -> list[list[int]]:
    """Write a short-list by lot, and return its rows."""
    draw = np.random.default_rng(1)
    sizes = [*[likely] * VOCABULARY, common]
    rows = [sorted(draw.choice(VOCABULARY, size, replace=False).tolist()) for size in sizes]
    write_list(path, rows)
    return rows


@pytest.fixture
def engine(engine_library: CDLL, network: Transformer) -> Iterator[NativeEngine]:
    """The engine of each instruction set."""
    made = NativeEngine(pack_model(engine_library, network, "int8"))
    yield made
    made.close()


def use(engine: NativeEngine, path: Path) -> None:
    engine.use_shortlist(lambda: Shortlist(path, (VOCABULARY, VOCABULARY)))


class Listed(Driven):
    """The network in C, whose logits are -inf but for the candidates of each sentence."""

    def __init__(self, driver: Driver, rows: list[list[int]]):
        super().__init__(driver)
        self.rows = rows

    def step(self, tokens_RQ: Tensor, state: DrivenState) -> Tensor:
        logits_RQV = super().step(tokens_RQ, state)
        for row in range(len(logits_RQV)):
            source = state.sources[row // state.beams]
            kept = {0, 1, 2, *self.rows[-1]}.union(*(self.rows[token] for token in source))
            hidden = torch.ones(VOCABULARY, dtype=torch.bool)
            hidden[list(kept)] = False
            logits_RQV[row, :, hidden] = -torch.inf
        return logits_RQV


def compare(found: Sequence[Sequence[Hypothesis]], other: Sequence[Sequence[Hypothesis]]) -> None:
    tokens = [[[h.tokens for h in each] for each in side] for side in (found, other)]
    assert tokens[0] == tokens[1]
    for one, two in zip(found, other, strict=True):
        assert [h.score for h in one] == pytest.approx([h.score for h in two], abs=1e-4)


@pytest.mark.parametrize("name", LISTED)
@torch.inference_mode()
def test_the_search_is_that_over_masked_logits(
    engine: NativeEngine, tmp_path: Path, name: str
) -> None:
    rows = draw_list(tmp_path / SHORTLIST, 30, 60)
    use(engine, tmp_path / SHORTLIST)
    driver = Driver(engine.model)
    n_best = 2 if LISTED[name].search == "beam" else 1
    masked = search(Listed(driver, rows), SOURCES, LISTED[name], longest=40, n_best=n_best)
    compare(engine.search(SOURCES, LISTED[name], n_best=n_best), masked)
    whole = engine.search(SOURCES, SEARCHES[name], n_best=n_best)
    assert [each[0].tokens for each in whole] != [each[0].tokens for each in masked]
    driver.model.close_network(driver.network)


@pytest.mark.parametrize("name", LISTED)
def test_with_all_tokens_nothing_changes(engine: NativeEngine, tmp_path: Path, name: str) -> None:
    use(engine, write_list(tmp_path / SHORTLIST, [*[[]] * VOCABULARY, range(VOCABULARY)]))
    compare(engine.search(SOURCES, LISTED[name]), engine.search(SOURCES, SEARCHES[name]))


def test_a_sentence_does_not_depend_on_its_company(engine: NativeEngine, tmp_path: Path) -> None:
    draw_list(tmp_path / SHORTLIST, 30, 60)
    use(engine, tmp_path / SHORTLIST)
    for workers, budget in ((1, 4096), (2, 60)):
        together = engine.search(SOURCES, LISTED["beam"], workers=workers, budget=budget)
        assert together == [engine.search([source], LISTED["beam"])[0] for source in SOURCES]


def test_prefixes_are_read_with_the_whole_vocabulary(engine: NativeEngine, tmp_path: Path) -> None:
    rows = draw_list(tmp_path / SHORTLIST, 3, 60)
    use(engine, tmp_path / SHORTLIST)
    source = SOURCES[3]
    outside = next(i for i in range(3, VOCABULARY) if all(i not in rows[s] for s in (*source, -1)))
    ((found,),) = engine.search([source], LISTED["greedy"], prefixes=[[outside]])
    ((whole,),) = engine.search([source], SEARCHES["greedy"], prefixes=[[outside]])
    assert found.tokens[0] == outside
    assert found.token_log_probs[0] == whole.token_log_probs[0]


def test_a_beam_wider_than_the_list_is_refused(engine: NativeEngine, tmp_path: Path) -> None:
    draw_list(tmp_path / SHORTLIST, 3, 10)
    use(engine, tmp_path / SHORTLIST)
    with pytest.raises(ValueError, match="at most 5 with this short-list"):
        engine.search(SOURCES, Decode(beam=6, shortlist=True))
    with pytest.raises(ValueError, match="no effect with search=sample"):
        Decode(search="sample", shortlist=True)


def test_a_sentence_is_searched_again_among_all_tokens(tmp_path: Path) -> None:
    """A list may be too short for the wide beam of a second search."""
    shutil.copytree(SHIPPED / "demo", tmp_path / "demo")
    translator = Translator.load(tmp_path / "demo", precision="int8", device="cpu")
    everything = [*range(3, len(translator.tokenizers.target))]
    rows = [everything] * len(translator.tokenizers.source)
    write_list(tmp_path / "demo" / SHORTLIST, [*rows, [2, *everything[:9]]])
    dropped = SimpleNamespace(find=lambda ways: [("word",)] * len(ways))
    translator.checker.__dict__["dropped"] = dropped
    options = SearchOptions(translator.config.decode.override({"shortlist": True}))
    (checked,) = translator.checker.translate_texts(["The cat is old."], options)
    assert checked.best[0].text == "Le chat est vieux."


def test_damaged_lists_are_refused(tmp_path: Path) -> None:
    path, sizes = tmp_path / SHORTLIST, (VOCABULARY, VOCABULARY)
    with pytest.raises(ValueError, match="make one with glassformer shortlist"):
        Shortlist(path, sizes)
    rows = draw_list(path, 3, 10)
    whole = path.read_bytes()
    for damage, said in (
        (whole[:-8], "cut short|damaged"),
        (b"", "empty"),
        (whole.replace(b"I32", b"F32", 1), "no short-list"),
    ):
        path.write_bytes(damage)
        with pytest.raises(ValueError, match=said):
            Shortlist(path, sizes)
    with pytest.raises(ValueError, match="of another model"):
        Shortlist(write_list(path, rows[1:]), sizes)
    with pytest.raises(ValueError, match="tokens that the model does not have"):
        Shortlist(write_list(path, [[VOCABULARY], *rows[1:]]), sizes)
    ends = np.cumsum([0, *map(len, rows)]).astype("i4")
    ends[4] = ends[9]
    save_file({"starts": ends, "ids": np.zeros(ends[-1], "i4")}, path)
    with pytest.raises(ValueError, match="do not follow one another"):
        Shortlist(path, sizes)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of `demo` with a short-list of the pairs that it was trained on."""
    folder = tmp_path_factory.mktemp("shortlist")
    shutil.copytree(SHIPPED / "demo", folder / "demo")
    from glassformer.extensions.demo.corpus import read_corpus

    pairs = read_corpus().pairs["train"][:6000]
    for side, lang in enumerate(("en", "fr")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / f"train.{lang}").write_text(text, encoding="utf-8")
    assert main(["shortlist", *map(str, (folder / "demo", *sorted(folder.glob("train.*"))))]) == 0
    return folder


def test_likely_translations_are_learned(demo: Path) -> None:
    translator = Translator.load(demo / "demo")
    source, target = translator.tokenizers
    rows = load_file(demo / "demo" / SHORTLIST)
    for word, wanted in ((" cat", " chat"), (" street", " rue"), (" was", " était")):
        token, likely = source.vocabulary.index(word), target.vocabulary.index(wanted)
        row = rows["ids"][rows["starts"][token] : rows["starts"][token + 1]]
        assert likely in row
        assert len(row) <= 101


@pytest.mark.thorough
def test_translations_stay_and_are_found_among_few(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = (demo / "train.en").read_text(encoding="utf-8").splitlines()[:100]
    translator = Translator.load(demo / "demo", precision="int8")
    without = translator.translate(texts)
    listed = translator.translate(texts, decode={"shortlist": True})
    assert sum(a == b for a, b in zip(without, listed, strict=True)) >= 98
    capsys.readouterr()
    say_once.cache_clear()
    command = ["translate", str(demo / "demo"), str(demo / "train.en"), "--precision", "fp32"]
    assert main([*command, "--shortlist", "-o", str(demo / "out")]) == 0
    assert "all tokens are predicted" in capsys.readouterr().err


def test_doctor_and_publish_know_the_file(demo: Path, tmp_path: Path) -> None:
    assert main(["publish", str(demo / "demo"), "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / SHORTLIST).is_file()
    assert any(each.about == SHORTLIST for each in examine_model(tmp_path / "out"))
    other = {"notes": json.dumps({"tokenizer": "another"})}
    save_file(load_file(demo / "demo" / SHORTLIST), tmp_path / "out" / SHORTLIST, other)
    wrong = [each for each in examine_model(tmp_path / "out") if each.is_wrong]
    assert [each.about for each in wrong] == [SHORTLIST]
    assert "of another model" in wrong[0].said


def test_other_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="network=rnn"):
        make_shortlist("demo-rnn", [("a", "b")])
    shutil.copytree(SHIPPED / "demo", tmp_path / "demo")
    with pytest.raises(ValueError, match="no pairs"):
        make_shortlist(tmp_path / "demo", [])
