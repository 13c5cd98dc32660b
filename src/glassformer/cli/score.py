"""The command `glassformer score`: log-probabilities of given translations."""

from pathlib import Path

from typer import Context

from ..data.files import cut_chunks
from .effects import refuse
from .language import is_language_model, score_lines
from .options import AS_JSON, DEVICE, EXACT, MODEL, OUTPUT, PAIR, SOURCE, TARGET, pick_pair
from .terminal import CHUNK, keep_apart, open_output, show_progress, to_json
from .verb import spell_typed


def score(
    context: Context,
    model: Path = MODEL,
    files: list[Path] | None = PAIR,
    source: Path | None = SOURCE,
    target: Path | None = TARGET,
    output: Path | None = OUTPUT,
    device: str = DEVICE,
    precision: str = EXACT,
    as_json: bool = AS_JSON,
) -> None:
    """Print how probable given translations are: a natural logarithm for each line.

    A language model scores one text: a decoder scores each token given those before it, an
    encoder each token given all others.

    \b
    glassformer score my-model test.en test.de
    glassformer score my-language-model text.en
    """
    if is_language_model(model):
        refuse("score", spell_typed(context), "on a language model")
        options = {"device": device, "precision": precision}
        with open_output(output) as out:
            for line in score_lines(model, files or (), as_json, **options):
                out.write(f"{line}\n")
        return
    from ..data.corpus import find_data

    pair = pick_pair(files, source, target)
    keep_apart(output, *pair)
    pairs = find_data(pair).train
    lines = pairs.fingerprints()[0].lines

    from ..text.context import PrecedingLines, extend_source, list_contexts
    from ..translator import Translator

    translator = Translator.load(model, device=device, precision=precision)
    document = PrecedingLines(translator.reader.context)
    with open_output(output) as out, show_progress("scoring", lines, beside=out) as tell:
        for chunk in cut_chunks(pairs, CHUNK):
            sources, targets = map(list, zip(*chunk, strict=True))
            read = sources
            if translator.reader.context:
                read = [*map(extend_source, list_contexts(sources, document), sources)]
            result = translator.score(read, targets, progress=tell)
            for text, translation, scored in zip(sources, targets, result, strict=True):
                shown = {
                    "source": text,
                    "target": translation,
                    **scored._asdict(),
                    "precision": translator.weights.exact,
                }
                out.write(f"{to_json(shown) if as_json else format(scored.log_prob, '.6f')}\n")
            out.flush()
