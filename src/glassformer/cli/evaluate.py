"""glassformer evaluate"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..data.files import read_lines
from .decoding import describe_search
from .options import AsJson, Device, Precision, Threads, Workers
from .terminal import keep_apart, open_output, show_progress, to_json, warn

if TYPE_CHECKING:
    from ..config import Decode
    from ..evaluate.quality import Quality
    from ..evaluate.significance import Comparison
    from ..translator import Translator

Model = Annotated[
    Path | None, Argument(metavar="MODEL", help="The folder of a trained model, to translate.")
]
Source = Annotated[Path | None, Option(metavar="FILE", help="Text for the model to translate.")]
References = Annotated[
    list[Path],
    Option(
        metavar="FILE",
        help="Translations by people, line by line, again for each further file; in a .tsv file, "
        "all columns after the first.",
    ),
]
Hypothesis = Annotated[
    Path | None, Option(metavar="FILE", help="Instead of a model: translations to be scored.")
]
Against = Annotated[
    Path | None,
    Option(metavar="FILE", help="Another system's translations: is the difference chance?"),
]
Output = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE", help="Keep the model's translations here."),
]
Changes = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="Search in another way than the model's own settings say, like decode.beam=1; "
        "again for each further setting.",
    ),
]
TargetLang = Annotated[
    str | None,
    Option(
        metavar="CODE", help="What the translations are in, to tell words apart; a model knows it."
    ),
]
Tokenize = Annotated[
    str | None, Option(metavar="NAME", help="sacreBLEU's tokeniser, instead of the language's.")
]
Literature = Annotated[
    bool,
    Option("--literature", help="Also BLEU as papers give it: tokenised and lower-cased."),
]


def evaluate(
    reference: References,
    model: Model = None,
    source: Source = None,
    hypothesis: Hypothesis = None,
    against: Against = None,
    output: Output = None,
    changes: Changes = None,
    target_lang: TargetLang = None,
    tokenize: Tokenize = None,
    literature: Literature = False,
    device: Device = "auto",
    precision: Precision = "auto",
    threads: Threads = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Score translations: BLEU, chrF2, chrF++ and TER by sacreBLEU, with signatures.

    \b
    glassformer evaluate my-model --source test.en --reference test.de
    glassformer evaluate --hypothesis ours.de --reference test.de --against theirs.de
    """
    text = choose_text(model, source, hypothesis, {"--output": output, "--set": changes})
    keep_apart(output, source, against, *reference)
    from ..evaluate.quality import check_settings, score
    from ..evaluate.references import read_references
    from ..evaluate.significance import compare

    ours, sets = list(read_lines(text)), [read_references(path) for path in reference]
    theirs = list(read_lines(against)) if against else []
    check_counts(text, len(ours), zip(reference, (len(each[0]) for each in sets), strict=True))
    check_counts(text, len(ours), [(against, len(theirs))] if against else [])
    machine = {"device": device, "precision": precision, "threads": threads, "workers": workers}
    translator = load(model, **machine) if model else None
    if translator:
        target_lang = target_lang or translator.config.data.target_lang
    scoring: dict[str, Any] = {"target_lang": target_lang, "tokenize": tokenize}
    check_settings(**scoring, literature=literature)
    work = None
    if model and translator:
        ours, work = translate_all(model, translator, ours, changes or (), output)
    references = [lines for each in sets for lines in each]
    quality = score(ours, references, **scoring, literature=literature)
    comparison = compare(ours, theirs, references, **scoring) if against else None
    warn_if_unspaced(ours, **scoring)
    if as_json:
        print_json(work, quality, comparison)
    else:
        print(*filter(None, (work, quality, comparison)), sep="\n\n")


def choose_text(
    model: Path | None, source: Path | None, hypothesis: Path | None, of_model: dict[str, object]
) -> Path:
    """The file that is translated, or scored as it is. ValueError where options do not agree."""
    if model and source and not hypothesis:
        return source
    if model:
        raise ValueError("to evaluate MODEL, give --source and no --hypothesis")
    if not hypothesis:
        raise ValueError("evaluate needs a MODEL and --source, or --hypothesis")
    for name, value in {"--source": source, **of_model}.items():
        if value:
            raise ValueError(f"{name} has no effect without a MODEL")
    return hypothesis


def warn_if_unspaced(texts: list[str], target_lang: str | None, tokenize: str | None) -> None:
    """Where nobody said how to tell words apart, and it matters."""
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


def load(model: Path, **machine: Any) -> Translator:
    from ..translator import Translator

    return Translator.load(model, **machine)


@dataclass(frozen=True)
class Work:
    """How translations were made."""

    model: str
    decode: Decode
    device: str
    precision: str
    seconds: float
    suspect_lines: int  # whose translations look wrong
    problems: dict[str, int]  # of each kind, as `guard` has them

    def __str__(self) -> str:
        told = (
            f"model        {self.model}, {self.device} {self.precision}, {self.seconds:.1f} s\n"
            f"search       {describe_search(self.decode)}"
        )
        if not self.suspect_lines:
            return told
        kinds = ", ".join(f"{times:,} {kind}" for kind, times in self.problems.items())
        return f"{told}\nlook wrong   {self.suspect_lines:,} lines: {kinds}"


def translate_all(
    model: Path, translator: Translator, texts: list[str], changes: Sequence[str], to: Path | None
) -> tuple[list[str], Work]:
    """The translations, also written to a file; what looks wrong is counted and left as it is.

    ValueError if a change is not of the search.
    """
    from ..config import Config
    from ..guard import search

    for change in changes:
        if not change.startswith("decode."):
            raise ValueError(f"--set {change}: of a trained model only decode.* can be changed")
    decode = Config.read({"decode": translator.config.decode.model_dump()}, changes).decode
    begun = monotonic()
    with open_output(to) if to else nullcontext() as out:
        with show_progress("translating", len(texts)) as tell:
            how: dict[str, Any] = {"decode": decode, "split": False, "progress": tell}
            judged = search(translator, texts, again=False, **how)
        found = [each.best[0].text for each in judged]
        if out:
            out.writelines(f"{line}\n" for line in found)
    seconds = round(monotonic() - begun, 2)
    kinds = Counter(problem.kind for each in judged for problem in each.problems)
    suspects = sum(bool(each.problems) for each in judged)
    where = str(translator.device), translator.precision
    return found, Work(str(model), decode, *where, seconds, suspects, dict(kinds.most_common()))


def print_json(work: Work | None, quality: Quality, comparison: Comparison | None) -> None:
    made = {**vars(work), "decode": work.decode.model_dump(mode="json")} if work else {}
    compared = {"comparison": comparison.to_json()} if comparison else {}
    print(to_json({**made, **quality.to_json(), **compared}))
