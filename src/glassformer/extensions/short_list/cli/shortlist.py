"""The command `glassformer shortlist`: which translations the search considers at all."""

from itertools import islice
from pathlib import Path

from glassformer.cli.options import AS_JSON, MODEL, PAIR, SOURCE, TARGET, opt, pick_pair
from glassformer.cli.terminal import show_progress, to_json


def shortlist(
    model: Path = MODEL,
    files: list[Path] | None = PAIR,
    source: Path | None = SOURCE,
    target: Path | None = TARGET,
    likely: int = opt(
        "N", "The most likely translations to list for each token.", default=100, min=1
    ),
    common: int = opt(
        "N", "How many frequent tokens are candidates in every sentence.", default=300, min=10
    ),
    pairs: int = opt("N", "Read at most this many pairs.", default=1_000_000, min=1),
    as_json: bool = AS_JSON,
) -> None:
    """Learn from parallel text which translations are likely, so that the search is faster.

    The list is kept in the model directory; translate --shortlist uses it, on processors and in
    int8. It is best to use the text that the model was trained on, or part of it.

    \b
    glassformer shortlist my-model train.en train.de
    glassformer translate my-model test.en --shortlist
    """
    from glassformer.data.corpus import find_data

    from ..shortlisting import make_shortlist

    corpus = find_data(pick_pair(files, source, target)).train
    with show_progress("making the short-list", None) as tell:
        read = list(islice(corpus, pairs))
        result = make_shortlist(model, read, likely=likely, common=common, check=lambda: tell(1))
    if as_json:
        print(to_json(result._asdict()))
        return
    print(
        f"{model}: a short-list from {result.pairs:,} pairs; "
        f"a sentence has {result.candidates:,.0f}"
    )
    print(f"candidates. Of {result.lines} lines held out, {result.same} are translated as before.")
