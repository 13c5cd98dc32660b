"""spBLEU is that of sacreBLEU with the same SentencePiece model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sacrebleu import BLEU
from sacrebleu.tokenizers import tokenizer_spm

from glassformer.cli import main
from glassformer.evaluate.quality import score_quality
from glassformer.evaluate.sentences import score_each

sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")

LINES = ["the cat sat on the mat", "ﾃﾞｰﾀ 12,000 ½ é 😀", "it is said of it", "die Katze sitzt"]
REFERENCES = [
    "the cat sat on a mat",
    "データ 12,000 1/2 é 😀",
    "it was said of it",
    "die Katze saß",
]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model that sacreBLEU takes for that of FLORES-200."""
    folder = tmp_path / "models"
    folder.mkdir()
    url = tokenizer_spm.SPM_MODELS["flores200"]["url"]
    path = folder / url.rpartition("/")[2]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*LINES, *REFERENCES] * 20),
        model_prefix=str(tmp_path / "spm"),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (tmp_path / "spm.model").rename(path)
    for place in (
        "sacrebleu.utils.SACREBLEU_DIR",
        "sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR",
    ):
        monkeypatch.setattr(place, str(tmp_path))
    return path


def find_bleu(found: Any) -> Any:
    return next(score for score in found.scores if score.name == "BLEU")


def test_scores_are_those_of_sacrebleu(model: Path) -> None:
    theirs = BLEU(tokenize="flores200")
    wanted = theirs.corpus_score(LINES, [REFERENCES])
    named = find_bleu(score_quality(LINES, [REFERENCES], tokenize="flores200"))
    assert named.value == wanted.score and "tok:flores200" in named.signature
    copy = model.with_suffix(".model")
    copy.write_bytes(model.read_bytes())
    of_file = find_bleu(score_quality(LINES, [REFERENCES], tokenize=str(copy)))
    assert of_file.value == wanted.score and "tok:spm-" in of_file.signature
    single = BLEU(tokenize="flores200", effective_order=True)
    each = score_each(LINES, [REFERENCES], tokenize="flores200", metrics=["BLEU"])
    for scores, line, reference in zip(each, LINES, REFERENCES, strict=True):
        assert scores["BLEU"] == single.sentence_score(line, [reference]).score


def test_text_that_looks_cut_into_tokens_is_scored_without_a_word(
    model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    score_quality(["a cat ."] * 100, [["a cat ."] * 100], tokenize="flores200", metrics=("BLEU",))
    assert not caplog.records


def test_a_model_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"flores200 needs the file .*which is not there: get it"):
        score_quality(LINES, [REFERENCES], tokenize="flores200")
    for name in ("a", "b"):
        (tmp_path / name).write_text("a line\n", "utf-8")
    (tmp_path / "bad.model").write_bytes(b"no model")
    command = ["evaluate", "--hypothesis", str(tmp_path / "a"), "--reference", str(tmp_path / "b")]
    assert main([*command, "--tokenize", str(tmp_path / "bad.model")]) == 2
    assert "bad.model: damaged, or no SentencePiece model" in capsys.readouterr().err
