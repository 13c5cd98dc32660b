"""Draw the pictures and write the page of `pronoun.py` from its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from glassformer.extensions.pictures import save_figure
from glassformer.extensions.pictures.parts import style
from glassformer.extensions.pictures.parts.grids import Matrix
from glassformer.extensions.pictures.parts.nodes import Across, Columns, Down, Label, Node, Panel
from glassformer.extensions.pictures.parts.plan import Outline
from glassformer.extensions.pictures.parts.render import render_scene
from glassformer.extensions.pictures.parts.scene import Scene
from glassformer.model.files.directory import write_text

from .pronoun_commands import tell_command

CELL = (30.0, 19.0)
WORDS = {
    "right": "the right noun",
    "wrong": "the other noun",
    "it": "it",
    "adjective": "the adjective",
    "rest": "all the rest",
}


class Report(Outline):
    """A figure of measurements, which belongs to no recording."""

    def __init__(self) -> None:
        self.name, self.lang, self.data, self.facts = "all", "en", {}, {}

    def say(self, key: str, /, **values: Any) -> str:
        return {"topic": "What the pronoun hangs on"}[key]

    def table(
        self,
        name: str,
        values: Any,
        columns: list[str] | None = None,
        rows: list[str] | None = None,
        title: str = "",
    ) -> Node:
        """Return numbers as colours, with what rows and columns are; titled ones have signs."""
        panel = Panel(
            self.give(name, values),
            width=CELL[0] * values.shape[1],
            height=CELL[1] * values.shape[0],
            digits=0,
            scale="signed" if title else "share",
            limit=50.0 if title else 100.0,
        )
        return Matrix(
            panel,
            rows=rows or [str(n) for n in range(values.shape[0])],
            columns=columns or [str(n) for n in range(values.shape[1])],
            head=Label(title, style.SMALL, bold=True) if title else None,
        )


def write_page(found: dict[str, Any], model: str, folder: Path) -> None:
    for name, draw in (("looks", draw_looks), ("swaps", draw_swaps), ("silence", draw_silence)):
        figure = render_scene(draw(found, model))
        assert isinstance(figure, Figure)
        save_figure(figure, folder / f"pronoun-{name}.svg")
    write_text(folder / "pronoun.md", tell(found, model))


def draw_looks(found: dict[str, Any], model: str) -> Scene:
    """Draw how far above chance each head's attention prefers the right noun."""
    plan = Report()
    titles = {
        "it reads the source": "from “it”, in the encoder",
        "the adjective reads the source": "from the adjective, in the encoder",
        "the pronoun step reads the source": "from the pronoun step, to the source",
        "the pronoun step reads the French": "from the pronoun step, to the French before it",
    }
    tables = [
        plan.table(f"look_{n}", (np.array(found["look"][name]) - 0.5) * 100, title=title)
        for n, (name, title) in enumerate(titles.items())
    ]
    return plan.compose(
        Columns([tables[:2], tables[2:]], gap=(44, 26)),
        title="From “it”, no head looks at the right noun more often than chance",
        note=f"Of {2 * found['pairs']} riddles, the share in which a head gives the right noun "
        "more attention than the other one, less the 50 % of chance, in percentage points. Rows "
        "are layers, columns heads. The riddles are pairs that differ in the adjective alone: "
        "whoever does not know it, and looks at one noun by habit, has exactly half.",
        origin=model,
    )


def draw_silence(found: dict[str, Any], model: str) -> Scene:
    """Draw what is lost without each head, and without each block."""
    plan, tables = Report(), []
    for n, (name, rows) in enumerate(found["silence"].items()):
        values = (np.array(rows) - found["right"]) * 100
        heads = [*(str(n) for n in range(values.shape[1] - 1)), "all"]
        tables.append(plan.table(f"silence_{n}", values, heads, title=name))
    blocks = [row[-1] - found["right"] for rows in found["silence"].values() for row in rows]
    return plan.compose(
        Across(*tables, gap=24),
        title=f"No single head is needed; the worst whole block costs {-min(blocks):.0%}",
        note=f"The change of the share of right pronouns, {found['right']:.1%} with all in place, "
        "in percentage points, when the output of one head is set to zero everywhere; in the last "
        "column, that of the whole block.",
        origin=model,
    )


def draw_swaps(found: dict[str, Any], model: str) -> Scene:
    """Draw which vectors carry the answer from one sentence into the other."""
    plan, parts = Report(), []
    titles = {
        "adjective": "from a sentence with another adjective, whose answer is the other noun",
        "noun": "from a sentence whose right noun has the other gender",
    }
    for what, swap in found["swap"].items():
        columns = np.array([swap["encoder"][name] for name in WORDS]).T * 100
        layers = ["embedding", *(f"encoder {n}" for n in range(len(columns) - 1))]
        names = list(WORDS.values())
        one = plan.table(f"{what}_encoder", columns, names, layers)
        rows = np.array(list(swap["decoder"].values())).T * 100
        layers = [f"decoder {n}" for n in range(len(rows))]
        two = plan.table(f"{what}_decoder", rows, list(swap["decoder"]), layers)
        told = Label(f"{titles[what]} ({swap['riddles']} pairs)", style.BODY, bold=True)
        parts.append(Down(told, Across(one, two, gap=44, align="bottom"), gap=8))
    return plan.compose(
        Down(*parts, gap=30),
        title="The answer stays in the adjective and the noun, and is made in the decoder",
        note="Two sentences, one il, one elle, alike but for one word. The vectors of one word of "
        "the second are put in the place of those of the first, after one layer: in how many of a "
        "hundred pairs does the answer become that of the second? On the right, the decoder's own.",
        origin=model,
    )


def _find_best(rows: list[list[float]]) -> tuple[float, int, int]:
    values = np.array(rows)
    layer, head = np.unravel_index(values.argmax(), values.shape)
    return float(values.max()), int(layer), int(head)


def tell(found: dict[str, Any], model: str) -> str:
    """Return the page; each number in it was measured."""
    band = 1.96 * 0.5 / (2 * found["pairs"]) ** 0.5
    layers, heads = np.shape(found["look"]["it reads the source"])
    looks = "\n".join(
        f"| {name} | {share:.0%} | layer {layer}, head {head} |"
        for name, rows in found["look"].items()
        for share, layer, head in [_find_best(rows)]
    )
    cuts = "\n".join(
        f"| {each['cut']} | {each['right']:.1%} | {each['odds']:+.1f} |" for each in found["cut"]
    )
    single = [min(head for row in rows for head in row[:-1]) for rows in found["silence"].values()]
    said = {name: tell_command(name, model, lines) for name, lines in found["said"].items()}
    return TEXT.format(
        **said,
        model=model,
        riddles=found["riddles"],
        pairs=2 * found["pairs"],
        translated=found["translated"],
        right=found["right"],
        odds=found["odds"],
        band=band,
        heads=layers * heads,
        looks=looks,
        cuts=cuts,
        worst=min(single),
        lucky=0.5 + 2.4 * band / 1.96,
        layers=layers,
        adjectives=found["swap"]["adjective"]["riddles"],
        nouns=found["swap"]["noun"]["riddles"],
    )


# What these sentences say is true of the shipped model: read them again when the figures change.
TEXT = """# Where does the shipped model settle what *it* is?

> The animal didn't cross the street because **it** was too tired. → … parce qu'**il** …
>
> The animal didn't cross the street because **it** was too wide. → … parce qu'**elle** …

The famous picture of the Transformer draws a line from *it* to *animal*. So we asked `{model}`,
which translates every such sentence correctly, how it does it. In short: **not that way.** Inside
the encoder, *it* collects nothing that is used. The decision is made in the decoder, at the step
that writes the pronoun: that step first attends to the *adjective*, and a few layers later to the
noun that the adjective describes.

First we follow one sentence with `glassformer why` ([why.md](why.md)), then we count over hundreds.

## The adjective

{adjective}

The *counterpart* has another adjective and the other answer. An *edge* is what one part of the
network writes at a word and a later part reads. The edges of the circuit carry what they carry in
our sentence, all others what they carry in the counterpart, and yet most of the lead is there. Its
edges are at two places: at the adjective, in the encoder, and after *parce*, in the decoder, at the
step that writes the pronoun. None is at *it* and none at a noun. What the adjective decides goes
from its own place to the decoder.

## The noun

The gender must come from somewhere. Here the street becomes a bridge, *le pont*:

{noun}

The French before the pronoun stays: it says *la rue*. So the lead nearly vanishes, but does not
turn round. Besides the step itself, these edges are at *street*, and after *la* and *traversé*,
where the decoder writes *rue* and *la*; one is at *wide*. The gender comes from the English noun
and from the French one. At *it* there is again no edge. A river, *la rivière*, is feminine as a
street is, and changes next to nothing:

{same_gender}

Nor does the gender of the noun that is not meant. A banana is feminine in French:

{other_noun}

## *it*

{it}

Value zeroing, which asks where a position's values are read, names *it*. With *it* hidden from the
decoder, or from the whole network, `{model}` writes the same pronoun. Of all words only the
adjective changes it when it is hidden.

## Many sentences

One sentence is one sentence. We call such a one, with two nouns and one *it*, a riddle.
`python -m benchmarks pronoun` measures all of this page again and writes it. It uses the code of
`glassformer probe`, which asks any model ([evaluate.md](evaluate.md)). There are {riddles} riddles
that were not in training, with as many *il* as *elle*, and as many with the right noun first as
second. `{model}` translates {translated:.1%} of them with the right pronoun. The rest of this page
is about one step: we give the French up to the pronoun, and compare the right pronoun with the
wrong one. The right one is likelier in {right:.1%} of the riddles, by a factor of e^{odds:.1f} in
the median riddle. These two commands ask most of it again, of those riddles that a table can hold:

```
python -m benchmarks pronoun --pairs riddles.tsv
glassformer probe {model} riddles.tsv
```

## What attends to the right noun?

In how many riddles does a head give the right noun more attention than the other one? We asked
this of {pairs} riddles, in pairs that differ only in the adjective, so that the other noun becomes
right. A head that always prefers the same noun is right in exactly 50 %. A head that chooses at
random is right in 50 %, give or take {band:.1%} (95 %); the luckiest of {heads} such heads is right
in about {lucky:.0%}.

| attention | the best head | which one |
|---|---|---|
{looks}

![How far above chance each head prefers the right noun](pronoun-looks.svg)

From *it*, no head does better than chance: a picture in which *it* attends to *animal* would show
nothing but chance. From the adjective, and from the pronoun step of the decoder, several heads do
clearly better than chance.

## Which attention is needed?

We mask attention from some positions to others, in every layer and head. A position may still
attend to itself.

| masked: from → to | right | ln odds, median riddle |
|---|---|---|
{cuts}

If *it* cannot attend to the nouns, nothing is lost. The same is true if the adjective cannot attend
to the nouns: some heads do attend from it to the right noun, but the model does not need them. If
the pronoun step cannot attend to the adjective, it guesses. It can read the nouns in either
language: only if it can attend neither to the English nor to the French nouns does it nearly fall
to chance.

## Which vectors carry the answer?

We take two sentences that differ in one word and have different answers. After one layer, we
replace the vectors of some words of the first sentence with those of the second, and see whether
the answer changes.

![Which vectors change the answer](pronoun-swaps.svg)

Up to the last layer of the encoder, the information about the adjective stays in the adjective's
vectors, and the gender of the noun in the noun's vectors ({adjectives} and {nouns} pairs). The two
meet in the decoder.

## How much does one head matter?

![What is lost without each head](pronoun-silence.svg)

Setting the output of a single head to zero never brings the share of right pronouns below
{worst:.1%}: several heads do the same work. A whole block may matter more: see the last column of
the picture.

## What follows

* Attention of *one* head in *one* sentence proves nothing: among many heads, one always fits the
  story. Count over many sentences, and compare with chance.
* If a model gets a riddle right, it need not solve it as we would. This model never resolves *it*;
  it translates, and in French a pronoun needs a gender only when it is written.
* This is one model of {layers} + {layers} layers and one corpus of plain sentences. Another model
  may do it differently: `glassformer probe` asks your model, with your sentences
  ([evaluate.md](evaluate.md)).
"""
