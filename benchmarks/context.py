"""What the sentence before gives a model: `it` in French, by a noun of the other sentence.

    python -m benchmarks context --out RUNS --seeds 1 2

Documents of two sentences are made here: "The dog didn't cross the street. It was too tired." The
pronoun is il or elle, by the gender of the dog; "It was too wide." speaks of the street. One model
is trained with data.context=1 and one with 0, on the same text. Tested are pairs of nouns that no
training document has. Asked are also: the second sentence by itself; with the context's words cut
from what the decoder reads, and with the noun replaced by one of the other gender (edits of `see`).
What is there already is not trained again. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from glassformer.config import Config
from glassformer.model.files.directory import write_text
from glassformer.train import train
from glassformer.translator import Translator

from .tables import tell_machine, tell_table

ANIMALS = (
    "animal m, cat chat m, dog chien m, horse cheval m, rabbit lapin m, fox renard m, wolf loup m, "
    "lion lion m, monkey singe m, frog grenouille f, cow vache f, mouse souris f, turtle tortue f, "
    "goat chèvre f, hen poule f, lioness lionne f, giraffe girafe f, otter loutre f, ant fourmi f, "
    "zebra zèbre m"
)
PLACES = (
    "street rue f, road route f, river rivière f, square place f, forest forêt f, field champ m, "
    "bridge pont m, garden jardin m, path chemin m, park parc m, meadow prairie f, "
    "valley vallée f, tunnel tunnel m, wood bois m, swamp marais m, beach plage f"
)
VERBS = "cross traversé, see vu, find trouvé, leave quitté, like aimé, visit visité"
OF_ANIMALS = (
    "tired fatigué fatiguée, hungry affamé affamée, small petit petite, slow lent lente, "
    "old vieux vieille, young jeune jeune"
)
OF_PLACES = (
    "wide large large, narrow étroit étroite, long long longue, dark sombre sombre, "
    "quiet calme calme, far lointain lointaine"
)
PRONOUNS = {"m": "Il", "f": "Elle"}
FIFTH = 5  # one pair of nouns of so many is kept from training
DOCUMENTS = {"train": 8000, "valid": 100, "test": 500}
ASKED = (
    "both sentences",
    "the second alone",
    "both, the first cut",
    "both, a noun of the other gender",
)
LOOKED_INTO = 100  # documents of the test that are recorded with edits
SETTINGS = {
    "model": {"d_model": 64, "d_ff": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 2}
    | {"norm": "pre", "dropout": 0.1},
    "text": {"vocabulary": 800},
    "train": {"steps": 600, "batch_tokens": 2048, "optimizer": "muon", "learning_rate": 0.008}
    | {"warmup": 60, "schedule": "cosine", "watch": 0, "validate_every": 200},
    "data": {"source_lang": "en", "target_lang": "fr"},
}


@dataclass(frozen=True)
class Noun:
    """A noun in both languages."""

    english: str
    french: str
    gender: str

    def with_article(self) -> str:
        if self.french[0] in "aeé":
            return f"l'{self.french}"
        return f"{'le' if self.gender == 'm' else 'la'} {self.french}"


@dataclass(frozen=True)
class Item:
    """A document of two sentences, with the noun that its pronoun stands for."""

    source: tuple[str, str]
    target: tuple[str, str]
    noun: Noun


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    documents = make_documents(random.Random(1))
    for part, items in documents.items():
        write_documents(options.out / "data" / part, items)
    rows = []
    for seed, context in product(options.seeds, (0, 1)):
        folder = options.out / f"context-{context}-seed-{seed}"
        if not (folder / "model.safetensors").is_file():
            settings = Config.read(SETTINGS).changed(
                data={"context": context}, train={"seed": seed}
            )
            train(settings, [options.out / "data"], folder)
        found = ask(Translator.load(folder, precision="fp32"), documents["test"])
        write_text(folder / "pronouns.json", json.dumps(found, indent=1) + "\n")
        shares = [f"{100 * found[name]:.1f} %" if name in found else "" for name in ASKED]
        rows.append([str(context), str(seed), *shares])
    print(tell_machine())
    print(tell_table(["data.context", "seed", *ASKED], rows))


def make_documents(drawn: random.Random) -> dict[str, list[Item]]:
    """Return the documents of each part; validation and test have nouns that never met in training.

    As many pronouns of a test are right as il and as elle, and each is of an animal half the time.
    """
    animals, places = read_nouns(ANIMALS), read_nouns(PLACES)
    met: dict[bool, list[tuple[Noun, Noun]]] = {True: [], False: []}
    for (i, animal), (j, place) in product(enumerate(animals), enumerate(places)):
        met[(i + 3 * j) % FIFTH == 0].append((animal, place))
    return {
        part: [make_item(met[part != "train"], drawn, number) for number in range(count)]
        for part, count in DOCUMENTS.items()
    }


def read_nouns(written: str) -> list[Noun]:
    nouns = (each.split() for each in written.split(", "))
    return [Noun(each[0], each[-2], each[-1]) for each in nouns]


def make_item(pairs: Sequence[tuple[Noun, Noun]], drawn: random.Random, number: int) -> Item:
    """Return a document of one of the pairs: the number chooses what `it` is, and its gender."""
    of_place, gender = number % 2, "mf"[number // 2 % 2]
    animal, place = drawn.choice([pair for pair in pairs if pair[of_place].gender == gender])
    noun = (animal, place)[of_place]
    verb, participle = drawn.choice(VERBS.split(", ")).split()
    adjective, *forms = drawn.choice((OF_ANIMALS, OF_PLACES)[of_place].split(", ")).split()
    subject = animal.with_article()
    return Item(
        (f"The {animal.english} didn't {verb} the {place.english}.", f"It was too {adjective}."),
        (
            f"{subject[0].upper()}{subject[1:]} n'a pas {participle} {place.with_article()}.",
            f"{PRONOUNS[gender]} était trop {forms['mf'.index(gender)]}.",
        ),
        noun,
    )


def write_documents(prefix: Path, items: Iterable[Item]) -> None:
    """Write documents as two files, an empty line after each document."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    sides = zip(*((each.source, each.target) for each in items), strict=True)
    for language, documents in zip(("en", "fr"), sides, strict=True):
        lines = (f"{first}\n{second}\n\n" for first, second in documents)
        write_text(prefix.with_name(f"{prefix.name}.{language}"), "".join(lines))


def ask(translator: Translator, items: Sequence[Item]) -> dict[str, float]:
    """Return the shares of right pronouns, by what the model was given to read."""
    whole = translator.translate([" ".join(each.source) for each in items])
    alone = translator.translate([each.source[1] for each in items])
    said = [[split_french(each)[1] for each in whole], alone]
    if not translator.reader.context:
        return dict(zip(ASKED, (share_right(items, each) for each in said), strict=False))
    some = items[:LOOKED_INTO]
    said += [[look(translator, each, edit(each)) for each in some] for edit in (cut, exchange)]
    shares = [share_right(items[: len(each)], each) for each in said]
    return dict(zip(ASKED, shares, strict=True))


def share_right(items: Sequence[Item], said: Sequence[str]) -> float:
    """Return the share of translations that begin with the pronoun of the noun."""
    pairs = zip(items, said, strict=True)
    return sum(text.split()[:1] == [PRONOUNS[each.noun.gender]] for each, text in pairs) / len(
        items
    )


def split_french(text: str) -> tuple[str, str]:
    """Return the two sentences of a translation."""
    first, _, second = text.partition(". ")
    return first, second


def look(translator: Translator, item: Item, edits: list[dict[str, str]]) -> str:
    """Return the translation of the second sentence, after the first, with edits."""
    text = "\n".join(item.source)
    trace = translator.see(text, split=False, level="attention", edits=edits)
    return str(trace.translation)


def cut(item: Item) -> list[dict[str, str]]:
    """Return edits that keep the decoder from reading the words of the first sentence."""
    words = dict.fromkeys(re.findall(r"[\w']+", item.source[0]))
    return [{"do": "cut", "word": word} for word in words]


def exchange(item: Item) -> list[dict[str, str]]:
    """Return an edit that puts a noun of the other gender in the place of the noun."""
    kind = ANIMALS if f" {item.noun.english} didn't" in item.source[0] else PLACES
    other = next(each for each in read_nouns(kind) if each.gender != item.noun.gender)
    return [{"do": "word", "word": item.noun.english, "by": other.english}]
