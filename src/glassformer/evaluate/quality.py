"""BLEU, chrF and TER as sacreBLEU computes them, each with its signature. Imports no torch.

Validation, test and the command line all use this module, so that their scores agree.

References are a list of reference sets. A set has one entry for each sentence, None if it has no
reference for that sentence.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from ..data.files import read_lines
from ..data.tables import table_kind
from ..foundation.extensions import need_addition
from ..text.spacing import name_base
from .references import UNSPACED, References, clean_lines, has_no_spaces
from .resampling import SEED, Interval, estimate_interval, extract_statistics, score_samples

SPBLEU = ("flores200", "flores101")  # names of SentencePiece models
METRICS = ("BLEU", "chrF2", "chrF++", "TER")

TOKENIZERS = ("13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none")

# Languages that 13a cannot split into words, besides UNSPACED.
CHINESE, JAPANESE, KOREAN = {"zh", "yue"}, {"ja"}, {"ko"}


@dataclass(frozen=True)
class Score:
    """One score, in percent; `signature` has all that is needed to compute it again."""

    name: str
    value: float
    signature: str
    detail: str = ""
    interval: Interval | None = None


@dataclass(frozen=True)
class Quality:
    """The scores of one list of translations.

    exact_match: the share of sentences, 0 to 1, that equal one of their references.
    """

    sentences: int
    scores: tuple[Score, ...]
    exact_match: float

    def __getitem__(self, name: str) -> Score:
        return {score.name: score for score in self.scores}[name]

    def to_json(self) -> dict[str, Any]:
        """Return the scores for `json.dumps`, with all digits."""
        scores = {score.name: asdict(score) for score in self.scores}
        for each in scores.values():
            del each["name"]
            if each["interval"] is None:
                del each["interval"]
        return {"sentences": self.sentences, "exact_match": self.exact_match, "scores": scores}

    def __str__(self) -> str:
        """Return a line for each score, with two decimals and the signature; details follow it."""
        rows = []
        for score in self.scores:
            rows.append((score.name, f"{score.value:.2f}", score.signature))
            rows.extend(("", "", line) for line in score.detail.splitlines())
            if score.interval:
                rows.append(("", "", str(score.interval)))
        share = f"{100 * self.exact_match:.2f}"
        rows.append(("exact match", share, f"% of {self.sentences} sentences"))
        width = max(len(name) for name, _, _ in rows)
        return "\n".join(f"{name:<{width}}  {value:>6}  {text}" for name, value, text in rows)


def score_quality(
    hypotheses: Sequence[str],
    references: References,
    *,
    target_lang: str | None = None,
    tokenize: str | None = None,
    metrics: Sequence[str] = METRICS,
    literature: bool = False,
    samples: int = 0,
) -> Quality:
    """Score translations against one or more reference sets, all in NFC, which models write.

    target_lang: a language code; it decides how BLEU and TER split text into words. Of languages
    without spaces, U+200B, U+2060 and U+FEFF, which cannot be seen, do not count: `zwsp:no`.
    tokenize: for BLEU, instead of the choice by language: one of `TOKENIZERS`, or a
    SentencePiece model, as flores200 or a file.
    literature: add the score that older papers report; see `score_as_literature`.
    metrics: some of `METRICS`; TER, which Thai and the like have none of, as it counts words, is
    slow where translations are bad: 0.1 s for a long sentence.
    samples: of a bootstrap, for confidence intervals; 0: none.

    Raises ValueError if the numbers of lines differ, a sentence has no reference, a name is
    unknown, or a tokenizer's package is not installed; `check_settings` finds the latter early.
    """
    hypotheses, references = clean_lines(hypotheses, references, target_lang)
    scores = []
    for name in list_metrics(metrics, target_lang):
        metric = build_metric(name, target_lang=target_lang, tokenize=tokenize)
        scores.append(_apply(metric, name, hypotheses, references, samples))
    if literature:
        scores.append(score_as_literature(hypotheses, references, target_lang, samples))
    signed = (replace(s, signature=write_signature(s.signature, target_lang)) for s in scores)
    return Quality(len(hypotheses), tuple(signed), exact_match(hypotheses, references))


def score_as_literature(
    hypotheses: Sequence[str], references: References, target_lang: str | None, samples: int = 0
) -> Score:
    """Return BLEU as papers on Multi30k and IWSLT report it (multi-bleu.perl, fairseq-generate).

    Text is lower-cased, its punctuation is normalised, and the Moses tokenizer splits it; there is
    no smoothing. The German side of Multi30k test2016 then has 12103 tokens, as in those papers.
    """
    cut, cutter = need_addition("build_moses", "the literature BLEU")(target_lang)
    metric = BLEU(tokenize="none", lowercase=True, smooth_method="none", force=True)
    metric.tokenizer_signature = cutter
    result = _apply(
        metric,
        "literature BLEU",
        [cut(line) for line in hypotheses],
        [[None if line is None else cut(line) for line in lines] for lines in references],
        samples,
    )
    warning = "tokenised and lower-cased, as in papers: not comparable with BLEU above"
    return replace(result, detail=f"{result.detail}\n{warning}")


def exact_match(hypotheses: Sequence[str], references: References) -> float:
    """Return the share of translations that equal a reference, outer white space aside."""
    hypotheses, references = clean_lines(hypotheses, references)
    hits = sum(
        any(line is not None and line.strip() == hypothesis.strip() for line in lines)
        for hypothesis, *lines in zip(hypotheses, *references, strict=True)
    )
    return hits / len(hypotheses)


def list_metrics(metrics: Sequence[str], target_lang: str | None) -> list[str]:
    """Return the metrics without TER where a line has no words that it could count."""
    return [name for name in metrics if name != "TER" or name_base(target_lang) not in UNSPACED]


def write_signature(signature: object, target_lang: str | None) -> str:
    """Return the signature of a score, which says if invisible characters do not count."""
    before, version, after = str(signature).partition("version:")
    return f"{before}{'zwsp:no|' * has_no_spaces(target_lang)}{version}{after}"


def build_metric(name: str, *, target_lang: str | None, tokenize: str | None) -> Metric:
    """Return sacreBLEU's object for one of `METRICS`, with the tokenizer for the language."""
    if name == "BLEU":
        return build_bleu(tokenize or choose_tokenizer(target_lang))
    if name in ("chrF2", "chrF++"):
        return CHRF(word_order=2 if name == "chrF++" else 0)
    if name == "TER":
        unspaced = name_base(target_lang) in CHINESE | JAPANESE  # else a sentence is one word
        return TER(normalized=unspaced, asian_support=unspaced)
    raise ValueError(f"there is no metric {name!r}; there are {', '.join(METRICS)}")


def choose_tokenizer(target_lang: str | None) -> str:
    """Return the BLEU tokenizer for a language; 13a without a language.

    sacreBLEU chooses the same, but for languages without spaces for which it has no tokenizer:
    with its 13a a sentence would be one word, and BLEU 0. `char` compares their characters.
    """
    language = name_base(target_lang)
    if language in CHINESE:
        return "zh"
    if language in JAPANESE:
        return "ja-mecab"
    if language in UNSPACED:
        return "char"
    return "ko-mecab" if language in KOREAN else "13a"


def check_settings(
    *, target_lang: str | None = None, tokenize: str | None = None, literature: bool = False
) -> None:
    """Raise ValueError now if `score_quality` would reject these settings later."""
    build_metric("BLEU", target_lang=target_lang, tokenize=tokenize)
    if literature:
        need_addition("build_moses", "the literature BLEU")(target_lang)


def _apply(
    metric: Metric, name: str, hypotheses: Sequence[str], references: References, samples: int
) -> Score:
    statistics = extract_statistics(metric, hypotheses, references)
    result = metric._aggregate_and_compute(statistics)
    detail = ""
    if isinstance(metric, BLEU):
        detail = (
            f"{result.prec_str}, brevity penalty {result.bp:.3f}, "
            f"{result.sys_len} tokens for {result.ref_len}"
        )
    elif isinstance(metric, TER):
        detail = f"{result.num_edits} edits for {result.ref_length:.0f} words: fewer are better"
    interval, signature = None, metric.get_signature()
    if samples:
        interval = estimate_interval(score_samples(metric, statistics, samples, SEED), SEED)
        signature.update("bs", samples)
        signature.update("seed", SEED)
    return Score(name, result.score, str(signature), detail, interval)


def is_spbleu(tokenize: str) -> bool:
    """Return whether the name of a tokenizer is that of a SentencePiece model, or its file."""
    return tokenize in SPBLEU or tokenize.endswith((".model", ".spm"))


def build_bleu(tokenize: str, *, effective_order: bool = False) -> BLEU:
    """Return sacreBLEU's BLEU with a tokenizer: one of `TOKENIZERS`, or a SentencePiece model."""
    if is_spbleu(tokenize):
        build_spbleu = need_addition("build_spbleu", f"the tokeniser {tokenize}")
        spbleu: BLEU = build_spbleu(tokenize, effective_order=effective_order)
        return spbleu
    if tokenize not in TOKENIZERS:
        known = ", ".join((*TOKENIZERS, *SPBLEU))
        raise ValueError(f"there is no tokeniser {tokenize!r}; there are {known} and FILE.model")
    try:
        return BLEU(tokenize=tokenize, effective_order=effective_order, force=True)
    except RuntimeError as error:  # sacreBLEU raises it if the package is absent
        extra = f"glassformer[{tokenize.partition('-')[0]}]"
        message = f"the tokeniser {tokenize} is an extra: pip install '{extra}'"
        raise ValueError(message) from error


def read_references(path: Path | str) -> list[list[str | None]]:
    """Return the reference sets of one file, as `quality` takes them; .gz is unpacked.

    A plain file is one set. A .tsv file has the source in its first column and references in the
    others, as many as a line has. Each such column is a set.

    Raises OSError, or ValueError that names file and line.
    """
    path = Path(path)
    if table_kind(path) != ".tsv":
        return [list(read_lines(path))]
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        references = [reference for reference in line.split("\t")[1:] if reference]
        if not references:
            raise ValueError(f"{path}, line {number}: no reference after the source and a tab")
        rows.append(references)
    return [list(references) for references in zip_longest(*rows)]
