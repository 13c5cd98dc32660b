"""The worst sentences of a test set as one page of HTML, with the attention of the model.

The page needs no script and no other file. The attention is that of the head that aligns words
best, over the whole sentence; each row is a word of the translation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from glassformer.evaluate.results import Evaluation
from glassformer.evaluate.sentences import SentenceResult, SystemSentence

if TYPE_CHECKING:
    from glassformer.translate.align.pairs import Array, Pair, Words
    from glassformer.translator import Translator

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { overflow-x: auto; font-size: .85rem; }
details { border-top: 1px solid #8884; padding: .5rem 0; }
summary { cursor: pointer; }
dt { color: #888; font-size: .85rem; } dd { margin: 0 0 .4rem; }
.flag { color: #c22; } .score { font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; font-size: .8rem; } caption { text-align: left; color: #888; }
thead th { writing-mode: vertical-rl; transform: rotate(180deg); font-weight: normal; }
tbody th { text-align: right; font-weight: normal; padding-right: .4rem; }
td { width: 1.4rem; height: 1.4rem; border: 1px solid #8882; }
"""


def render_page(evaluation: Evaluation, translator: Translator | None = None) -> str:
    """Return the page. translator: the model of the first system, for pictures of its attention."""
    worst = evaluation.worst or ()
    pictures = draw_attention(translator, worst) if translator and worst else [""] * len(worst)
    shown = zip(worst, pictures, strict=True)
    names = ", ".join(each.name for each in evaluation.systems)
    summary = str(Evaluation(evaluation.systems, evaluation.comparisons))
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>The worst sentences of {escape(names)}</title>\n<style>{STYLE}</style>",
            f"<h1>The worst sentences</h1>\n<pre>{escape(summary)}</pre>",
            f"<p>{len(worst)} of {evaluation.systems[0].quality.sentences} sentences, those with "
            "the lowest chrF2 first.</p>",
            *(_render_sentence(result, picture) for result, picture in shown),
            "</html>\n",
        ]
    )


def _render_sentence(result: SentenceResult, picture: str) -> str:
    first = result.systems[0]
    title = result.source if result.source is not None else first.translation
    head = (
        f'<summary>line {result.line} <span class="score">chrF2 {first.scores["chrF2"]:.1f}</span> '
        f"{escape(title)}</summary>"
    )
    rows = [("reference", each, "") for each in result.references]
    for each in result.systems:
        name = each.system if len(result.systems) > 1 else "translation"
        rows.append((name, each.translation, _tell(each)))
        rows += [(f"{name}: {kind}", message, "flag") for kind, message in each.flags.items()]
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd{' class=flag' if note == 'flag' else ''}>{escape(text)}"
        + (f'<br><small class="score">{escape(note)}</small>' if note not in ("", "flag") else "")
        + "</dd>"
        for name, text, note in rows
    )
    return f"<details>{head}<dl>{listed}</dl>{picture}</details>"


def _tell(each: SystemSentence) -> str:
    texts = [f"{name} {value:.1f}" for name, value in each.scores.items()]
    sure = [] if each.confidence is None else [f"confidence {each.confidence:.2f}"]
    return ", ".join([*texts, *sure])


def draw_attention(translator: Translator, worst: Sequence[SentenceResult]) -> list[str]:
    """Return a table of attention for each sentence; "" where there is none to show.

    A network without attention, a sentence without words and one that is too long have none.
    """
    from glassformer.translate.align.choose_head import choose_alone, load_choice
    from glassformer.translate.align.pairs import is_read_by_character, read_pair, weigh_links

    if not translator.config.model.attending_layers:
        return [""] * len(worst)
    texts = [(each.source or "", each.systems[0].translation) for each in worst]
    data, sides = translator.config.data, list(zip(*texts, strict=True))
    langs = zip((data.source_lang, data.target_lang), sides, strict=True)
    one, other = (is_read_by_character(lang, side) for lang, side in langs)
    pairs = [read_pair(translator.searcher, *text, (one, other)) for text in texts]
    folder = translator.weights.folder
    choice = load_choice(folder, translator.config) if folder else None
    candidate = (choice or choose_alone(translator.searcher, pairs)).candidate
    pictures = [""] * len(pairs)
    for number, (weights,) in weigh_links(translator.searcher, pairs, [candidate]):
        pictures[number] = _draw(pairs[number], weights, str(candidate))
    return pictures


def _draw(pair: Pair, weights: Array, where: str) -> str:
    sources = [*_name_units(pair.texts[0], pair.source), "no word"]
    targets = _name_units(pair.texts[1], pair.target)
    head = "".join(f"<th scope=col>{escape(word)}</th>" for word in sources)
    rows = "".join(
        f"<tr><th scope=row>{escape(word)}</th>{''.join(map(_draw_cell, row.tolist()))}</tr>"
        for word, row in zip(targets, weights, strict=True)
    )
    caption = f"<caption>{escape(where)}</caption>"
    return f"<table>{caption}<thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _draw_cell(weight: float) -> str:
    return f'<td title="{weight:.2f}" style="background:rgb(40 100 220/{weight:.2f})"></td>'


def _name_units(text: str, words: Words) -> Iterator[str]:
    """Yield each unit's words: most are one word; those that share tokens are several."""
    for members in words.members:
        yield " ".join(text[slice(*words.spans[word])] for word in members)
