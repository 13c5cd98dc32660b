"""The command `glassformer score`: log-probabilities of given translations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Context

from ..data.files import cut_chunks
from .effects import refuse
from .language import is_language_model, score_lines
from .options import AS_JSON, DEVICE, EXACT, MODEL, OUTPUT, PAIR, SOURCE, TARGET, pick_pair
from .terminal import CHUNK, keep_apart, name_lines, open_output, show_progress, to_json, warn
from .verb import spell_typed

if TYPE_CHECKING:
    from ..translate.sentence import Progress, Scored
    from ..translator import Translator


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

    A pair that is too long for the model has nan, and null in JSON.

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
    from ..translate.sentence import Scored
    from ..translator import Translator

    translator = Translator.load(model, device=device, precision=precision)
    document = PrecedingLines(translator.reader.context)
    number, unscored, why = 0, list[int](), ""
    with open_output(output) as out, show_progress("scoring", lines, beside=out) as tell:
        for chunk in cut_chunks(pairs, CHUNK):
            sources, targets = map(list, zip(*chunk, strict=True))
            read = sources
            if translator.reader.context:
                read = [*map(extend_source, list_contexts(sources, document), sources)]
            result = score_each(translator, read, targets, tell)
            for text, translation, scored in zip(sources, targets, result, strict=True):
                number += 1
                if isinstance(scored, str):
                    unscored, why = [*unscored, number], why or scored
                    values, log_prob = dict.fromkeys(Scored._fields), "nan"
                else:
                    values, log_prob = scored._asdict(), format(scored.log_prob, ".6f")
                shown = {
                    "source": text,
                    "target": translation,
                    **values,
                    "precision": translator.weights.exact,
                }
                out.write(f"{to_json(shown) if as_json else log_prob}\n")
            out.flush()
    if unscored:
        warn(f"{name_lines(unscored)} has no score: {why}")


def score_each(
    translator: Translator, sources: list[str], targets: list[str], tell: Progress
) -> list[Scored | str]:
    """Return the scores of pairs; for one that the model cannot score, why.

    NotFiniteError if its weights are damaged.
    """
    from ..decode.sentences import NotFiniteError

    try:
        return [*translator.score(sources, targets, progress=tell)]
    except NotFiniteError:
        raise
    except ValueError as error:
        if len(sources) < 2:
            tell(1)
            return [str(error).removeprefix("line 1: ")]
    middle = len(sources) // 2
    first = score_each(translator, sources[:middle], targets[:middle], tell)
    return first + score_each(translator, sources[middle:], targets[middle:], tell)
