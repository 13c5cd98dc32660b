"""Find out where a model from English to French settles whether `it` is il or elle.

    python -m benchmarks pronoun [MODEL] [--riddles 480] [--out docs] [--pairs FILE] [--page]

What `glassformer why` says of one sentence; then, over riddles that were not in training, as many
of each order and gender, the measurements of `glassformer probe`, and those that need sentences
made by the grammar. Writes OUT/pronoun.md with its pictures, OUT/pronoun.json with the figures,
and, for the model that ships, what the title of picture V49 says; with --pairs, instead, the
riddles as a file that `glassformer probe` reads; with --page, what `why` says anew, and the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.extensions.lab.probing import (
    BEFORE,
    STEP,
    Look,
    Probe,
    cut_edges,
    parse_cut,
    prefer_roles,
    share_right,
    silence_blocks,
    swap_vectors,
)
from glassformer.extensions.pictures.measured import MEASURED
from glassformer.foundation.disk import read_json
from glassformer.model.files.directory import SHIPPED, locate, write_json
from glassformer.see.files import fingerprint
from glassformer.see.recorded import Parameters
from glassformer.translator import Translator
from tools.demo_corpus import list_riddle_words

from .pronoun_commands import run_commands
from .pronoun_page import write_page
from .pronoun_riddles import Reader, Riddle, collect, find_donors, write_riddles

Runs = dict[str, Any]
LOOKS = {
    "it reads the source": Look("encoder self", "it"),
    "the adjective reads the source": Look("encoder self", "adjective"),
    "the pronoun step reads the source": Look("decoder cross", STEP),
    "the pronoun step reads the French": Look("decoder self", STEP),
}
CUTS = {
    "it -> the nouns": "it -> right + wrong",
    "it -> the adjective": "it -> adjective",
    "the adjective -> the nouns": "adjective -> right + wrong",
    "the nouns -> the adjective": "right + wrong -> adjective",
    "the rest -> the adjective": "rest -> adjective",
    "anything else -> the adjective": "it + rest + right + wrong -> adjective",
    "the pronoun step -> the nouns": "step -> right + wrong",
    "the pronoun step -> it": "step -> it",
    "the pronoun step -> the adjective": "step -> adjective",
    "the pronoun step -> the rest": "step -> rest",
    "the pronoun step -> the French nouns": "step -> target.right + target.wrong",
    "the pronoun step -> the nouns, English and French": (
        "step -> right + wrong + target.right + target.wrong"
    ),
}


def cut(probe: Probe) -> list[dict[str, Any]]:
    """Return the share of right answers if one word may not attend to another, in any layer."""
    found = []
    for name, written in CUTS.items():
        odds = cut_edges(probe, parse_cut(written, probe.pairs[0]))
        found.append({"cut": name, "right": share_right(odds), "odds": odds.median().item()})
    return found


def swap(translator: Translator, both: list[tuple[Riddle, Riddle]]) -> Runs:
    """Return how often each vector of the second riddle changes the first's answer to its own."""
    probe = Probe(translator, [riddle.pair for riddle, _ in both])
    roles = [*probe.pairs[0].words]
    found = swap_vectors(probe, [donor.pair for _, donor in both], roles)
    decoder = {"pronoun step": found["decoder"][STEP], BEFORE: found["decoder"][BEFORE]}
    return {"riddles": found["pairs"], "encoder": found["encoder"], "decoder": decoder}


def study_all(translator: Translator, count: int) -> Runs:
    reader = Reader(translator)
    riddles = collect(reader, count)
    probe = Probe(translator, [each.pair for each in riddles])
    said = translator.translate([each.item.source for each in riddles])
    solved = [each.item.is_resolved_by(text) for each, text in zip(riddles, said, strict=True)]
    donors = {what: find_donors(reader, riddles, what) for what in ("adjective", "noun")}
    turned = [each.turn() for each in donors["adjective"] if each]
    asked = [each for each, other in zip(riddles, donors["adjective"], strict=True) if other]
    odds = probe.ask()
    twice = Probe(translator, [each.pair for each in [*asked, *turned]])
    return {
        "riddles": len(riddles),
        "pairs": len(turned),
        "translated": float(np.mean(solved)),
        "right": share_right(odds),
        "odds": odds.median().item(),
        "look": prefer_roles(twice, LOOKS, ("right", "wrong")),
        "silence": silence_blocks(probe),
        "cut": cut(probe),
        "swap": {
            what: swap(translator, [(a, b) for a, b in zip(riddles, others, strict=True) if b])
            for what, others in donors.items()
        },
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", default="demo")
    parser.add_argument("--riddles", type=int, default=480)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs")
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--page", action="store_true")


def main(options: argparse.Namespace) -> None:
    if options.page:
        found = read_json(options.out / "pronoun.json") | {"said": run_commands(options.model)}
        write_json(options.out / "pronoun.json", found)
        write_page(found, options.model, options.out)
        return
    translator = Translator.load(options.model, device="cpu")
    if options.pairs:
        reader = Reader(translator)
        write_riddles(collect(reader, options.riddles), reader, options.pairs)
        return
    found = study_all(translator, options.riddles) | {"said": run_commands(options.model)}
    found["weights_sha256"] = fingerprint(Parameters(translator.model.state_dict()))
    write_json(options.out / "pronoun.json", found)
    write_page(found, options.model, options.out)
    if locate(options.model) == SHIPPED / "demo":
        names = ("weights_sha256", "riddles", "pairs", "right", "cut", "look")
        genders, adjectives = list_riddle_words()
        words = {"genders": genders, "adjectives": adjectives}
        write_json(MEASURED, {name: found[name] for name in names} | words)
