"""glassformer evaluate"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..config import Config
from ..data.files import read_lines
from .options import AsJson, Changes, Device, Output, Precision
from .search import describe_search
from .terminal import open_output, show_progress, to_json

if TYPE_CHECKING:
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
TargetLang = Annotated[
    str | None,
    Option(metavar="CODE", help="Says how words are told apart; a model knows it by itself."),
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
    as_json: AsJson = False,
) -> None:
    """Score translations: BLEU, chrF2, chrF++ and TER by sacreBLEU, with signatures.

    \b
    glassformer evaluate my-model --source test.en --reference test.de
    glassformer evaluate --hypothesis ours.de --reference test.de --against theirs.de
    """
    text = choose_text(model, source, hypothesis, {"--output": output, "--set": changes})
    from ..evaluate.quality import check_settings, score
    from ..evaluate.references import read_references
    from ..evaluate.significance import compare

    mine, sets = list(read_lines(text)), [read_references(path) for path in reference]
    theirs = list(read_lines(against)) if against else []
    counts = [(text, len(mine)), *zip(reference, (len(lines[0]) for lines in sets), strict=True)]
    check_counts([*counts, (against, len(theirs))] if against else counts)
    translator = load(model, device, precision) if model else None
    if translator:
        target_lang = target_lang or translator.config.data.target_lang
    scoring: dict[str, Any] = {"target_lang": target_lang, "tokenize": tokenize}
    check_settings(**scoring, literature=literature)
    facts: dict[str, object] = {}
    if translator:
        mine, facts = translate_all(translator, mine, changes or (), output)
    references = [lines for each in sets for lines in each]
    quality = score(mine, references, **scoring, literature=literature)
    comparison = compare(mine, theirs, references, **scoring) if against else None
    if as_json:
        compared = comparison and comparison.to_json()
        print(to_json({**facts, **quality.to_json(), "comparison": compared}))
        return
    print(*(f"{name:<11}  {value}" for name, value in facts.items()), quality, sep="\n")
    if comparison:
        print(f"\n{comparison}")


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


def check_counts(counts: Sequence[tuple[Path, int]]) -> None:
    """Raise ValueError unless all files have as many lines."""
    (first, lines), *others = counts
    for path, count in others:
        if count != lines:
            raise ValueError(
                f"{first} has {lines:,} lines but {path} has {count:,}: they must go line by line"
            )


def load(model: Path, device: str, precision: str) -> Translator:
    from ..translator import Translator

    return Translator.load(model, device=device, precision=precision)


def translate_all(
    translator: Translator, texts: list[str], changes: Sequence[str], output: Path | None
) -> tuple[list[str], dict[str, object]]:
    """The translations, and how they were made. ValueError if a change is not of the search."""
    for change in changes:
        if not change.startswith("decode."):
            raise ValueError(f"--set {change}: of a trained model only decode.* can be changed")
    decode = Config.read({"decode": translator.config.decode.model_dump()}, changes).decode
    begun = monotonic()
    with open_output(output) if output else nullcontext() as out:
        with show_progress("translating", len(texts)) as tell:
            found = translator.translate(texts, decode=decode, progress=tell)
        if out:
            out.writelines(f"{line}\n" for line in found)
    return found, {
        "search": describe_search(decode),
        "device": str(translator.device),
        "precision": translator.precision,
        "seconds": round(monotonic() - begun, 1),
    }
