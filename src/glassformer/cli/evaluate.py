"""The command `glassformer evaluate`: scores of models, or of given translations."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from typer import Context

from ..data.files import STANDARD
from ..foundation.extensions import find_addition, need_addition
from ..foundation.plurals import tell_count
from .decoding import load_translator, read_glossary
from .effects import refuse
from .language import evaluate_text, is_language_model
from .options import (
    AS_JSON,
    CHANGES,
    DEVICE,
    ENSEMBLE,
    GLOSSARY,
    LM,
    LM_WEIGHT,
    NO_GUARD,
    NO_SPLIT,
    PRECISION_FP32,
    SEED,
    THREADS,
    TO,
    WORKERS,
    arg,
    check_choice,
    check_exact,
    flag,
    opt,
)
from .systems import System, choose_decode, judge_sentences, list_models, translate_all
from .terminal import keep_apart, to_json, warn
from .verb import spell_typed, takes

if TYPE_CHECKING:
    from ..evaluate.quality import Quality
    from ..evaluate.results import Evaluation
    from ..evaluate.significance import Comparison

TESTS = ("bootstrap", "randomization")


@takes("decode")
def evaluate(
    context: Context,
    files: list[Path] | None = arg(
        "MODEL | FILE",
        "One or more models, the text to translate, and references; or a file of translations, "
        "and references. Files may also be given by options; - is the standard input.",
    ),
    source: Path | None = opt(
        "FILE",
        "Text for the model to translate; with --worst or --comet, also the source of "
        "--hypothesis.",
    ),
    reference: list[Path] | None = opt(
        "FILE",
        "Translations by people, line by line; give it again for each further file. In a .tsv "
        "file, all columns after the first.",
    ),
    hypothesis: Path | None = opt("FILE", "Translations to score, instead of a model."),
    against: Path | None = opt("FILE", "Another system's translations: is the difference chance?"),
    test: str | None = opt(
        "bootstrap|randomization",
        "The test of whether a difference is chance; bootstrap if not given.",
    ),
    intervals: bool = flag(
        "Also the 95 % confidence interval of each score, by a bootstrap.", "--intervals"
    ),
    worst: int | None = opt(
        "N", "Also the N sentences with the lowest chrF2, with all that looks wrong.", min=1
    ),
    as_table: bool = flag("Print those sentences as a table with tabs, and nothing else.", "--tsv"),
    html: Path | None = opt(
        "FILE", "Write those sentences as a page, with the model's attention in each."
    ),
    store: bool = flag(
        "Keep those sentences as evaluation.json in the model directory: the app shows them.",
        "--store",
    ),
    contrastive: Path | None = opt(
        "FILE",
        "Instead of translating: how often is a right translation more probable than wrong ones? "
        "A .tsv of source, right, wrong, or ContraPro's .json.",
    ),
    contrastive_by: str | None = opt(
        "sum|token",
        "What decides: the log-probability of all tokens, as in ContraPro and LingEval97, or that "
        "of a token, with which a shorter translation has no advantage. Both are printed.",
    ),
    robust: bool = flag(
        "Instead: what the model loses on text as people write it, with curly quotes, capitals, "
        "typing errors, names and links, in one table.",
        "--robust",
    ),
    output: Path | None = opt(
        "FILE",
        "Write the model's translations here; with -, they go to the standard output, and the "
        "scores to standard error.",
        "--output",
        "-o",
    ),
    changes: list[str] | None = CHANGES,
    target_lang: str | None = opt(
        "CODE", "The language of the translations, to split words; a model knows its own."
    ),
    tokenize: str | None = opt(
        "NAME",
        "sacreBLEU's tokeniser, instead of the language's; flores200 or a SentencePiece model, "
        "FILE.model: spBLEU.",
    ),
    literature: bool = flag(
        "Also BLEU as papers give it: tokenised and lower-cased.", "--literature"
    ),
    comet: str | None = opt(
        "NAME",
        "Also COMET by this model, as Unbabel/wmt22-comet-da, if its package unbabel-comet is "
        "installed; it downloads the model.",
    ),
    training: list[str] | None = opt(
        "PATH",
        "The pairs that MODEL learned from, given like --data of `train`, to compare the text "
        "with; if not given, those that its run names, if they are still there.",
    ),
    no_count: bool = flag(
        "Do not count this look at the text in the model directory.", "--no-count"
    ),
    to: str | None = TO,
    ensemble: list[Path] | None = ENSEMBLE,
    lm: Path | None = LM,
    lm_weight: float | None = LM_WEIGHT,
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

    A MODEL's score is that of what `translate` writes with the same options, but in fp32 if no
    --precision is given. Several models, or a folder of them, are put in one table, and each is
    compared with the first. A language model is scored on one text, by its perplexity or its
    masked accuracy; a classifier by its accuracy on a .tsv of labels and sentences.

    \b
    glassformer evaluate my-model test.en test.de --worst 20
    glassformer evaluate ours.de test.de --against theirs.de
    glassformer evaluate my-language-model text.en
    """
    typed, inputs = spell_typed(context), context.params
    if files and is_language_model(files[0]):
        refuse("evaluate", typed, "on a language model")
        machine = {"device": device, "precision": check_exact(precision)}
        print(evaluate_text(files[0], files[1:], as_json, **machine))
        return
    if contrastive:
        models = [each for path in files or () for each in list_models(path)]
        machine = {"device": device, "precision": check_exact(precision)}
        check_choice("contrastive-by", contrastive_by, ("sum", "token"))
        by = contrastive_by or "sum"
        evaluate_contrastive = need_addition("evaluate_contrastive", "--contrastive")
        print(evaluate_contrastive(models, contrastive, to, as_json, by=by, **machine))
        return
    asked = sort_files(files or (), source, hypothesis, reference or ())
    check_request(asked, inputs, typed)
    texts = read_texts(asked, against)
    if robust:
        print(evaluate_robustness(asked.models, texts, inputs))
        return
    systems = list(make_systems(asked.models, texts.ours, inputs)) if asked.models else []
    systems = systems or [System(str(asked.text), texts.ours)]
    if any(each.translator and each.translator.reader.context for each in systems):
        systems, texts = leave_out_ends(systems, texts)
    result = measure(systems, texts, inputs)
    if asked.models and len(systems) == 1:
        result = replace(result, honesty=examine_honesty(systems[0], texts, inputs))
    print(
        tell_result(result, as_table, as_json),
        file=sys.stderr if output == STANDARD else sys.stdout,
    )
    if html:
        write_page(html, systems[0], result)
    if store and systems[0].translator:
        store_evaluation(systems[0], result)


def examine_honesty(system: System, texts: Texts, options: dict[str, Any]) -> Any:
    """Return what is to be known beside the scores of a model, if an extension examines that."""
    examine = find_addition("examine_honesty")
    return examine and examine(
        system.translator, texts.ours, texts.references, system.lines, options
    )


def evaluate_robustness(models: Sequence[Path], texts: Texts, options: dict[str, Any]) -> str:
    """Return the table of what one model loses on text as people write it."""
    if len(models) != 1:
        raise ValueError("--robust needs one MODEL, its source text and a file of references")
    translator = load_translator(models[0], options)
    decode = choose_decode(translator.config, options["changes"] or (), options)
    split, again = not options["no_split"], not options["no_guard"]
    references = [each or "" for each in texts.references[0]]
    data = translator.config.data
    table = need_addition("measure_robustness", "--robust")(
        lambda lines: translator.translate(lines, decode=decode, split=split, again=again),
        texts.ours,
        references,
        (data.source_lang, options["target_lang"] or data.target_lang),
    )
    return to_json(table.to_json()) if options["as_json"] else str(table)


def check_request(asked: EvaluationRequest, options: dict[str, Any], typed: set[str]) -> None:
    """Raise ValueError, before anything is computed, for options that do not fit together."""
    from ..evaluate.quality import check_settings

    if not asked.models:
        refuse("evaluate", typed, "without a MODEL")
    if asked.source and not (asked.models or options["worst"] or options["comet"]):
        refuse("evaluate", typed, "without a MODEL, --worst or --comet")
    if options["comet"]:
        need_addition("load_comet", "--comet")()
        if not (asked.models or asked.source):
            raise ValueError("--comet needs the source text too: --source")
    if len(asked.models) > 1:
        refuse("evaluate", typed, "with several MODELs")
    if not asked.references:
        scored = (asked.models or [asked.text])[0]
        raise ValueError(f"to score {scored}, give a file of references too")
    inputs = (asked.text, None if asked.models else asked.source, options["against"])
    keep_apart(options["output"], *inputs, *asked.references)
    check_choice("test", options["test"], TESTS)
    if len(asked.models) < 2 and not options["against"]:
        refuse("evaluate", typed, "without several MODELs or --against")
    lang, cutter = options["target_lang"], options["tokenize"]
    if not (asked.models and lang is None):  # a model knows its language, once it is loaded
        check_settings(target_lang=lang, tokenize=cutter, literature=options["literature"])


class EvaluationRequest(NamedTuple):
    """A request to evaluate: `text` is what models translate or, without one, translations."""

    models: list[Path]
    text: Path
    references: list[Path]
    source: Path | None


class Texts(NamedTuple):
    """The lines that are read for an evaluation."""

    ours: list[str]  # of the text of the request
    references: list[list[str | None]]  # reference sets
    theirs: list[str]  # of --against; empty without
    source: list[str] | None
    numbers: Sequence[int]  # of the lines in their files, from 1


def sort_files(
    files: Sequence[Path], source: Path | None, hypothesis: Path | None, references: Sequence[Path]
) -> EvaluationRequest:
    """Return what to evaluate; paths are models up to the first that is a file.

    Raise ValueError if files and options do not fit together.
    """
    rest, models = list(files), list[Path]()
    while rest and not is_text(rest[0]):
        models += list_models(rest.pop(0))
    if models and hypothesis:
        raise ValueError("to evaluate MODEL, give --source and no --hypothesis")
    source = source or (rest.pop(0) if models and rest else None)
    text = source if models else hypothesis or (rest.pop(0) if rest else None)
    if models and not text:
        raise ValueError("to evaluate MODEL, give --source and no --hypothesis")
    if not text:
        raise ValueError("evaluate needs a MODEL and --source, or --hypothesis")
    return EvaluationRequest(models, text, [*rest, *references], source)


def is_text(path: Path) -> bool:
    """Return whether a path is a file, not a folder or a shipped model; ValueError if neither."""
    if path == STANDARD or path.exists():
        return not path.is_dir()
    from ..model.files.directory import SHIPPED, locate

    if (len(path.parts) == 1 and (SHIPPED / path).is_dir()) or locate(path).is_dir():
        return False
    raise ValueError(f"{path} is neither a file nor a model that is there")


def read_texts(asked: EvaluationRequest, against: Path | None) -> Texts:
    """Return the lines of all files. Raise ValueError unless they go line by line."""
    from ..data.files import read_lines
    from ..evaluate.quality import read_references

    ours, sets = list(read_lines(asked.text)), [read_references(each) for each in asked.references]
    theirs = list(read_lines(against)) if against else []
    source = ours if asked.models else None
    if asked.source and not asked.models:
        source = list(read_lines(asked.source))
        check_counts(asked.text, len(ours), [(asked.source, len(source))])
    lengths = (len(each[0]) if each else 0 for each in sets)
    check_counts(asked.text, len(ours), zip(asked.references, lengths, strict=True))
    check_counts(asked.text, len(ours), [(against, len(theirs))] if against else [])
    numbers, references = range(1, len(ours) + 1), [lines for each in sets for lines in each]
    return Texts(ours, references, theirs, source, numbers)


def check_counts(file: Path, lines: int, others: Iterable[tuple[Path, int]]) -> None:
    """Raise ValueError unless the other files have as many lines."""
    for path, count in others:
        if count != lines:
            raise ValueError(
                f"{file} has {tell_count(lines, 'line')} but {path} has {count:,}: "
                "they must go line by line"
            )


def make_systems(
    models: Sequence[Path], texts: list[str], settings: dict[str, Any]
) -> Iterable[System]:
    """Yield each model's translations; `settings` are the options by name."""
    from ..evaluate.quality import check_settings
    from ..translate.options import choose_options

    for model in models:
        translator = load_translator(model, settings)
        lang = settings["target_lang"] or translator.config.data.target_lang
        check_settings(
            target_lang=lang, tokenize=settings["tokenize"], literature=settings["literature"]
        )
        decode = choose_decode(translator.config, settings["changes"] or (), settings)
        options = choose_options(
            translator.config.decode,
            decode=decode,
            split=not settings["no_split"],
            again=not settings["no_guard"],
            seed=settings["seed"] or 0,
            glossary=read_glossary(settings["glossary"]),
        )
        yield translate_all(model, translator, texts, settings["output"], options)


def leave_out_ends(systems: Sequence[System], texts: Texts) -> tuple[list[System], Texts]:
    """Return systems and texts without the empty lines, on all sides, that end documents."""
    sides = zip(texts.ours, *texts.references, strict=True)
    is_text = [any(line and line.strip() for line in lines) for lines in sides]

    def take(lines: Sequence[Any]) -> list[Any]:
        return [*compress(lines, is_text)]

    taken = [replace(each, lines=take(each.lines), judged=take(each.judged)) for each in systems]
    references = [take(each) for each in texts.references]
    source = None if texts.source is None else take(texts.source)
    ours, theirs, numbers = map(take, (texts.ours, texts.theirs, texts.numbers))
    return taken, Texts(ours, references, theirs, source, numbers)


def measure(systems: Sequence[System], texts: Texts, options: dict[str, Any]) -> Evaluation:
    """Return the scores of systems, the tests between them and the sentences that are asked for."""
    from ..evaluate.quality import score_quality
    from ..evaluate.resampling import SAMPLES
    from ..evaluate.results import Evaluation, SystemResult
    from ..evaluate.sentences import find_worst

    first = systems[0]
    lang = options["target_lang"]
    if first.translator:
        lang = lang or first.translator.config.data.target_lang
    scoring: dict[str, Any] = {"target_lang": lang, "tokenize": options["tokenize"]}
    warn_if_unspaced(first.lines, **scoring)
    more = {"literature": options["literature"], "samples": SAMPLES if options["intervals"] else 0}
    scored = tuple(
        SystemResult(
            each.name,
            _add_comet(
                score_quality(each.lines, texts.references, **scoring, **more),
                (texts.source, each.lines, texts.references, options["comet"]),
            ),
            each.work,
        )
        for each in systems
    )
    pairs = [(each, first) for each in systems[1:]]
    if options["against"]:
        pairs.append((first, System(str(options["against"]), texts.theirs)))
    test = options["test"] or TESTS[0]
    compared = {
        f"{one.name} against {other.name}": _compare(one, other, texts, test, scoring)
        for one, other in pairs
    }
    worst = None
    if options["worst"]:
        shown = [*systems, *(other for _, other in pairs if other is not first)]
        sides = texts.source, texts.references, texts.numbers
        sentences = judge_sentences(shown, *sides, **scoring)
        worst = find_worst(sentences, options["worst"])
    return Evaluation(scored, compared, worst)


def _add_comet(quality: Quality, asked: tuple[Any, ...]) -> Quality:
    """Return the scores with COMET's, if a model of COMET is named."""
    if not asked[-1]:
        return quality
    score = need_addition("score_comet", "--comet")(*asked)
    return replace(quality, scores=(*quality.scores, score))


def _compare(
    one: System, other: System, texts: Texts, test: Any, scoring: dict[str, Any]
) -> Comparison:
    from ..evaluate.quality import METRICS
    from ..evaluate.significance import compare_systems

    options = {**scoring, "test": test, "metrics": METRICS}
    return compare_systems(one.lines, other.lines, texts.references, **options)


def warn_if_unspaced(texts: list[str], target_lang: str | None, tokenize: str | None) -> None:
    """Warn of a text without spaces, unless --target-lang or --tokenize says how to split it."""
    from ..text.spacing import looks_unspaced

    if not (target_lang or tokenize) and looks_unspaced("".join(texts[:1000])):
        warn("this looks Chinese or Japanese: only --target-lang zh or ja tells words apart")


def tell_result(evaluation: Evaluation, as_table: bool, as_json: bool) -> str:
    """Return all results as text, or as JSON; or the worst sentences as a table."""
    if as_table:
        from ..evaluate.results import write_table

        return write_table(evaluation.worst or ())
    return to_json(evaluation.to_json()) if as_json else str(evaluation)


def write_page(path: Path, system: System, evaluation: Evaluation) -> None:
    """Write the worst sentences as a page of HTML, with the attention of the system's model."""
    from ..foundation.disk import write_text

    render_page = need_addition("render_evaluation", "--html")
    write_text(path, render_page(evaluation, system.translator))


def store_evaluation(system: System, evaluation: Evaluation) -> None:
    """Write the scores and the worst sentences to the directory of the system's model."""
    from ..model.files.directory import EVALUATION, write_json

    assert system.translator is not None
    folder = system.translator.weights.folder
    if folder is None:
        raise ValueError("--store needs a single model, not an ensemble")
    write_json(folder / EVALUATION, evaluation.to_json())
