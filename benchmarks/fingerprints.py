"""Take fingerprints of what the shipped models give, to see that a change of the code changes none.

    python -m benchmarks fingerprints before.json [demo everyday-fr-en ...]
    python -m benchmarks fingerprints after.json --against before.json

Of each model: translations and their log-probabilities, by greedy search, beam search and samples,
those of given translations, a recording with all its tensors, and three pictures of it; of a
language model, what it writes or fills in instead. The last digits depend on the processor, so both
files have to be made on one machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from glassformer.config import Config
from glassformer.extensions.pictures.parts.svg import write_svg
from glassformer.extensions.pictures.pictures import list_pictures, make_scene
from glassformer.model.files.directory import CONFIG, SHIPPED, WEIGHTS
from glassformer.see import Trace
from glassformer.translate.language_model import LanguageModel
from glassformer.translate.language_reader import FILLS
from glassformer.translator import Translator

TEXTS = {
    "en": [
        "The cat is on the mat. I am a student.",
        "The animal did not cross the street because it was too tired, and the dog slept.",
        "THE BLACK DOG IS TIRED. 🙂 1 + 1 = 2\nWhere is the station?",
    ],
    "fr": [
        "Le chat est sur le tapis. Je suis étudiant.",
        "L'animal n'a pas traversé la rue parce qu'il était trop fatigué, et le chien dormait.",
        "LE CHIEN NOIR EST FATIGUÉ. 🙂 1 + 1 = 2\nOù est la gare ?",
    ],
}
SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "greedy": {"decode": {"search": "greedy"}},
    "beam": {"decode": {"search": "beam", "beam": 4}, "n_best": 2},
    "samples": {"decode": {"search": "sample"}},
}
MASKED = "The cat is on the [MASK]."
PICTURES = 3  # of a recording
ELSEWHERE = ("search", "watch")  # what some pictures need beside one


@dataclass(frozen=True)
class Difference:
    """What two files do not have in common: the name of a fingerprint, and what happened to it."""

    name: str
    what: str


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", type=Path, metavar="FILE")
    parser.add_argument("names", nargs="*", default=list_shipped(), metavar="MODEL")
    parser.add_argument("--against", type=Path, metavar="FILE", help="of the code before")


def main(options: argparse.Namespace) -> None:
    taken = {
        f"{name}: {what}": digest for name in options.names for what, digest in take_prints(name)
    }
    options.out.write_text(json.dumps(taken, indent=1) + "\n", encoding="utf-8")
    if not options.against:
        print(f"{len(taken)} fingerprints are in {options.out}")
        return
    before = json.loads(options.against.read_text(encoding="utf-8"))
    kept = {key: digest for key, digest in before.items() if key.split(":")[0] in options.names}
    differences = compare(kept, taken)
    for each in differences:
        print(f"{each.name} {each.what}")
    if differences:
        raise SystemExit(1)
    print(f"{len(taken)} fingerprints are the same")


def list_shipped() -> list[str]:
    """Return the names of the models that come with the package."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{WEIGHTS}"))


def compare(before: Mapping[str, str], after: Mapping[str, str]) -> list[Difference]:
    """Return the fingerprints that two sets do not have in common."""
    names = [*before, *(name for name in after if name not in before)]
    return [
        Difference(name, "is new" if name not in before else "is another")
        if name in after
        else Difference(name, "is missing")
        for name in names
        if before.get(name) != after.get(name)
    ]


def take_prints(name: str) -> Iterator[tuple[str, str]]:
    """Yield what one shipped model gives, by name, and its fingerprint."""
    config = Config.load(SHIPPED / name / CONFIG)
    texts = TEXTS["fr" if config.data.source_lang == "fr" else "en"]
    if config.model.is_language_model:
        reader = LanguageModel.load(name, device="cpu")
        trace = reader.see(MASKED if reader.ability == FILLS else texts[0])
        yield from _ask_language_model(reader, texts)
    else:
        translator = Translator.load(name, device="cpu", precision="fp32")
        trace = translator.see(texts[0])
        yield from _ask_translator(translator, texts)
    yield "recording", _digest_trace(trace)
    for id in _choose_pictures(config.model.network):
        yield f"picture {id}", _digest(write_svg(make_scene(trace, id)))


def _choose_pictures(network: str) -> list[str]:
    """Return some pictures that stand still, those that need most of a recording first."""
    of_recordings = (each for each in list_pictures(network) if each.needs not in ELSEWHERE)
    still = [each for each in of_recordings if not each.moves]
    return [each.id for each in sorted(still, key=lambda each: not each.needs)][:PICTURES]


def _ask_translator(translator: Translator, texts: list[str]) -> Iterator[tuple[str, str]]:
    written = translator.translate(texts)
    yield "translations", _digest(written)
    for search, keywords in SEARCHES.items():
        ranked = translator.search(texts, **keywords)
        yield search, _digest([[each._asdict() for each in ways] for ways in ranked])
    scored = translator.score(texts[:2], written[:2])
    yield "scores", _digest([each._asdict() for each in scored])


def _ask_language_model(reader: LanguageModel, texts: list[str]) -> Iterator[tuple[str, str]]:
    if reader.ability == FILLS:
        guessed = reader.fill(MASKED)
        yield "guesses", _digest([[asdict(each) for each in place] for place in guessed])
    else:
        for search, keywords in SEARCHES.items():
            written = reader.search(texts[0][:12], **keywords)
            yield search, _digest([asdict(each) for each in written])
    yield "scores", _digest([each._asdict() for each in reader.score(texts[:2])])


def _digest_trace(trace: Trace) -> str:
    """Return the digest of a recording: all that it says, and the bytes of its tensors."""
    tensors = [
        (name, trace[name].shape, sha256(trace[name].tobytes()).hexdigest())
        for name in sorted(trace.names())
    ]
    return _digest([trace.to_json(), tensors])


def _digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
