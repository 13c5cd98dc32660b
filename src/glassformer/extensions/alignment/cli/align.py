"""The command `glassformer align`: which source word translates to which target word."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Context

from glassformer.cli.options import (
    AS_JSON,
    DEVICE,
    MODEL,
    OUTPUT,
    PAIR,
    SOURCE,
    TARGET,
    check_choice,
    flag,
    opt,
    pick_pair,
)
from glassformer.cli.terminal import (
    CHUNK,
    keep_apart,
    name_lines,
    open_output,
    show_progress,
    to_json,
    warn,
)
from glassformer.data.files import cut_chunks

if TYPE_CHECKING:
    from glassformer.data.corpus import Corpus
    from glassformer.translate.align.links import Links
    from glassformer.translate.align.pairs import AlignedPair

    from ..aligner import Aligner
    from ..gold import GoldSet

ORDERS, ROWS = ("source-target", "target-source"), ("reads", "predicts")
GOLD, READ = "Links by people", "Where it is read, if not where it was best"
JOIN = "Both directions"
ALONE = "Without a model"
EFLOMAL = "eflomal"


def align(
    context: Context,
    model: Path = MODEL,
    files: list[Path] | None = PAIR,
    source: Path | None = SOURCE,
    target: Path | None = TARGET,
    gold: Path | None = opt("FILE", "A file of gold links: 0-0 is sure, 0p1 possible.", panel=GOLD),
    gold_order: str | None = opt(
        "|".join(ORDERS), "Which side's word comes first in a gold link.", panel=GOLD
    ),
    gold_first: int | None = opt(
        "0|1", "Whether words in the gold file count from 0 or 1, if this is not clear.", panel=GOLD
    ),
    layer: int | None = opt("N", "Read this layer of the decoder; -1 is the last.", panel=READ),
    head: int | None = opt("N", "Read this head, not the mean of all heads.", panel=READ),
    row: str | None = opt(
        "|".join(ROWS),
        "The decoder row that reads a word, or the row before, which predicts it.",
        panel=READ,
    ),
    save: bool = flag(
        "Store the choice of a head in the model directory, for the next runs.",
        "--save",
        panel=READ,
    ),
    reverse: Path | None = opt("MODEL", "A model of the other direction.", panel=JOIN),
    join: str | None = opt(
        "grow-diag|intersection|union", "How to combine the links of both directions.", panel=JOIN
    ),
    engine: str | None = opt(
        EFLOMAL,
        "Align by statistics of the text itself, with two files and no MODEL; pip install "
        "'glassformer[eflomal]'.",
        panel=ALONE,
    ),
    learn_from: Path | None = opt(
        "PATH", "More pairs of such text, a table, that eflomal learns from.", panel=ALONE
    ),
    output: Path | None = OUTPUT,
    device: str = DEVICE,
    as_json: bool = AS_JSON,
) -> None:
    """Print which word translates which: for each line, links of words like 0-0 1-2.

    \b
    glassformer align my-model test.en test.de
    glassformer align my-model test.en test.de --gold test.links -o out.links
    glassformer align test.en test.de --engine eflomal --learn-from train.tsv
    """
    check_align_options(context.params)
    if engine:
        return align_without_model(context.params)
    pair = pick_pair(files, source, target)
    keep_apart(output, *pair, gold)
    from glassformer.data.corpus import find_data

    corpus = find_data(pair).train
    lines = corpus.fingerprints()[0].lines
    aligner, links = prepare_aligner(corpus, context.params)
    results: list[Links] = []
    too_long: list[int] = []
    line = 0
    with open_output(output) as out, show_progress("aligning", lines, beside=out) as tell:
        for chunk in cut_chunks(corpus, CHUNK):
            for text, aligned in zip(chunk, aligner.align(chunk), strict=True):
                out.write(
                    f"{tell_links(aligner, text, aligned) if as_json else write_links(aligned)}\n"
                )
                line += 1
                too_long += [] if aligned.fits else [line]
                results += [aligned.links] if links else []
            out.flush()
            tell(len(chunk))
    report(results, links, too_long)


def align_without_model(options: dict[str, Any]) -> None:
    """Align two files by eflomal, as the options say: what stands for the model is a file, too."""
    from glassformer.data.corpus import find_data
    from glassformer.translate.align.links import write_pharaoh

    from ..gold import measure_links
    from ..statistical import align_statistically, split_pairs

    pair = pick_pair(
        [options["model"], *(options["files"] or ())], options["source"], options["target"]
    )
    keep_apart(options["output"], *pair, options["gold"], options["learn_from"])
    corpus = find_data(pair).train
    corpus.fingerprints()
    texts = list(corpus)
    more = find_data(options["learn_from"]).train if options["learn_from"] else ()
    links = align_statistically(texts, more, options["join"] or "grow-diag")
    with open_output(options["output"]) as out:
        out.writelines(f"{write_pharaoh(each)}\n" for each in links)
    if options["gold"]:
        sides = split_pairs(texts)
        gold = load_gold(options, [(len(a), len(b)) for a, b in zip(*sides, strict=True)])
        warn(f"{measure_links(links, gold.pairs)}")


def load_gold(options: dict[str, Any], lengths: list[tuple[int, int]]) -> GoldSet:
    """Return the gold links as the options say, and warn of those beyond their sentences."""
    from ..gold import read_gold

    swapped = options["gold_order"] == ORDERS[1]
    links = read_gold(options["gold"], lengths, first=options["gold_first"], swapped=swapped)
    for line in links.beyond:
        warn(f"{line}; it counts as missed")
    return links


def check_align_options(options: dict[str, Any]) -> None:
    """Raise ValueError for a value that an option does not take."""
    from ..gold import JOININGS

    check_choice("gold-order", options["gold_order"], ORDERS)
    check_choice("row", options["row"], ROWS)
    check_choice("join", options["join"], JOININGS)
    check_choice("engine", options["engine"], (EFLOMAL,))
    if options["gold_first"] not in (None, 0, 1):
        raise ValueError(f"--gold-first {options['gold_first']}: words count from 0 or 1")


def prepare_aligner(corpus: Corpus, settings: dict[str, Any]) -> tuple[Aligner, GoldSet | None]:
    """Return the aligner with its heads chosen, and the gold links, if any.

    The choice of heads is printed; --save stores it in the model directories.
    """
    from ..aligner import SAMPLE, Aligner

    texts = list(corpus if settings["gold"] else islice(corpus, SAMPLE))
    options = {"reverse": settings["reverse"], "how": settings["join"] or "grow-diag"}
    aligner = Aligner.load(settings["model"], texts, device=settings["device"], **options)
    links = load_gold(settings, aligner.count_words(texts)) if settings["gold"] else None
    if settings["layer"] is not None:
        aligner = aligner.take(settings["layer"], settings["head"], settings["row"] or "reads")
    aligner = aligner.choose(texts, links)
    for direction in aligner.directions:
        warn(f"{direction.folder.name}: {direction.choice}")
    if settings["save"]:
        for path, error in aligner.remember():
            warn(f"{path}: not stored ({error})")
    return aligner, links


def write_links(aligned: AlignedPair) -> str:
    from glassformer.translate.align.links import write_pharaoh

    return write_pharaoh(aligned.links)


def tell_links(aligner: Aligner, text: tuple[str, str], aligned: AlignedPair) -> str:
    """Return a pair of texts with its words and links as JSON; spans count characters."""
    links = [
        {
            "source": i,
            "target": j,
            "source_span": aligned.source_words[i],
            "target_span": aligned.target_words[j],
            "weight": weight,
        }
        for (i, j), weight in sorted(aligned.weights.items())
    ]
    return to_json(
        {
            "source": text[0],
            "target": text[1],
            "source_words": aligned.source_words,
            "target_words": aligned.target_words,
            "links": links,
            "read": [each.candidate._asdict() for each in aligner.choices],
        }
    )


def report(results: list[Links], links: GoldSet | None, too_long: list[int]) -> None:
    """Warn of lines that could not be aligned, and compare the links with the gold links."""
    from ..gold import measure_links

    if too_long:
        warn(f"{name_lines(too_long)} is too long for this model: no links")
    if links:
        warn(f"{measure_links(results, links.pairs)}")
