"""Count how often a model that does not know a text says so, and how often wrongly.

    python -m benchmarks familiarity --data DATA [--model MODEL --test PREFIX... --text FILE...]

The shipped models translate sentences of their own kind that they never saw, and Tatoeba's, most of
which they cannot know; MODEL, if given, the pairs of each PREFIX, and FILEs without translations.
Good is a translation that the grammar allows, or with chrF2 of 60 or more to that by people; bad is
one below 40; what is between is not counted. The languages are told apart on Tatoeba alone. DATA
has the folders tatoeba_en_fr and so on; GLASSFORMER_DATA names it too.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from glassformer.evaluate.sentences import score_each
from glassformer.model.files.directory import write_text
from glassformer.text.function_words import find_other_language
from glassformer.translate.familiarity import SHARE, measure_confidence
from glassformer.translate.options import choose_options
from glassformer.translator import Translator
from tools.demo_corpus import accepted, pairs

from .tables import tell_table

DEMOS = {"demo": ("en", "fr"), "demo-fr-en": ("fr", "en"), "demo-en-zh": ("en", "zh")}
SIDES = {"en": "tatoeba_en_de", "de": "tatoeba_en_de", "fr": "tatoeba_en_fr", "zh": "tatoeba_en_zh"}
LINES, SEED, BAD, GOOD = 500, 2026, 40, 60
SHARES = (0.4, 0.5, SHARE, 0.7, 0.8)  # of the usual confidence


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=os.environ.get("GLASSFORMER_DATA"))
    parser.add_argument("--model", type=Path, help="a model of another kind of text")
    parser.add_argument("--test", nargs="*", default=[], help="for it: PREFIX.en and so on")
    parser.add_argument("--text", nargs="*", default=[], help="for it: text alone")
    parser.add_argument("--out", type=Path, help="write the tables there, too")


def main(options: argparse.Namespace) -> None:
    if not options.data:
        raise ValueError("--data or GLASSFORMER_DATA has to name the folder of test sets")
    if (options.test or options.text) and not options.model:
        raise ValueError("--test and --text are for a --model")
    limits = (f"below {share:g}" for share in SHARES)
    heads = ["model", "text", "translation", "lines", "unknown", "language", *limits]
    models = tell_table(heads, list_models(options), texts=3)
    heads = ["text of Tatoeba", "lines", *(f"to a model of {code}" for code in SIDES)]
    text = f"{models}\n{tell_table(heads, list_languages(Path(options.data)))}"
    print(text)
    if options.out:
        write_text(options.out, text)


def list_models(options: argparse.Namespace) -> Iterator[list[str]]:
    for name, (source, target) in DEMOS.items():
        translator = Translator.load(name, device="cpu", precision="fp32")
        yield from measure(
            name, translator, "its own kind", pairs(source, target, LINES, SEED, "test")
        )
        languages = sorted({source, target} - {"en"})
        test = Path(options.data) / f"tatoeba_en_{languages[0]}" / "test"
        yield from measure(name, translator, "Tatoeba", read(str(test), source, target))
    if options.model:
        translator = Translator.load(options.model, device="cpu", precision="fp32")
        data = translator.config.data
        ends = str(data.source_lang), str(data.target_lang)
        for prefix in options.test:
            kind = f"{Path(prefix).parent.name}/{Path(prefix).name}"
            yield from measure(options.model.name, translator, kind, read(prefix, *ends))
        for file in options.text:
            lines = [(line, "") for (line,) in read(*file.rsplit(".", 1))]
            yield from measure(options.model.name, translator, Path(file).name, lines)


def read(prefix: str, *ends: str) -> list[tuple[str, ...]]:
    texts = (Path(f"{prefix}.{end}").read_text(encoding="utf-8") for end in ends)
    return list(zip(*(text.split("\n")[:-1] for text in texts), strict=True))[:LINES]


def measure(
    name: str, translator: Translator, kind: str, test: Sequence[tuple[str, ...]]
) -> Iterator[list[str]]:
    """Yield a row for what is good, and one for what is bad; of text alone, one for all."""
    sources, references = map(list, zip(*test, strict=True))
    options = choose_options(translator.config.decode, again=False)
    found = translator.checker.translate_texts(sources, options)
    usual = translator.checker.familiarity.usual
    assert usual
    texts = [each.best[0].text for each in found]
    close = [each["chrF2"] for each in score_each(texts, [references], metrics=("chrF2",))]
    languages = (str(translator.config.data.source_lang), str(translator.config.data.target_lang))
    rows: dict[str, list[tuple[set[str], float]]] = {"good": [], "bad": [], "any": []}
    for (source, reference), checked, near in zip(test, found, close, strict=True):
        is_good = near >= GOOD or checked.best[0].text in list_accepted(kind, source, *languages)
        if reference and not is_good and near >= BAD:
            continue
        kinds = {problem.kind for problem in checked.problems}
        parts = [each.translations[0] for each in checked.sentences]
        least = min(map(measure_confidence, parts), default=1.0) / usual
        said = ("good" if is_good else "bad") if reference else "any"
        rows[said].append((kinds, least))
    for said, judged in rows.items():
        if judged:
            told = [sum(kind in kinds for kinds, _ in judged) for kind in ("unknown", "language")]
            told += [sum(least < share for _, least in judged) for share in SHARES]
            shares = (f"{100 * count / len(judged):.1f} %" for count in told)
            yield [name, kind, said, f"{len(judged):,}", *shares]


def list_accepted(kind: str, source: str, *languages: str) -> set[str]:
    """Return what the grammar of the built-in corpus allows, for its sentences."""
    return set(accepted(source, *languages)) if kind == "its own kind" else set()


def list_languages(data: Path) -> Iterator[list[str]]:
    """Yield how much of each language is taken for another, by a model of each."""
    for code, folder in SIDES.items():
        lines = (data / folder / f"test.{code}").read_text(encoding="utf-8").split("\n")[:-1]
        told = (sum(find_other_language(line, own) is not None for line in lines) for own in SIDES)
        shares = (f"{100 * count / len(lines):.2f} %" for count in told)
        yield [code, f"{len(lines):,}", *shares]
