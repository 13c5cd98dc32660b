"""Where does a model that translates English to French settle whether `it` is il or elle?

    python -m benchmarks pronoun [MODEL] [--riddles 480] [--out docs]

Over riddles that were not in training, as many of each order and gender: where each head looks,
what is lost without it, which glances are needed, and which vectors carry the answer from one
sentence into another. Writes OUT/pronoun.md with its pictures, OUT/pronoun.json with the figures,
and, for the model that ships, what the title of picture V49 says.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.decode.score import padded
from glassformer.directory import SHIPPED, locate, write_json
from glassformer.see.figure.measured import MEASURED
from glassformer.see.files import fingerprint
from glassformer.see.parameters import Parameters
from glassformer.tap import Edit
from glassformer.tap import record as watch
from glassformer.translator import Translator
from tools.demo_corpus import list_riddle_words

from .pronoun_page import write_page
from .pronoun_riddles import Reader, Riddle, collect, find_donors

Runs = dict[str, Any]


class Study:
    """A model and the riddles that it is asked, all in one batch."""

    def __init__(self, translator: Translator, riddles: Sequence[Riddle]):
        self.model, self.riddles = translator.model, riddles
        self.settings = translator.config.model
        self.given = padded([each.given for each in riddles], "cpu")
        self.rows = torch.tensor([each.row for each in riddles])
        self.every = torch.arange(len(riddles))

    def ask(
        self,
        edits: dict[str, Edit] | None = None,
        keep: Callable[[str], bool] = lambda name: False,
        riddles: Sequence[Riddle] | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """How much likelier the right pronoun is than the wrong one, as ln of the odds; one number
        a riddle. And what passed the windows to keep."""
        sources = padded([each.source for each in riddles or self.riddles], "cpu")
        with torch.inference_mode(), watch(self.model, keep, edits or {}) as (view, taken):
            last = view.read(sources, self.given)[self.every, self.rows]
            logits = view.logits(last)
        answers = torch.tensor([each.answers for each in self.riddles])
        pair = logits.gather(1, answers)
        return pair[:, 0] - pair[:, 1], {name: values[0] for name, values in taken.items()}

    def blocks(self) -> Iterator[tuple[str, str]]:
        for n in range(self.settings.encoder_layers):
            yield "encoder self", f"encoder.{n}.self_attention"
        for kind in ("cross", "self"):
            for n in range(self.settings.decoder_layers):
                yield f"decoder {kind}", f"decoder.{n}.{kind}_attention"

    def width(self, side: str) -> int:
        """Positions of a side, padding included."""
        sources = max(len(each.source) for each in self.riddles)
        return sources if side == "source" else self.given.size(1)

    def pick(self, side: str, names: Sequence[str]) -> list[list[int]]:
        """Positions of words in each riddle: of the source, or rows of the decoder."""
        if side == "source":
            return [[n for name in names for n in each.words[name]] for each in self.riddles]
        if names == ["pronoun"]:
            return [[each.row] for each in self.riddles]
        return [[n for name in names for n in each.nouns[name]] for each in self.riddles]


def look(study: Study) -> Runs:
    """The share of riddles in which attention on the right noun is larger than on the wrong one.

    The riddles come in pairs that differ in the adjective alone, which changes the right noun: a
    head that does not know the adjective has exactly half.
    """
    _, seen = study.ask(keep=lambda name: name.endswith("attention.weights"))
    asks = {
        "it reads the source": ("encoder.{}.self_attention", "source", ["it"], "source"),
        "the adjective reads the source": (
            "encoder.{}.self_attention",
            "source",
            ["adjective"],
            "source",
        ),
        "the pronoun step reads the source": (
            "decoder.{}.cross_attention",
            "target",
            ["pronoun"],
            "source",
        ),
        "the pronoun step reads the French": (
            "decoder.{}.self_attention",
            "target",
            ["pronoun"],
            "target",
        ),
    }
    found = {}
    for name, (block, side, who, where) in asks.items():
        layers = (
            study.settings.encoder_layers if "encoder" in block else study.settings.decoder_layers
        )
        queries = study.pick(side, who)
        right, wrong = (study.pick(where, [noun]) for noun in ("right", "wrong"))
        found[name] = [
            np.mean(
                [
                    (
                        w[i][:, q][:, :, a].sum(-1).mean(1) > w[i][:, q][:, :, b].sum(-1).mean(1)
                    ).numpy()
                    for i, (q, a, b) in enumerate(zip(queries, right, wrong, strict=True))
                ],
                0,
            ).tolist()
            for w in (seen[f"{block.format(n)}.weights"] for n in range(layers))
        ]
    return found


def silence(study: Study) -> Runs:
    """The share of right answers without each head, and without each whole block."""
    found: Runs = {}
    for kind, block in study.blocks():
        row = []
        for head in range(study.settings.heads):

            def drop(x: Tensor, head: int = head) -> Tensor:
                x = x.clone()
                x[:, head] = 0
                return x

            row.append(_share(study.ask({f"{block}.context": drop})[0]))
        row.append(_share(study.ask({f"{block}.output": torch.zeros_like})[0]))
        found.setdefault(kind, []).append(row)
    return found


def cut(study: Study) -> list[dict[str, Any]]:
    """The share of right answers where one word may not look at another, in any layer."""
    source, target = "encoder.{}.self_attention", "decoder.{}.self_attention"
    cross, both = "decoder.{}.cross_attention", ["right", "wrong"]
    tries: list[tuple[str, list[tuple[str, str, list[str], str, list[str]]]]] = [
        ("it -> the nouns", [(source, "source", ["it"], "source", both)]),
        ("it -> the adjective", [(source, "source", ["it"], "source", ["adjective"])]),
        ("the adjective -> the nouns", [(source, "source", ["adjective"], "source", both)]),
        ("the nouns -> the adjective", [(source, "source", both, "source", ["adjective"])]),
        ("the rest -> the adjective", [(source, "source", ["rest"], "source", ["adjective"])]),
        (
            "anything else -> the adjective",
            [(source, "source", ["it", "rest", *both], "source", ["adjective"])],
        ),
        ("the pronoun step -> the nouns", [(cross, "target", ["pronoun"], "source", both)]),
        ("the pronoun step -> it", [(cross, "target", ["pronoun"], "source", ["it"])]),
        (
            "the pronoun step -> the adjective",
            [(cross, "target", ["pronoun"], "source", ["adjective"])],
        ),
        ("the pronoun step -> the rest", [(cross, "target", ["pronoun"], "source", ["rest"])]),
        ("the pronoun step -> the French nouns", [(target, "target", ["pronoun"], "target", both)]),
        (
            "the pronoun step -> the nouns, English and French",
            [
                (cross, "target", ["pronoun"], "source", both),
                (target, "target", ["pronoun"], "target", both),
            ],
        ),
    ]
    found = []
    for name, edges in tries:
        edits: dict[str, Edit] = {}
        for block, side, who, other, whom in edges:
            layers = (
                study.settings.encoder_layers if block == source else study.settings.decoder_layers
            )
            hide = _hide(study.pick(side, who), study.pick(other, whom), study.width(side))
            edits |= {f"{block.format(n)}.mask": hide for n in range(layers)}
        odds = study.ask(edits)[0]
        found.append({"cut": name, "right": _share(odds), "odds": odds.median().item()})
    return found


def _hide(queries: list[list[int]], keys: list[list[int]], width: int) -> Edit:
    """A mask that hides, in each riddle, these keys from these queries."""

    def edit(mask: Tensor) -> Tensor:
        mask = mask.expand(len(queries), 1, width, -1).clone()
        for i, (rows, columns) in enumerate(zip(queries, keys, strict=True)):
            for row in rows:
                mask[i, 0, row, columns] = False
        return mask

    return edit


def swap(study: Study, donors: Sequence[Riddle]) -> Runs:
    """The share of riddles whose answer turns into the donor's when some vectors are the donor's:
    those of one word after each encoder layer, or those of the decoder after each of its layers."""
    post = study.settings.norm == "post"
    window = "feed_forward_residual." + ("normed" if post else "sum")
    encoder = ["source_embedding.sum"]
    encoder += [f"encoder.{n}.{window}" for n in range(study.settings.encoder_layers)]
    decoder = [f"decoder.{n}.{window}" for n in range(study.settings.decoder_layers)]
    odds, theirs = study.ask(keep={*encoder, *decoder}.__contains__, riddles=donors)
    sure = (study.ask()[0] > 0) & (odds < 0)
    words = {name: study.pick("source", [name]) for name in study.riddles[0].words}
    rows = {
        "pronoun step": study.pick("target", ["pronoun"]),
        "steps before": [[*range(each.row)] for each in study.riddles],
    }

    def turned(name: str, places: list[list[int]]) -> float:
        edit = {name: _give(theirs[name], places)}
        return float((study.ask(edit)[0] < 0)[sure].double().mean())

    return {
        "riddles": int(sure.sum()),
        "encoder": {who: [turned(name, at) for name in encoder] for who, at in words.items()},
        "decoder": {who: [turned(name, at) for name in decoder] for who, at in rows.items()},
    }


def _give(theirs: Tensor, places: list[list[int]]) -> Edit:
    def edit(x: Tensor) -> Tensor:
        x = x.clone()
        for i, at in enumerate(places):
            x[i, at] = theirs[i, at]
        return x

    return edit


def _share(odds: Tensor) -> float:
    return (odds > 0).double().mean().item()


def study_all(translator: Translator, count: int) -> Runs:
    reader = Reader(translator)
    riddles = collect(reader, count)
    study = Study(translator, riddles)
    said = translator.translate([each.item.source for each in riddles])
    solved = [each.item.is_resolved_by(text) for each, text in zip(riddles, said, strict=True)]
    donors = {what: find_donors(reader, riddles, what) for what in ("adjective", "noun")}
    turned = [each.turn() for each in donors["adjective"] if each]
    asked = [each for each, other in zip(riddles, donors["adjective"], strict=True) if other]
    found: Runs = {
        "riddles": len(riddles),
        "pairs": len(turned),
        "translated": float(np.mean(solved)),
        "right": _share(study.ask()[0]),
        "odds": study.ask()[0].median().item(),
        "look": look(Study(translator, [*asked, *turned])),
        "silence": silence(study),
        "cut": cut(study),
        "swap": {},
    }
    for what, others in donors.items():
        kept = [(a, b) for a, b in zip(riddles, others, strict=True) if b]
        found["swap"][what] = swap(Study(translator, [a for a, _ in kept]), [b for _, b in kept])
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", default="demo")
    parser.add_argument("--riddles", type=int, default=480)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs")


def main(options: argparse.Namespace) -> None:
    translator = Translator.load(options.model, device="cpu")
    found = study_all(translator, options.riddles)
    found["weights_sha256"] = fingerprint(Parameters(translator.model.state_dict()))
    write_json(options.out / "pronoun.json", found)
    write_page(found, options.model, options.out)
    if locate(options.model) == SHIPPED / "demo":
        names = ("weights_sha256", "riddles", "pairs", "right", "cut", "look")
        genders, adjectives = list_riddle_words()
        words = {"genders": genders, "adjectives": adjectives}
        write_json(MEASURED, {name: found[name] for name in names} | words)
