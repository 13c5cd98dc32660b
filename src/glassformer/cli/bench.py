"""The command `glassformer bench`: speed of training and translation beside other engines."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, Typer

from ..data.files import read_lines
from .options import AsJson, Model
from .terminal import to_json
from .train import read_recipe

if TYPE_CHECKING:
    from ..bench.rows import Table

bench = Typer(no_args_is_help=True, help="Measure speed here, beside other engines.")

Recipe = Annotated[
    str | None, Argument(metavar="RECIPE", help="A size or a TOML file of settings; tiny.")
]
Data = Annotated[
    list[Path] | None,
    Option(metavar="PATH", help="Sentence pairs, as for train; the built-in ones if not given."),
]
Langs = Annotated[str, Option(metavar="CODES", help="Source and target language of the data.")]
Work = Annotated[
    Path | None,
    Option(metavar="FOLDER", help="Where engines are installed and kept; in the user's cache."),
]
Seconds = Annotated[float, Option(metavar="N", help="The length of a turn.")]
Rounds = Annotated[int, Option(metavar="N", help="Turns of each side, after one to warm up.")]
Threads = Annotated[int | None, Option(metavar="N", help="Threads of each side; all cores.")]
Avx2 = Annotated[bool, Option("--avx2", help="Hold every side to AVX2, as on many a laptop.")]
Out = Annotated[Path | None, Option("--output", "-o", metavar="FILE", help="Also keep the JSON.")]


@bench.command("train", no_args_is_help=False)
def bench_train(
    recipe: Recipe = None,
    data: Data = None,
    langs: Langs = "en-fr",
    against: Annotated[
        str, Option(metavar="NAMES", help="Other engines, with commas; an empty text: none.")
    ] = "transformers-fp32,transformers-bf16,torch-fp32,torch-bf16,eole-bf16,marian,joeynmt",
    precision: Annotated[
        str, Option(metavar="NAMES", help="Ours, with commas; auto is what train would take.")
    ] = "auto",
    changes: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="Change a setting, as for train."),
    ] = None,
    seconds: Seconds = 20.0,
    rounds: Rounds = 3,
    threads: Threads = None,
    avx2: Avx2 = False,
    work: Work = None,
    output: Out = None,
    as_json: AsJson = False,
) -> None:
    """Updates of one model on the same batches: tokens a second, ours and theirs, in turns.

    \b
    glassformer bench train small --against torch-fp32,torch-bf16
    """
    source, _, target = langs.partition("-")
    config = read_recipe(recipe or "tiny", source, target, None, changes or [])
    from ..bench import training
    from ..bench.holding import hold

    table = training.run(
        config,
        data,
        work or find_cache(),
        peers=split(against),
        precisions=split(precision),
        seconds=seconds,
        rounds=rounds,
        environment=hold(threads, avx2),
        command=quote("train"),
    )
    show(table, output, as_json)


@bench.command("translate")
def bench_translate(
    model: Model,
    source: Annotated[
        Path | None, Option(metavar="FILE", help="Sentences, line by line; if not given, ours.")
    ] = None,
    reference: Annotated[
        Path | None, Option(metavar="FILE", help="Their translations by people, for BLEU.")
    ] = None,
    against: Annotated[
        str, Option(metavar="NAMES", help="Other engines, with commas; an empty text: none.")
    ] = "ctranslate2,transformers",
    precision: Annotated[
        str, Option(metavar="NAMES", help="Ours, with commas; the first is compared with.")
    ] = "auto",
    beam: Annotated[int, Option(metavar="N", help="Beams; 1 is greedy.")] = 5,
    rounds: Rounds = 3,
    threads: Threads = None,
    avx2: Avx2 = False,
    work: Work = None,
    output: Out = None,
    as_json: AsJson = False,
) -> None:
    """Translate with a model of yours: tokens a second, ours and theirs, from the same weights.

    \b
    glassformer bench translate my-model --source test.en --reference test.de --beam 1
    """
    from ..bench import translating
    from ..bench.holding import hold

    work = work or find_cache()
    texts = list(read_lines(source)) if source else translating.demo_texts(model)
    references = list(read_lines(reference)) if reference else None
    if references is not None and len(references) != len(texts):
        raise ValueError(f"{reference} has {len(references):,} lines, the source {len(texts):,}")
    table = translating.run(
        model,
        texts,
        work,
        references=references,
        peers=split(against),
        precisions=split(precision),
        beam=beam,
        rounds=rounds,
        environment=hold(threads, avx2),
        command=quote("translate"),
    )
    show(table, output, as_json)


def split(names: str) -> list[str]:
    return [name for name in names.split(",") if name]


def find_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "glassformer/bench"


def quote(verb: str) -> str:
    """Return the command that makes the table again, without paths of this machine."""
    said = ["DATA" if os.sep in word else word for word in sys.argv[1:]]
    if said[:2] == ["bench", verb]:  # else a script of benchmarks/ was called
        said = said[2:]
    return " ".join(["glassformer", "bench", verb, *said])


def show(table: Table, output: Path | None, as_json: bool) -> None:
    if output:
        from ..directory import write_json

        write_json(output, table.to_json())
    print(to_json(table.to_json()) if as_json else table.to_markdown())
