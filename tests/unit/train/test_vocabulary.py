"""What the tokens of a training are: learned in one of three ways, or from files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from glassformer.cli import main
from glassformer.config import Config
from glassformer.extensions.bridge.argos import export_argos
from glassformer.extensions.foreign_tokenizers.sentencepiece_bpe import SentencepieceBpe
from glassformer.extensions.foreign_tokenizers.unigram import Unigram
from glassformer.extensions.publish.publishing import publish_model
from glassformer.extensions.site.portable import pack_model
from glassformer.extensions.unigram.learned_unigram import LearnedUnigram
from glassformer.model.files.directory import Tokenizers, open_model
from glassformer.text import Normalization
from glassformer.train import train
from glassformer.train.plan.init_from import InitModel, inherit
from glassformer.translator import Translator

from .conftest import LINES, SETTINGS

CODES = "#version: 0.2\nt h\nth e</w>\nr e\nd o\n"
BOTH = {"nfkc": "both", "punctuation": "both", "lowercase": "source"}


def make_config(**text: Any) -> Config:
    model = {**SETTINGS["model"], "tie": text.pop("tie", "three-way")}
    langs = {"source_lang": "en", "target_lang": "xx"}
    raw = {**SETTINGS, "model": model, "data": langs}
    return Config.read({**raw, "text": {**SETTINGS["text"], **text}})


def learn(tmp_path: Path, corpus: list[Path], subwords: Any = (), **text: Any) -> Path:
    if subwords:
        text["vocabulary"] = 8000
    out = tmp_path / "model"
    train(make_config(**text), corpus, out, quiet=True, subwords=subwords)
    return out


@pytest.fixture(scope="session")
def model_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models of SentencePiece, by their kind."""
    folder = tmp_path_factory.mktemp("spm")
    found = {}
    for kind in ("unigram", "bpe"):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([*LINES, *(line[::-1] for line in LINES)] * 5),
            model_prefix=str(folder / kind),
            model_type=kind,
            vocab_size=60,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        found[kind] = folder / f"{kind}.model"
    return found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ({"tokenizer": "unigram", "sampling_alpha": 0.2}, LearnedUnigram),
        ({"tokenizer": "unigram", "sampling_alpha": 0.2, "samples": 0}, LearnedUnigram),
        ({"tokenizer": "char"}, None),
        ({"tokenizer": "char", "shared": False, "tie": "two-way"}, None),
        (BOTH, None),
    ],
)
def test_everything_works_with_what_was_learned(
    tmp_path: Path, corpus: list[Path], text: dict[str, Any], kind: type | None
) -> None:
    out = learn(tmp_path, corpus, **text)
    loaded = Translator.load(out)
    tokenizer = loaded.tokenizers.source
    assert kind is None or type(tokenizer) is kind
    assert (tokenizer.merges == ()) == ("tokenizer" in text)
    (found,) = loaded.search(["the red cat runs x"], decode={"max_extra": 3, "search": "greedy"})[0]
    score = loaded.score("the red cat", "tac der")
    assert score.tokens == [*loaded.tokenizers.target.tokens("tac der").texts]
    assert len(found.tokens) <= 3 + 1.5 * len(tokenizer.encode("the red cat runs x")) + 1
    trace = loaded.see("the red cat")
    assert [token.text for token in trace.source[:-1]] == [*tokenizer.tokens("the red cat").texts]
    publish_model(out, tmp_path / "published", licence="mit")
    again = Translator.load(tmp_path / "published")
    assert again.tokenizers.source.fingerprint == tokenizer.fingerprint
    counted = [(folder / "characters.json").read_text() for folder in (out, tmp_path / "published")]
    assert counted[0] == counted[1]


def test_translating_normalizes_as_training_did(tmp_path: Path, corpus: list[Path]) -> None:
    out = learn(tmp_path, corpus, **BOTH)
    loaded = Translator.load(out)
    source, target = (each.normalization for each in loaded.tokenizers)
    assert source._replace(characters=None) == Normalization(True, True, True)
    assert target._replace(characters=None) == Normalization(True, False, True)
    assert loaded.tokenizers.source.vocabulary == loaded.tokenizers.target.vocabulary
    assert loaded.weights.get_engine(loaded.precision).__class__.__name__ == "NativeEngine"
    one, other = loaded.search(["THE “Red” ﬁsh", 'the "red" fish'])
    assert one[0].token_log_probs == other[0].token_log_probs
    assert one[0].tokens == other[0].tokens
    lines = loaded.score(["THE RED", "the red"], ["tac", "tac"])
    assert lines[0].log_prob == lines[1].log_prob
    text = "ﬁ “X”"
    read = loaded.reader.tokenize(text)
    assert loaded.tokenizers.source.decode(read.ids) == 'fi "x"'
    assert read.spans[-1][1] == len(text)


def test_what_does_not_follow_says_so(tmp_path: Path, corpus: list[Path]) -> None:
    out = learn(tmp_path, corpus, **BOTH)
    with pytest.raises(ValueError, match=r"a page cannot do its nfkc, punctuation or lowercase"):
        pack_model(out)
    with pytest.raises(ValueError, match=r"which a model of SentencePiece is not given"):
        export_argos(out, tmp_path / "a.argosmodel")


def test_settings_that_the_tokens_contradict_are_refused(
    tmp_path: Path, corpus: list[Path]
) -> None:
    out = learn(tmp_path, corpus)
    path = out / "config.toml"
    told = path.read_text(encoding="utf-8")
    path.write_text(told.replace('lowercase = "none"', 'lowercase = "both"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"text.lowercase=both does not fit its tokens.*without"):
        open_model(out)


def test_a_model_to_start_from_keeps_them(tmp_path: Path, parent: Path) -> None:
    for change in ("text.tokenizer=unigram", "text.lowercase=both"):
        config = inherit(parent, [change, "train.steps=1"])
        with pytest.raises(ValueError, match=r"has no effect: the tokens of .* are kept"):
            InitModel.load(parent, config, has_new_tokens=False)


@pytest.mark.parametrize("tokenizer", ["unigram", "char"])
def test_new_tokens_begin_as_the_old_ones_that_spell_them(
    tmp_path: Path, corpus: list[Path], parent: Path, tokenizer: str
) -> None:
    changes = [f"text.tokenizer={tokenizer}", "train.steps=1"]
    how: dict[str, Any] = {"parent": parent, "new_tokens": True, "quiet": True}
    train(inherit(parent, changes), corpus, tmp_path / "one", **how)
    back = inherit(tmp_path / "one", ["text.tokenizer=bpe", "train.steps=1"])
    train(back, corpus, tmp_path / "two", **{**how, "parent": tmp_path / "one"})
    assert Tokenizers.load(tmp_path / "two").source.merges


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_sentencepiece_model_is_taken_as_it_is(
    tmp_path: Path, corpus: list[Path], model_of: dict[str, Path], kind: str
) -> None:
    sampled = {"unigram": {"tokenizer": "unigram", "sampling_alpha": 0.3}, "bpe": {"dropout": 0.1}}
    out = learn(tmp_path, corpus, [model_of[kind]], **sampled[kind])
    loaded = Translator.load(out)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(model_of[kind]))
    ours = loaded.tokenizers.source
    assert isinstance(ours, {"unigram": Unigram, "bpe": SentencepieceBpe}[kind])
    for line in (*LINES, "a new word: zzz"):
        wanted = [theirs.IdToPiece(id) for id in theirs.encode(line)]
        assert [*ours.tokens(line).texts] == wanted
    assert loaded.config.text.tokenizer == kind
    assert len(ours) == theirs.GetPieceSize() + 1  # and <pad>
    assert isinstance(loaded.translate("the red cat runs x"), str)


def test_a_file_for_each_side_and_the_run_has_copies(
    tmp_path: Path, corpus: list[Path], model_of: dict[str, Path]
) -> None:
    mine = tmp_path / "mine.model"
    mine.write_bytes(model_of["unigram"].read_bytes())
    files = [mine, model_of["bpe"]]
    out = learn(tmp_path, corpus, files, shared=False, tie="two-way", tokenizer="unigram")
    found = Tokenizers.load(out)
    assert isinstance(found.source, Unigram) and isinstance(found.target, SentencepieceBpe)
    names = sorted(path.name for path in (out / "run" / "subwords").iterdir())
    assert names == ["0-mine.model", "1-bpe.model"]


def test_bpe_codes_are_applied(tmp_path: Path, corpus: list[Path]) -> None:
    codes = tmp_path / "bpe.codes"
    codes.write_text(CODES, encoding="utf-8")
    out = learn(tmp_path, corpus, [codes], dropout=0.2, samples=0)
    ours = Tokenizers.load(out).source
    wanted = ["the</w>", "re", "d</w>", "do", "g</w>"]
    assert [*ours.tokens("the red dog").texts] == wanted
    assert all(ours.decode(ours.encode(line)) == line for line in LINES)


@pytest.mark.parametrize(
    ("text", "how", "said"),
    [
        ({"vocabulary": 400}, {}, "text.vocabulary=400 has no effect with --subwords"),
        ({"lowercase": "both"}, {}, "text.lowercase=both has no effect with --subwords"),
        ({"shared": False}, {}, "text.shared=false needs two files"),
        ({"tokenizer": "char"}, {}, "text.tokenizer=char: the tokens given are of unigram"),
        ({}, {"parent": True}, "--from brings its own tokens"),
        ({}, {"subwords": ["missing.model"]}, "missing.model"),
        ({}, {"subwords": [__file__]}, "no merge of two tokens"),
    ],
)
def test_what_does_not_fit_given_tokens(
    tmp_path: Path,
    corpus: list[Path],
    parent: Path,
    model_of: dict[str, Path],
    text: dict[str, Any],
    how: dict[str, Any],
    said: str,
) -> None:
    config = make_config(**{"vocabulary": 8000, **text})
    if how.pop("parent", None):
        how["parent"], config = parent, inherit(parent)
    with pytest.raises((ValueError, OSError), match=said):
        how = {"subwords": [model_of["unigram"]], **how}
        train(config, corpus, tmp_path / "model", quiet=True, **how)
    assert not (tmp_path / "model" / "run").exists()


def test_sampling_that_the_tokens_do_not_have(
    tmp_path: Path, corpus: list[Path], model_of: dict[str, Path]
) -> None:
    with pytest.raises(ValueError, match=r"dropout=0.1 has no effect with tokenizer=unigram"):
        learn(tmp_path, corpus, [model_of["unigram"]], dropout=0.1)
    for changes, said in (
        ({"tokenizer": "char", "dropout": 0.1}, "dropout=0.1 has no effect with tokenizer=char"),
        ({"sampling_alpha": 0.1}, "sampling_alpha=0.1 has no effect with tokenizer=bpe"),
    ):
        with pytest.raises(ValueError, match=said):
            make_config(**changes)


def test_the_command_takes_it(
    tmp_path: Path,
    corpus: list[Path],
    model_of: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    size = ["--d-model", 8, "--d-ff", 8, "--heads", 1, "--encoder-layers", 1, "--decoder-layers", 1]
    words = ["train", *corpus, "--steps", 1, "--out", tmp_path / "model", *size]
    words += ["--subwords", model_of["unigram"], "--tokenizer", "unigram", "--sampling-alpha", 0.2]
    assert main([*map(str, words)]) == 0
    said = capsys.readouterr()
    tokens = len(Tokenizers.load(tmp_path / "model").source)
    assert f"Vocabulary: {tokens} tokens" in said.err
    assert Config.load(tmp_path / "model" / "config.toml").text.sampling_alpha == 0.2
