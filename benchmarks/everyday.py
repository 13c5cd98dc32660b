"""Make a shipped model for everyday sentences from those of Tatoeba.

    python -m benchmarks everyday --data DIR --out RUNS
    python -m benchmarks everyday --data DIR --out RUNS --source fr --target en --copies 5

DIR has train, valid and test in .en and .fr, or in other languages. It is trained by
recipes/tatoeba-en-fr.toml, but for 6,500 updates (or `--steps`); its weights are stored in int8
under src/glassformer/models, with the words of its training text and what its heads
read, and examined as stored, on text as people write it, too. A training that is in RUNS already is
only stored and examined. `--phrases N` mixes N expansions of our phrasebook (tools/phrasebook) into
the training text, and some of all pairs once more as they are typed on a phone (see
benchmarks/casual.py), if it has both languages; none has a line of the validation or test text.
One head learns to align words as eflomal does: `pip install eflomal`. Models of --forward and
--backward translate the training text too, and what differs from it is learned as well (see
benchmarks/diversify.py); with --parent the training starts from a model, with its tokens.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from glassformer.cli.terminal import to_json
from glassformer.config import Config
from glassformer.evaluate.quality import score_quality
from glassformer.extensions.alignment.statistical import align_statistically
from glassformer.extensions.lab.doubt import calibrate_doubt
from glassformer.extensions.lab.heads import measure_portraits
from glassformer.extensions.lab.robustness import measure_robustness
from glassformer.extensions.publish.hub_readme import README
from glassformer.extensions.publish.publishing import publish_model
from glassformer.model.files.directory import CARD, DOUBT, HEADS, SHIPPED, write_text
from glassformer.model.files.known_words import copy_known_words
from glassformer.train import train
from glassformer.train.publish.card import read_facts, write_card
from glassformer.translate.align.links import write_pharaoh
from glassformer.translate.align.pairs import find_words
from glassformer.translator import Translator
from tools.phrasebook import LANGUAGES, expand

from .casual import type_casually
from .diversify import diversify

STEPS = 6_500
PHRASES = 3  # expansions of the phrasebook, each with other names, places and times
MOST = 8  # choices of these in an expansion
GUIDED = 0.1  # the weight of the links of eflomal in the loss
PART = re.compile(r"\w+|[^\w\s]")  # what eflomal takes for a word: "l'eau?" has four
LISTED = 12_000  # training pairs by which the words are listed that may stay unsaid
PORTRAYED = 300  # validation sentences of which it is measured what heads read
RECIPE = Path(__file__).parents[1] / "recipes" / "tatoeba-en-fr.toml"
LICENCE = "CC BY 2.0 FR"
ORIGIN = f"""
## Licence

The weights were made from sentences of [Tatoeba](https://tatoeba.org), written by its contributors,
who publish them under {LICENCE}, in the pairs that [manythings.org](https://www.manythings.org/anki/)
collects{{phrasebook}}. Whoever passes the model on names Tatoeba and this licence.

## Made by

`python -m benchmarks everyday --data DIR --out RUNS{{arguments}}`
"""
EARLIER = """
The models that it names are those that had these names before.
"""


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def has_phrases(options: argparse.Namespace) -> bool:
    return options.phrases > 0 and {options.source, options.target} <= set(LANGUAGES)


def list_held_out(pairs: dict[str, list[Path]]) -> list[set[str]]:
    """Return the lines of the validation and test text of each side."""
    held_out = zip(pairs["valid"], pairs["test"], strict=True)
    return [{line for path in paths for line in read_lines(path)} for paths in held_out]


def make_phrases(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return what the phrasebook adds."""
    return [
        pair
        for seed in range(options.phrases)
        for pair in expand(options.source, options.target, seed, MOST)
    ]


def mix_phrases(options: argparse.Namespace, pairs: dict[str, list[Path]]) -> list[Path]:
    """Write training text, the phrasebook, and some of both as typed casually, under RUNS.

    What is added has no line of the validation or test text. Return the files.
    """
    text = list(zip(*map(read_lines, pairs["train"]), strict=True))
    added = make_phrases(options)
    added += type_casually([*text, *added], options.source)
    sources, targets = list_held_out(pairs)
    text += [pair for pair in added if pair[0] not in sources and pair[1] not in targets]
    folder = options.out / f"everyday-{options.source}-{options.target}-text"
    folder.mkdir(parents=True, exist_ok=True)
    mixed = [folder / path.name for path in pairs["train"]]
    for path, lines in zip(mixed, zip(*text, strict=True), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return mixed


def mix_translations(
    options: argparse.Namespace, pairs: Sequence[Path], mixed: Sequence[Path]
) -> list[Path]:
    """Write the mixed text and what the models make of the pairs under RUNS, and return its files.

    The phrasebook is not translated: each of its lines is right as it is.
    """
    sources, targets = map(read_lines, pairs)
    decode = Config.load(RECIPE).decode
    every = diversify(sources, targets, options.forward, options.backward, decode)
    text = list(zip(*map(read_lines, mixed), strict=True))
    known = set(text)
    text += dict.fromkeys(pair for pair in every if all(pair) and pair not in known)
    folder = options.out / f"everyday-{options.source}-{options.target}-diverse"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / path.name for path in pairs]
    for path, lines in zip(paths, zip(*text, strict=True), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return paths


def write_links(text: Sequence[Path], path: Path) -> Path:
    """Align training text by eflomal, and write the links between words in white space."""
    pairs = list(zip(*map(read_lines, text), strict=True))
    parts = [(write_parts(source), write_parts(target)) for source, target in pairs]
    owners = [tuple(map(find_owners, pair)) for pair in pairs]
    lines = [
        write_pharaoh(frozenset((source[i], target[j]) for i, j in links))
        for (source, target), links in zip(owners, align_statistically(parts), strict=True)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_parts(text: str) -> str:
    return " ".join(PART.findall(text.casefold()))


def find_owners(text: str) -> list[int]:
    """Return for each part of a text the number of the word in white space that it belongs to."""
    words = find_words(text, by_character=False)
    return [
        word
        for word, (start, end) in enumerate(words)
        for _ in PART.findall(text[start:end].casefold())
    ]


def describe_origin(options: argparse.Namespace) -> str:
    """Return the licence of the training text, and the command that makes the model."""
    usual = {"source": "en", "target": "fr", "steps": STEPS, "copies": 0, "phrases": PHRASES}
    arguments = [
        f" --{name} {getattr(options, name)}"
        for name, value in usual.items()
        if getattr(options, name) != value
    ]
    arguments += [
        f" --{name} {' '.join(models)}"
        for name in ("forward", "backward", "parent")
        if (models := getattr(options, name))
    ]
    earlier = EARLIER if options.forward or options.backward or options.parent else ""
    phrasebook = ", and of our own phrasebook" if has_phrases(options) else ""
    return ORIGIN.format(arguments="".join(arguments), phrasebook=phrasebook) + earlier


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="RUNS")
    parser.add_argument("--source", default="en", metavar="LANG")
    parser.add_argument("--target", default="fr", metavar="LANG")
    parser.add_argument("--steps", type=int, default=STEPS, metavar="N", help="train.steps")
    parser.add_argument("--copies", type=int, default=0, metavar="N", help="data.copies")
    parser.add_argument(
        "--phrases", type=int, default=PHRASES, metavar="N", help="expansions of our phrasebook"
    )
    for name, meaning in (("forward", "its direction"), ("backward", "the other direction")):
        parser.add_argument(
            f"--{name}", nargs="*", default=[], metavar="MODEL", help=f"models of {meaning}"
        )
    parser.add_argument("--parent", nargs=1, default=[], metavar="MODEL", help="to start from")


def main(options: argparse.Namespace) -> None:
    source, target = options.source, options.target
    name = f"everyday-{source}-{target}"
    pairs = {
        split: [options.data / f"{split}.{lang}" for lang in (source, target)]
        for split in ("train", "valid", "test")
    }
    made, folder = options.out / name, SHIPPED / name
    if not (made / CARD).exists():
        parent = options.parent[0] if options.parent else None
        config = Config.load(RECIPE).changed(
            train={"steps": options.steps, "alignment_weight": GUIDED},
            data={"source_lang": source, "target_lang": target, "copies": options.copies},
        )
        text = mix_phrases(options, pairs) if has_phrases(options) else pairs["train"]
        if options.forward or options.backward:
            text = mix_translations(options, pairs["train"], text)
        links = write_links(text, options.out / f"{name}.links")
        held = pairs["valid"]
        summary = train(config, text, made, valid=held, alignments=links, parent=parent)
        if not summary.is_finished:
            raise SystemExit(summary.text)
    shutil.rmtree(folder, ignore_errors=True)
    publish_model(made, folder, int8=True)
    (folder / README).unlink()  # of a folder on a hub; the package has one of its own
    copy_known_words(made, folder)
    translator = Translator.load(folder, device="cpu")
    held_out, translations = map(read_lines, pairs["valid"])
    portraits = measure_portraits(
        Translator.load(folder, device="cpu", precision="fp32"), held_out[:PORTRAYED]
    )
    write_text(folder / HEADS, to_json(portraits) + "\n")
    learned = [read_lines(path)[:LISTED] for path in pairs["train"]]
    doubt = calibrate_doubt(translator, held_out, [translations], more=(learned[0], learned[1]))
    write_text(folder / DOUBT, to_json(doubt.to_json()) + "\n")
    translator = Translator.load(folder, device="cpu")
    sources, references = map(read_lines, pairs["test"])
    found = score_quality(translator.translate(sources), [references], target_lang=target)
    scores = {name: found[name].value for name in ("BLEU", "chrF2")}
    write_card(folder, {**read_facts(folder), "test": scores, "licence": LICENCE})
    card = (folder / CARD).read_text(encoding="utf-8")
    said = f"On {len(sources):,} test sentences, of the weights as stored, beam search:\n\n"
    said += "".join(f"- {name}: {value:.2f}\n" for name, value in scores.items())
    table = measure_robustness(translator.translate, sources, references, (source, target))
    robust = f"\nOn {table.lines} of them as people write text:\n\n{table}\n"
    write_text(folder / CARD, f"{card}\n{said}{robust}{describe_origin(options)}")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {size / 1e6:.1f} MB\n{said}")
