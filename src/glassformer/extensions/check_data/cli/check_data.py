"""The command `glassformer check-data`: what is wrong with sentence pairs, and where."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Context, Exit

from glassformer.cli.options import AS_JSON, arg, flag, opt
from glassformer.cli.terminal import keep_apart, open_output, show_progress, to_json
from glassformer.cli.train import DATA, join_data
from glassformer.cli.verb import takes
from glassformer.foundation.plurals import tell_count
from glassformer.text.spacing import read_language_names

if TYPE_CHECKING:
    from glassformer.data.corpus import Corpus

    from .. import Report
    from ..ragged import Array

Sides = tuple[Iterable[str], Iterable[str]]


@takes("data.source_lang", "data.target_lang")
def check_data(
    context: Context,
    files: list[Path] | None = arg(
        "PATH", "The data: two files, source first, or one path of pairs."
    ),
    data: list[Path] | None = DATA,
    held_out: list[Path] | None = opt(
        "PATH",
        "Pairs to test or validate on, none of which may be in the data; give it again for each "
        "further prefix or file.",
        "--test",
        "--valid",
    ),
    quick: bool = flag(
        "Do not check by their words whether lines are translations of each other.", "--quick"
    ),
    report_to: Path | None = opt(
        "FILE", "Write all findings here, with all their lines, as text or as .json.", "--report"
    ),
    fix: Path | None = opt(
        "PREFIX",
        "Repair or leave out pairs that are surely bad, and write the rest as PREFIX.en and "
        "PREFIX.de.",
    ),
    fix_kinds: str | None = opt(
        "KIND,...",
        "With --fix: the kinds of findings to repair or leave out, as the report names them; sure "
        "if not given; all adds the guesses: mismatch, length and near-leak.",
    ),
    keep_best: str | None = opt(
        "N|N%",
        "With --fix: of all pairs, keep only so many whose lines are the likeliest translations of "
        "each other, such as 80%.",
    ),
    by_model: Path | None = opt(
        "MODEL",
        "With --keep-best: rank by the log-probability that this model gives a token, not by a "
        "lexicon of the text itself. A model of the other direction is best.",
    ),
    strict: bool = flag(
        "For scripts: exit with 1 if something serious is found: wrong languages, lost lines, "
        "test pairs in the data, or other damage to over 5 % of the pairs, guesses apart.",
        "--strict",
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Find what is wrong with sentence pairs, and in which lines, before a model learns it.

    \b
    glassformer check-data train.en train.de --report report.txt
    glassformer check-data corpus/train --test corpus/test \\
        --source-lang en --target-lang de --fix clean
    """
    data = join_data(files, data)
    langs = context.params["source_lang"], context.params["target_lang"]
    if not data:
        raise ValueError("check-data needs the data: two files, source first, or one path of pairs")
    keep_apart(None, *data, *(held_out or ()))
    fixed = name_fixed(fix, data, *langs) if fix else []
    from glassformer.data.corpus import find_data

    from .. import check_kinds

    kinds = check_kinds((fix_kinds or "sure").replace(" ", "").split(","))
    result = find_data(data, *langs)
    for path in (report_to, *fixed):
        keep_apart(path, *result.train.files)
    others = _find_others(held_out or (), *langs)
    if result.valid:
        others["valid"] = result.valid
    sides = result.train.sides()
    report = _examine(result.train, sides, others, thorough=not quick)
    _write_report(report, report_to, as_json)
    if fix:
        sides, left = _realign(result.train, sides, report, others, kinds, quick=quick)
        best = _choose_best(sides, left, keep_best, by_model, langs) if keep_best else None
        kept = _write_fixed(sides, left, fixed, kinds, best)
        if not as_json:
            are = "is" if kept == 1 else "are"
            print(f"\n{tell_count(kept, 'pair')} {are} in {fixed[0]} and {fixed[1]}")
    serious = [each.kind for each in report.findings if each.is_serious]
    if strict and serious:
        print(f"glassformer: serious: {', '.join(serious)}", file=sys.stderr)
        raise Exit(1)


def name_fixed(prefix: Path, data: Sequence[Path], *langs: str | None) -> list[Path]:
    """Return the files that --fix writes: their endings are the languages, or those of the data.

    ValueError if a language is not given and no ending says it.
    """
    endings = [path.suffix[1:] for path in data] if len(data) == 2 else ["", ""]
    names = [lang or ending for lang, ending in zip(langs, endings, strict=True)]
    if not all(names) or names[0] == names[1]:
        raise ValueError("--fix names its files by --source-lang and --target-lang: give both")
    return [Path(f"{prefix}.{name}") for name in names]


def _find_others(
    paths: Sequence[Path], source_lang: str | None, target_lang: str | None
) -> dict[str, Corpus]:
    """Return corpora by name: two text files are one corpus, any other path is one by itself."""
    from glassformer.data.corpus import find_data
    from glassformer.data.tables import table_kind

    if len(paths) == 2 and not any(table_kind(path) or not path.is_file() for path in paths):
        return {str(paths[0]): find_data(paths).train}
    return {str(path): find_data(path, source_lang, target_lang).train for path in paths}


def _examine(
    corpus: Corpus, sides: Sides, others: Mapping[str, Corpus], *, thorough: bool
) -> Report:
    """Return the report on the sides of a corpus; `others` are to have no line of it."""
    from .. import examine

    source_lang, target_lang = read_languages(corpus)
    with show_progress("checking") as tell:
        return examine(
            *sides,
            source_lang=source_lang,
            target_lang=target_lang,
            held_out={name: other.sides() for name, other in others.items()},
            thorough=thorough,
            names=(str(corpus.files[0]), str(corpus.files[-1])),
            progress=tell,
        )


def read_languages(corpus: Corpus) -> list[str | None]:
    """Return the languages as they are given, else as the endings of two files name them.

    Other endings, such as those of train.txt and train.src, name none.
    """
    known = read_language_names()
    languages = (corpus.source_lang, corpus.target_lang)
    if len(corpus.files) != len(languages):
        return [*languages]
    ends = [path.name.removesuffix(".gz").rpartition(".")[2] for path in corpus.files]
    return [
        lang or (end if end in known else None) for lang, end in zip(languages, ends, strict=True)
    ]


def _write_report(report: Report, path: Path | None, as_json: bool) -> None:
    """Print the report, as JSON or as a table, and write it to a file, if one is named."""
    if path:
        in_json = json.dumps(report.to_json(), ensure_ascii=False, indent=1) + "\n"
        with open_output(path) as out:
            out.write(in_json if path.suffix == ".json" else str(report))
    if as_json:
        print(to_json(report.to_json()))
    else:
        _print(report)


def _print(report: Report) -> None:
    """Print a short table, and an example of each finding."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=False)
    if not report.findings:
        print(f"{report.extent}: nothing found")
        _print_blindness(report)
        return
    table = Table("finding", "pairs", "%", "first lines", "what it is", box=None, pad_edge=False)
    for column in (1, 2):
        table.columns[column].justify = "right"
    for each in report.findings:
        lines = ", ".join(map(str, each.lines[:3])) + " ..." * (each.count > 3)
        table.add_row(
            each.kind, f"{each.count:,}", f"{100 * each.share:.2f}", lines, each.check.meaning
        )
    print(f"{report.extent}\n")
    console.print(table)
    for each in report.findings:
        example = each.examples[0]
        about = each.note or example.note
        print(f"\n{each.kind}, line {example.line}" + (f" ({about})" if about else ""))
        for text in (example.source, example.target):
            console.print(Text("  " + text), overflow="ellipsis", no_wrap=True)
        print(f"  -> {each.check.advice}")
    _print_blindness(report)


def _print_blindness(report: Report) -> None:
    if report.blindness:
        print(f"\n{report.blindness}")


def _realign(
    corpus: Corpus,
    sides: Sides,
    report: Report,
    others: Mapping[str, Corpus],
    kinds: Collection[str],
    *,
    quick: bool,
) -> tuple[Sides, Report]:
    """Return the sides with each line beside its partner, if that is wanted, and their report.

    ValueError if nothing tells which lines are partners.
    """
    from .. import realign

    if report["unrelated"]:
        hint = "; without --quick, a shift of the lines is found and repaired" * quick
        raise ValueError(
            "--fix wrote nothing: the sides are unrelated, and nothing tells which of their "
            f"lines are partners{hint}"
        )
    if not (report.misalignments and "misaligned" in kinds):
        return sides, report
    sides = realign(*sides, report)
    return sides, _examine(corpus, sides, others, thorough=True)


def _choose_best(
    sides: Sides, report: Report, amount: str, model: Path | None, langs: Sequence[str | None]
) -> Array:
    """Return a mask of the pairs that --keep-best keeps."""
    from .. import choose_best, rank_by_lexicon, rank_by_model, read_amount

    number = read_amount(amount, report.pairs)
    if model is None:
        return choose_best(rank_by_lexicon(report), number)
    source, target = map(list, sides)
    from glassformer.translator import Translator

    translator = Translator.load(model)
    if translator.config.data.source_lang == langs[1]:  # it reads the target
        source, target = target, source
    with show_progress("scoring", len(source)) as tell:

        def score(texts: Sequence[str], others: Sequence[str]) -> list[tuple[float, int]]:
            scored = translator.score([*texts], [*others], progress=tell)
            return [(each.log_prob, len(each.token_log_probs)) for each in scored]

        return choose_best(rank_by_model(source, target, score), number)


def _write_fixed(
    sides: Sides,
    report: Report,
    paths: Sequence[Path],
    kinds: Collection[str],
    best: Array | None,
) -> int:
    from .. import fix

    kept = 0
    with ExitStack() as stack:
        files = [stack.enter_context(open_output(path)) for path in paths]
        for pair in fix(*sides, report, kinds, best):
            for file, text in zip(files, pair, strict=True):
                file.write(text + "\n")
            kept += 1
    return kept
