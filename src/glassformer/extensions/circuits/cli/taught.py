"""The command `glassformer taught`: which lines of the training text taught a word."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.options import AS_JSON, MODEL, TO, arg, check_choice, opt
from glassformer.cli.terminal import show_progress, to_json

if TYPE_CHECKING:
    from ..lines import TaughtLines

# What `python -m benchmarks taught words` measured; docs/why.md says on what.
RELIABILITY = {
    "replay": "Rank correlation with trainings that leave lines out, as measured: 0.38 to 0.96.",
    "estimate": "Unreliable: its rank correlation with trainings that leave lines out was measured "
    "as -0.04 to 0.45. But of ten lines with a plain fault that were planted, it named 9 or 10.",
}


def taught(
    model: Path = MODEL,
    text: str = arg("TEXT", "A sentence in the source language.", default=...),
    word: str = opt("WORD", "A word of the translation.", default=...),
    rival: str | None = opt(
        "WORD", "What it is compared with; if not given, the likeliest other token there."
    ),
    data: list[Path] | None = opt(
        "FILE",
        "The training text, if MODEL is without the folder of its training: a prefix, folder or "
        "table; two files, given twice.",
    ),
    by: str | None = opt(
        "METHOD",
        "replay: run the training again and follow it back; estimate: from the finished weights, "
        "quick; it finds faults of the text. If not given, replay where MODEL remembers its "
        "training, and the ten of the estimate beside it.",
    ),
    occurrence: int = opt("N", "Which of several such words; 0 is the first.", default=0),
    target: str | None = opt("TEXT", "Ask about this translation, not the model's own."),
    top: int = opt("N", "How many lines to show for it, and against it.", default=10, min=1),
    output: Path | None = opt("FILE", "Write the numbers of all lines here, as JSON.", "-o"),
    to: str | None = TO,
    as_json: bool = AS_JSON,
) -> None:
    """List the training pairs that made a word of a translation likelier, and those against it.

    Where MODEL has the folder run of its training, which `train` leaves there with the text and the
    seeds, the training is run again and followed back: the number of a line says by how much the
    word's lead over its rival would fall without it. That takes several times as long as the
    training; a bar says how long. Ctrl-C stops it, and changes nothing. Beside it stand the lines
    that an estimate from the finished weights names, among which faults of the text stand out.
    Other models get the estimate alone, and a line that says how unreliable it is; so does one
    whose training, when it is run again, ends in other weights.

    \b
    glassformer taught my-model "The cat sleeps." --word chat
    glassformer taught demo "The cat sleeps." --word chat --data corpus/train
    """
    from glassformer.foundation.disk import write_json
    from glassformer.model.files.directory import locate
    from glassformer.translator import Translator

    from ..lines import METHODS, weigh_lines
    from ..words import ask_word
    from .why import read_target_ids

    if by is not None:
        check_choice("--by", by, METHODS)
    translator = Translator.load(model, to, device="cpu", precision="fp32")
    trace = translator.see(text, level="attention", target=target)
    asked = ask_word(trace, word, rival, occurrence, read_target_ids(translator, trace.text))
    answer = weigh_lines(locate(model), translator, asked.contrast, show_progress, data or (), by)
    rows = [asdict(each) for each in answer.lines]
    results = {
        "word": asked.word,
        "rival": asked.rival,
        "lead": answer.lead,
        "replayed": answer.replayed,
        "gap": answer.gap,
        "method": answer.method,
        "pairs": len(rows),
    }
    if output:
        write_json(output, results | {"lines": rows})
    chosen = {"for": rows[:top], "against": rows[::-1][:top]}
    if answer.method == "replay" and by is None:
        again = weigh_lines(
            locate(model), translator, asked.contrast, show_progress, data or (), "estimate"
        )
        chosen["suspects"] = [asdict(each) for each in again.lines[:top]]
    message = tell_taught(trace.translation, results, chosen, answer)
    print(to_json(results | chosen) if as_json else message)


def tell_taught(
    translation: str,
    fields: dict[str, Any],
    chosen: dict[str, list[dict[str, Any]]],
    answer: TaughtLines,
) -> str:
    """Return the lines as text."""
    word, rival = fields["word"].strip(), fields["rival"].strip()
    parts = [translation, f"{word} leads {rival} by {fields['lead']:+.3f}", "", tell_method(answer)]
    for side, says in (("for", f"{word} over {rival}"), ("against", f"{rival} over {word}")):
        parts.append(f"\nOf {fields['pairs']:,} pairs, these taught {says} most:")
        parts += [tell_line(row) for row in chosen[side]]
    if suspects := chosen.get("suspects"):
        parts.append(f"\nFor {word}, by the estimate; a fault of the text stands out here:")
        parts += [tell_line(row) for row in suspects]
    return "\n".join(parts)


def tell_line(row: dict[str, Any]) -> str:
    """Return a pair with its number and its place in the text."""
    return f"{row['taught']:+7.3f}  {row['line'] or '-'}: {row['source']}  →  {row['target']}"


def tell_method(answer: TaughtLines) -> str:
    """Return, in words, how the numbers were found, and how far they can be trusted."""
    if answer.method == "replay":
        says = "The training was run again and followed back: a line's number is what the lead "
        says += "would lose without it."
        if answer.gap:
            says += f" It ends not quite in the model's weights, apart by {100 * answer.gap:.2g} % "
            says += "of the way that it went, so that the numbers are not exact."
    else:
        says = f"An estimate from the finished weights ({answer.why}): numbers are shares of the "
        says += "largest."
    return f"{says}\n{RELIABILITY[answer.method]}"
