"""The verbs of language models, `complete`, `fill` and `classify`; and what others do for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Context

from ..foundation.plurals import tell_count
from . import decoding
from .options import AS_JSON, DEVICE, EXACT, MODEL, SEARCH, SEED, arg, opt
from .terminal import read_typed, show_progress, to_json
from .verb import takes

if TYPE_CHECKING:
    from ..translate.language_model import LanguageModel
    from ..translator import Translator


def is_language_model(model: Path | None) -> bool:
    """Return whether a path, or the name of a model in the package, is a language model."""
    from ..config import Config
    from ..model.files.directory import CONFIG, locate

    path = locate(model) / CONFIG if model else None
    return bool(path and path.is_file() and Config.load(path).model.is_language_model)


def open_reader(model: Path, **keywords: Any) -> Translator | LanguageModel:
    """Return the translator, or the language model, of a model directory."""
    from ..model.files.directory import open_model, split_pair
    from ..translate.language_model import LanguageModel
    from ..translator import Translator

    parts = open_model(split_pair(model)[0])
    if parts[0].model.is_language_model:
        return LanguageModel(*parts, **keywords)
    return Translator.load(model, **keywords)


def read_text(
    model: Path, files: Sequence[Path], **keywords: Any
) -> tuple[LanguageModel, list[str]]:
    """Return a language model and the lines of its one text; ValueError for another number."""
    from ..data.files import read_lines
    from ..translate.language_model import LanguageModel

    if len(files) != 1:
        raise ValueError(f"a language model reads one text, not {len(files)} files")
    return LanguageModel.load(model, **keywords), list(read_lines(files[0]))


def evaluate_text(model: Path, files: Sequence[Path], as_json: bool, **keywords: Any) -> str:
    """Return the scores of a language model on a text, or on labelled sentences."""
    from ..data.corpus import find_sentences
    from ..evaluate.language import score_text
    from ..translate.language_reader import CLASSIFIES

    reader, texts = read_text(model, files, **keywords)
    labels: Sequence[str] = ()
    if reader.ability == CLASSIFIES:
        pairs = [pair for pair in find_sentences(files[0]).train if all(pair)]
        texts, labels = [text for text, _ in pairs], [label for _, label in pairs]
    with show_progress("scoring", len(texts)) as tell:
        result = score_text(reader, texts, labels, progress=tell)
    if as_json:
        return to_json({"model": str(model), "lines": len(texts), **asdict(result)})
    rows = [*result.scores.items(), ("loss", result.loss)]
    table = "\n".join(f"{name:<12} {value:.3f}" for name, value in rows)
    return f"{table}\n{tell_count(len(texts), 'line')}, {result.signature}"


def score_lines(
    model: Path, files: Sequence[Path], as_json: bool, **keywords: Any
) -> Iterator[str]:
    """Yield, for each line of a text, its log-probability."""
    reader, texts = read_text(model, files, **keywords)
    for text, scored in zip(texts, reader.score(texts), strict=True):
        yield to_json({"text": text, **scored._asdict()}) if as_json else f"{scored.log_prob:.6f}"


@takes("decode")
def complete(
    context: Context,
    model: Path = MODEL,
    text: str | None = arg(
        "TEXT", "The text to complete; if not given, each line of the standard input."
    ),
    n_best: int | None = opt(
        "N", "How many completions: the N best of a beam, or N samples.", panel=SEARCH, min=1
    ),
    seed: int | None = SEED,
    device: str = DEVICE,
    precision: str = EXACT,
    as_json: bool = AS_JSON,
) -> None:
    """Complete a text with a language model of network=decoder.

    --max-extra limits how many tokens are written.

    \b
    glassformer complete my-model "The cat"
    glassformer complete my-model "The cat" --search sample --top-p 0.9 --n-best 5
    """
    from ..translate.language_model import LanguageModel

    reader = LanguageModel.load(model, device=device, precision=precision)
    reader.check("complete")
    options = dict(context.params)
    number = options.pop("n_best") or 1
    decode = decoding.choose_search(reader.config, options)
    if number > 1 and decode.search != "sample":
        decode = decoding.choose_search(reader.config, {**options, "n_best": number})
    for line in read_typed(text):
        for result in reader.search(line, decode=decode, n_best=number, seed=seed or 0):
            if as_json:
                print(to_json({"prompt": line, **asdict(result)}))
            elif number > 1:
                print(f"{result.log_prob:.4f}\t{result.text}")
            else:
                print(result.text)


def fill(
    model: Path = MODEL,
    text: str | None = arg(
        "TEXT", "A text with [MASK] in it; if not given, each line of the standard input."
    ),
    top: int = opt("N", "How many candidates to print for each mask.", default=5, min=1),
    device: str = DEVICE,
    precision: str = EXACT,
    as_json: bool = AS_JSON,
) -> None:
    """Fill the masks of a text with a language model of network=encoder.

    A mask stands for one token, with the space before it. Each candidate for a mask gives a line
    with its probability and the text in which it replaces the mask.

    \b
    glassformer fill my-model "The [MASK] is on the mat."
    """
    from ..translate.language_model import LanguageModel
    from ..translate.language_reader import MASK_TEXT

    reader = LanguageModel.load(model, device=device, precision=precision)
    for line in read_typed(text):
        result = reader.fill(line, top)
        if as_json:
            masks = [[asdict(each) for each in guesses] for guesses in result]
            print(to_json({"text": line, "masks": masks}))
            continue
        for number, guesses in enumerate(result):
            before, after = split_at_mask(line, MASK_TEXT, number)
            if number:
                print()
            for each in guesses:
                space = "" if each.token.startswith(" ") else "" if not before else "|"
                shown = f"{before.rstrip()}{space}{each.token}{after}".strip()
                print(f"{each.probability:.4f}\t{shown}")


def split_at_mask(text: str, mask: str, number: int) -> tuple[str, str]:
    """Return what stands before and after one of the masks of a text."""
    parts = text.split(mask)
    return mask.join(parts[: number + 1]), mask.join(parts[number + 1 :])


def classify(
    model: Path = MODEL,
    text: str | None = arg(
        "TEXT", "A sentence; if not given, each line of the standard input is one."
    ),
    device: str = DEVICE,
    precision: str = EXACT,
    as_json: bool = AS_JSON,
) -> None:
    """Classify a sentence with an encoder that was trained on labelled sentences.

    Each line of input gives one line: the label, and the probability of each label, the largest
    first. `train` learns from a .tsv of LABEL, a tab, SENTENCE; `evaluate MODEL FILE.tsv` says how
    many sentences of such a file the model gets right.

    \b
    glassformer train labelled.tsv --network encoder --init-from my-encoder --out my-classifier
    glassformer classify my-classifier "Where is the cat?"
    """
    from ..translate.language_model import LanguageModel

    reader = LanguageModel.load(model, device=device, precision=precision)
    lines = [*read_typed(text)]
    for line, result in zip(lines, reader.classify(lines), strict=True):
        if as_json:
            print(to_json({"text": line, **asdict(result)}))
            continue
        ranked = sorted(result.probabilities.items(), key=lambda pair: -pair[1])
        print("\t".join([result.label, *(f"{label} {value:.4f}" for label, value in ranked)]))
