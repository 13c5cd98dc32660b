"""The command `glassformer probe`: where in a network a choice between two words is settled."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, DEVICE, MODEL, TO, arg, opt
from glassformer.cli.terminal import show_progress, to_json


def probe(
    model: Path = MODEL,
    pairs: Path = arg(
        "PAIRS",
        "Pairs like those of evaluate --contrastive, with marked words: a .tsv whose first line "
        "names the columns source, right, wrong, source.NAME, target.NAME; or ContraPro's .json.",
        default=...,
    ),
    cut: list[str] | None = opt(
        "'FROM -> TO'",
        "Mask attention from FROM to TO; give it again for each further one. FROM is step (the "
        "decoder step that chooses) or names of marked words joined by +; TO is such names, or "
        "rest. If not given, all are measured.",
    ),
    most: int | None = opt("N", "Use at most this many pairs.", min=1),
    output: Path | None = opt("FILE", "Write all numbers here, as JSON.", "--output", "-o"),
    to: str | None = TO,
    device: str = DEVICE,
    as_json: bool = AS_JSON,
) -> None:
    """Measure where a network settles the choice of a right word over a wrong one, in many pairs.

    It measures what is lost if attention from some words to others is masked, and without each
    head and each block; which heads attend to the marked words; and, if two pairs differ in only
    one word, which vectors carry the answer. In a recurrent network, it can mask only the
    decoder's attention to the source.

    \b
    glassformer probe my-model pronouns.tsv
    glassformer probe my-model contrapro.json --cut "step -> antecedent"
    """
    from glassformer.foundation.disk import write_json
    from glassformer.see.files import fingerprint
    from glassformer.see.recorded import Parameters
    from glassformer.translator import Translator

    from ..contrastive import read_contrastive
    from ..probe_report import probe_pairs, tell_probe

    items = read_contrastive(pairs)[:most]
    translator = Translator.load(model, to, device=device, precision="fp32")
    with show_progress("measuring", None) as tell:
        results = probe_pairs(translator, items, cut or (), tell)
    weights = fingerprint(Parameters(translator.model.state_dict()))
    results = {"model": str(model), "weights_sha256": weights, **results}
    if output:
        write_json(output, results)
    print(to_json(results) if as_json else tell_probe(results))
