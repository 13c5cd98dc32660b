"""The command `glassformer taught`: which lines of the training text taught a word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.options import AS_JSON, MODEL, TO, arg, opt
from glassformer.cli.terminal import show_progress, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glassformer.translator import Translator

    from ..teaching import TokenPair


def taught(
    model: Path = MODEL,
    text: str = arg("TEXT", "A sentence in the source language.", default=...),
    data: list[Path] = opt(
        "FILE", "The training text: a prefix, folder or table; two files, given twice.", default=...
    ),
    word: str = opt("WORD", "A word of the translation.", default=...),
    rival: str | None = opt(
        "WORD", "What it is compared with; if not given, the likeliest other token there."
    ),
    occurrence: int = opt("N", "Which of several such words; 0 is the first.", default=0),
    target: str | None = opt("TEXT", "Ask about this translation, not the model's own."),
    top: int = opt("N", "How many lines to show for it, and against it.", default=10, min=1),
    most: int | None = opt("N", "Read at most this many pairs.", min=1),
    output: Path | None = opt("FILE", "Write the numbers of all lines here, as JSON.", "-o"),
    to: str | None = TO,
    as_json: bool = AS_JSON,
) -> None:
    """List the training pairs that made a word of a translation likelier, and those against it.

    Each pair is weighed by how far its gradient moves the word's lead over its rival (influence
    functions). Beside it stands the nearest decoder state, the simple rival.

    \b
    glassformer taught my-model "The cat sleeps." --word chat --data corpus/train
    """
    from glassformer.data.corpus import find_data, read_pairs
    from glassformer.foundation.disk import write_json
    from glassformer.translator import Translator

    from ..teaching import find_nearest, score_teachers
    from ..words import ask_word, load_network
    from .why import read_target_ids

    translator = Translator.load(model, to, device="cpu", precision="fp32")
    trace = translator.see(text, level="attention", target=target)
    asked = ask_word(trace, word, rival, occurrence, read_target_ids(translator, trace.text))
    langs = translator.config.data.source_lang, translator.config.data.target_lang
    lines = [*read_pairs(find_data(data, *langs).train)][:most]
    if not lines:
        raise ValueError(f"{', '.join(map(str, data))}: there is no pair in it")
    numbers, pairs = encode_lines(translator, lines)
    network = load_network(trace)
    with show_progress("weighing", None) as tell:
        score_B = score_teachers(network, asked.contrast, pairs, tell)
        near_B = find_nearest(network, asked.contrast, pairs)
    scale = score_B.abs().max().clamp(min=1e-30)
    rows: list[dict[str, Any]] = [
        {
            "line": number + 1,
            "source": lines[number][0],
            "target": lines[number][1],
            "taught": score,
            "nearest": near,
        }
        for number, score, near in zip(
            numbers, (score_B / scale).tolist(), near_B.tolist(), strict=True
        )
    ]
    rows.sort(key=lambda row: -row["taught"])
    results = {"word": asked.word, "rival": asked.rival, "pairs": len(rows)}
    if output:
        write_json(output, results | {"lines": rows})
    chosen = {"for": rows[:top], "against": rows[::-1][:top]}
    print(to_json(results | chosen) if as_json else tell_taught(trace.translation, results, chosen))


def encode_lines(
    translator: Translator, lines: Sequence[tuple[str, str]]
) -> tuple[list[int], list[TokenPair]]:
    """Return the pairs that fit the network, as ids, and where they stand."""
    from ..teaching import TokenPair, add_end

    sources, targets = zip(*lines, strict=True)
    reader, has_end = translator.reader, translator.config.text.source_eos
    encoded = zip(
        translator.tokenizers.source.encode_many([*sources]),
        reader.encode_targets(sources, targets),
        strict=True,
    )
    numbers, pairs = [], []
    for number, (source, target) in enumerate(encoded):
        pair = TokenPair(add_end(source, has_end), add_end((*reader.begin, *target)))
        if source and target and max(map(len, pair)) <= reader.longest:
            numbers.append(number)
            pairs.append(pair)
    if not pairs:
        raise ValueError("no pair fits this model: all are empty or longer than it allows")
    return numbers, pairs


def tell_taught(
    translation: str, fields: dict[str, Any], chosen: dict[str, list[dict[str, Any]]]
) -> str:
    """Return the lines as text."""
    word, rival = fields["word"].strip(), fields["rival"].strip()
    parts = [translation]
    for side, says in (("for", f"{word} over {rival}"), ("against", f"{rival} over {word}")):
        parts.append(f"\nOf {fields['pairs']:,} pairs, these taught {says} most:")
        parts += [
            f"{row['taught']:+7.3f}  {row['line']}: {row['source']}  →  {row['target']}"
            for row in chosen[side]
        ]
    return "\n".join(parts)
