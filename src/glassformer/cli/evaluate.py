"""The command `glassformer evaluate`: scores of a model, or of given translations."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from typer import Context

from ..data.files import STANDARD
from . import decoding
from .decoding import describe_search
from .effects import refuse
from .language import evaluate_text, is_language_model
from .options import (
    AS_JSON,
    CHANGES,
    DEVICE,
    ENSEMBLE,
    GLOSSARY,
    NO_GUARD,
    NO_SPLIT,
    PRECISION_FP32,
    SEED,
    THREADS,
    TO,
    WORKERS,
    arg,
    check_exact,
    flag,
    opt,
)
from .terminal import CHUNK, cut_chunks, keep_apart, open_output, show_progress, to_json, warn
from .translate import read_glossary, search_chunks
from .verb import spell_typed, takes

if TYPE_CHECKING:
    from ..checks.quality_check import Judged
    from ..config import Config, Decode
    from ..evaluate.quality import Quality
    from ..evaluate.significance import Comparison
    from ..translator import Translator


@takes("decode")
def evaluate(
    context: Context,
    files: list[Path] | None = arg(
        "MODEL | FILE",
        "A model, the text that it translates and references; or a file of translations and "
        "references. Files may be given by their options too; - is the standard input.",
    ),
    source: Path | None = opt("FILE", "Text for the model to translate."),
    reference: list[Path] | None = opt(
        "FILE",
        "Translations by people, line by line, again for each further file; in a .tsv file, all "
        "columns after the first.",
    ),
    hypothesis: Path | None = opt("FILE", "Instead of a model: translations to be scored."),
    against: Path | None = opt("FILE", "Another system's translations: is the difference chance?"),
    output: Path | None = opt(
        "FILE",
        "Keep the model's translations here; with - they go to the standard output, and the scores "
        "to standard error.",
        "--output",
        "-o",
    ),
    changes: list[str] | None = CHANGES,
    target_lang: str | None = opt(
        "CODE", "What the translations are in, to tell words apart; a model knows it."
    ),
    tokenize: str | None = opt("NAME", "sacreBLEU's tokeniser, instead of the language's."),
    literature: bool = flag(
        "Also BLEU as papers give it: tokenised and lower-cased.", "--literature"
    ),
    to: str | None = TO,
    ensemble: list[Path] | None = ENSEMBLE,
    glossary: Path | None = GLOSSARY,
    no_split: bool = NO_SPLIT,
    no_guard: bool = NO_GUARD,
    seed: int | None = SEED,
    device: str = DEVICE,
    precision: str = PRECISION_FP32,
    threads: int | None = THREADS,
    workers: int | None = WORKERS,
    as_json: bool = AS_JSON,
) -> None:
    """Score translations: BLEU, chrF2, chrF++ and TER by sacreBLEU, with signatures.

    What a MODEL is scored by is what `translate` writes with the same options, computed in fp32
    if no --precision is given. A language model is scored on one text: by its perplexity or its
    masked accuracy, a classifier by its accuracy on a .tsv of labels and sentences.

    \b
    glassformer evaluate my-model test.en test.de --beam 8
    glassformer evaluate ours.de test.de --against theirs.de
    glassformer evaluate my-language-model text.en
    """
    if files and is_language_model(files[0]):
        refuse("evaluate", spell_typed(context), "on a language model")
        machine = {"device": device, "precision": check_exact(precision)}
        print(evaluate_text(files[0], files[1:], as_json, **machine))
        return
    asked = sort_files(files or (), source, hypothesis, reference or ())
    model, text = asked.model, asked.text
    if model is None:
        refuse("evaluate", spell_typed(context), "without a MODEL")
    if not asked.references:
        raise ValueError(f"to score {model or text}, give a file of references too")
    keep_apart(output, text, against, *asked.references)
    from ..data.files import read_lines
    from ..evaluate.quality import check_settings, score_quality
    from ..evaluate.references import read_references
    from ..evaluate.significance import compare_systems

    ours, sets = list(read_lines(text)), [read_references(path) for path in asked.references]
    theirs = list(read_lines(against)) if against else []
    lengths = (len(each[0]) for each in sets)
    check_counts(text, len(ours), zip(asked.references, lengths, strict=True))
    check_counts(text, len(ours), [(against, len(theirs))] if against else [])
    where = {"device": device, "precision": precision, "threads": threads, "workers": workers}
    translator = load_translator([model, *(ensemble or ())], to, **where) if model else None
    if translator:
        target_lang = target_lang or translator.config.data.target_lang
    scoring: dict[str, Any] = {"target_lang": target_lang, "tokenize": tokenize}
    check_settings(**scoring, literature=literature)
    work = None
    if model and translator:
        decode = choose_decode(translator.config, changes or (), context.params)
        how = {"decode": decode, "split": not no_split, "again": not no_guard}
        how |= {"seed": seed or 0, "glossary": read_glossary(glossary)}
        ours, work = translate_all(model, translator, ours, output, **how)
    references = [lines for each in sets for lines in each]
    quality = score_quality(ours, references, **scoring, literature=literature)
    comparison = compare_systems(ours, theirs, references, **scoring) if against else None
    warn_if_unspaced(ours, **scoring)
    told = (
        show_scores_json(work, quality, comparison)
        if as_json
        else show_scores(work, quality, comparison)
    )
    print(told, file=sys.stderr if output == STANDARD else sys.stdout)


class EvaluationRequest(NamedTuple):
    """A request to evaluate: the text is a model's source or, without a model, translations."""

    model: Path | None
    text: Path
    references: list[Path]


def sort_files(
    files: Sequence[Path],
    source: Path | None,
    hypothesis: Path | None,
    references: Sequence[Path],
) -> EvaluationRequest:
    """Return what to evaluate; a path is a model unless it is a file.

    Raise ValueError if files and options do not fit together.
    """
    rest = list(files)
    model = rest.pop(0) if rest and not is_text(rest[0]) else None
    if model and hypothesis:
        raise ValueError("to evaluate MODEL, give --source and no --hypothesis")
    source = source or (rest.pop(0) if model and rest else None)
    text = source if model else hypothesis or (rest.pop(0) if rest else None)
    if model and not text:
        raise ValueError("to evaluate MODEL, give --source and no --hypothesis")
    if not text:
        raise ValueError("evaluate needs a MODEL and --source, or --hypothesis")
    return EvaluationRequest(model, text, [*rest, *references])


def is_text(path: Path) -> bool:
    """Return whether a path is a file, not a folder or a shipped model; ValueError if neither."""
    if path == STANDARD or path.exists():
        return not path.is_dir()
    from ..directory import SHIPPED, locate

    if (len(path.parts) == 1 and (SHIPPED / path).is_dir()) or locate(path).is_dir():
        return False
    raise ValueError(f"{path} is neither a file nor a model that is there")


def choose_decode(config: Config, changes: Sequence[str], given: Mapping[str, Any]) -> Decode:
    """Return the model's own settings, overridden by --set and by the options of the search.

    Raise ValueError if a change is not one of decode.*.
    """
    for change in changes:
        if not change.startswith("decode."):
            raise ValueError(f"--set {change}: of a trained model only decode.* can be changed")
    from ..config import Config

    own = config.decode.override(Config.read({"decode": {}}, changes).decode)
    return decoding.choose_search(config.model_copy(update={"decode": own}), given)


def warn_if_unspaced(texts: list[str], target_lang: str | None, tokenize: str | None) -> None:
    """Warn of a text without spaces, unless --target-lang or --tokenize says how to split it."""
    from ..text.spacing import looks_unspaced

    if not (target_lang or tokenize) and looks_unspaced("".join(texts[:1000])):
        warn("this looks Chinese or Japanese: only --target-lang zh or ja tells words apart")


def check_counts(file: Path, lines: int, others: Iterable[tuple[Path, int]]) -> None:
    """Raise ValueError unless the other files have as many lines."""
    for path, count in others:
        if count != lines:
            raise ValueError(
                f"{file} has {lines:,} lines but {path} has {count:,}: they must go line by line"
            )


def load_translator(models: Sequence[Path], to: str | None, **machine: Any) -> Translator:
    """Return the translator of a model, or of several as an ensemble."""
    from ..translator import Translator

    return Translator.load(models, to, **machine)


@dataclass(frozen=True)
class Work:
    """A record of how translations were made: model, search, device, seconds, problems."""

    model: str
    decode: Decode
    device: str
    precision: str
    seconds: float
    suspect_lines: int  # lines whose translations look wrong
    problems: dict[str, int]  # lines with each kind of problem, as `quality_check` names them
    terms: tuple[int, int] | None = None  # of the glossary in the text, and those that were met

    def __str__(self) -> str:
        told = (
            f"model        {self.model}, {self.device}, {self.seconds:.1f} s\n"
            f"precision    {self.precision}\n"
            f"search       {describe_search(self.decode)}"
        )
        if self.terms:
            told += f"\nglossary     {self.terms[1]:,} of {self.terms[0]:,} terms as it asks"
        if not self.suspect_lines:
            return told
        kinds = ", ".join(f"{times:,} {kind}" for kind, times in self.problems.items())
        return f"{told}\nlook wrong   {self.suspect_lines:,} lines: {kinds}"


def translate_all(
    model: Path, translator: Translator, texts: list[str], to: Path | None, **how: Any
) -> tuple[list[str], Work]:
    """Return the translations that `translate` writes, and how they were made.

    If `to` is given, write them to that file too.
    """
    from ..data.glossary import count_terms

    begun = monotonic()
    chunks = cut_chunks(((text, "") for text in texts), CHUNK)
    judged: list[Judged] = []
    with open_output(to) if to else nullcontext() as out:
        with show_progress("translating", len(texts)) as tell:
            for _, _, each in search_chunks(translator, chunks, progress=tell, **how):
                judged.append(each)
        found = [each.best[0].text for each in judged]
        if out:
            out.writelines(f"{line}\n" for line in found)
    seconds = round(monotonic() - begun, 2)
    kinds = Counter(kind for each in judged for kind in {p.kind for p in each.problems})
    suspects = sum(bool(each.problems) for each in judged)
    where = str(translator.device), translator.precision
    told = suspects, dict(kinds.most_common())
    terms = count_terms(how["glossary"], texts, found) if how["glossary"] else None
    return found, Work(str(model), how["decode"], *where, seconds, *told, terms)


def show_scores(work: Work | None, quality: Quality, comparison: Comparison | None) -> str:
    """Return all results as text."""
    return "\n\n".join(map(str, filter(None, (work, quality, comparison))))


def show_scores_json(work: Work | None, quality: Quality, comparison: Comparison | None) -> str:
    """Return all results as JSON."""
    made = {**vars(work), "decode": work.decode.model_dump(mode="json")} if work else {}
    compared = {"comparison": comparison.to_json()} if comparison else {}
    return to_json({**made, **quality.to_json(), **compared})
