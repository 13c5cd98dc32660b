"""Starting a training, going on with one, and what is written when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from ..config import Config
from ..directory import CARD, GOLDEN, WEIGHTS, write_json, write_text
from ..translator import Translator
from ..version import __version__
from .checkpoint import Progress
from .log import Reporter
from .loop import Loop
from .preparation import Prepared, close_run, describe_machine, open_run, prepare
from .validation import GREEDY

GOLDEN_LINES = 4


@dataclass(frozen=True)
class Summary:
    """How a training ended."""

    out: Path
    progress: Progress
    steps: int
    is_finished: bool
    text: str  # for people

    def to_json(self) -> dict[str, Any]:
        return {
            "out": str(self.out),
            "finished": self.is_finished,
            "steps": self.steps,
            **asdict(self.progress),
        }


def train(
    config: Config,
    data: Sequence[str | Path],
    out: Path | str,
    *,
    valid: Sequence[str | Path] | None = None,
    device: str = "auto",
    quiet: bool = False,
) -> Summary:
    """Train a model of `data` into the model directory `out`.

    `data` and `valid` are as `data.corpus.find` takes them; without `valid`, and where the data
    folder has none, pairs are held out. Raises ValueError, in one sentence, for bad input.
    """
    out, report = Path(out), Reporter(quiet)
    open_run(out, config, data, valid)
    try:
        prepared = prepare(out, report)
    except (ValueError, OSError):  # nothing was made of these data: `out` is free again
        close_run(out)
        raise
    return _run(out, prepared, report, device)


def resume(out: Path | str, *, device: str = "auto", quiet: bool = False) -> Summary:
    """Go on with the training in `out`, from its latest checkpoint, to the same weights bit for
    bit as if it had never stopped (on the same machine, torch and number of threads)."""
    out, report = Path(out), Reporter(quiet)
    prepared = prepare(out, report)
    _say_differences(prepared, report)
    return _run(out, prepared, report, device)


def _run(out: Path, prepared: Prepared, report: Reporter, device: str) -> Summary:
    loop = Loop(out, prepared, report, device)
    progress = loop.run()
    is_finished = not loop.stopped or progress.step >= loop.steps
    if (out / WEIGHTS).is_file():
        _describe(out, prepared, progress, loop)
    scores = ", ".join(f"{name} {value:.2f}" for name, value in progress.scores.items())
    if is_finished:
        text = (
            f"Best on the validation text after update {progress.best_step:,}: {scores}\n"
            f"The model is in {out}"
        )
    else:
        text = (
            f"Stopped after update {progress.step:,} of {loop.steps:,}. "
            f"To go on: glassformer train --resume {out}"
        )
    return Summary(out, progress, loop.steps, is_finished, text)


def _say_differences(prepared: Prepared, report: Reporter) -> None:
    """Bit for bit holds only on the machine that began."""
    then, now = prepared.record["machine"], describe_machine()
    for name in now:
        if then.get(name) != now[name]:
            report.say(
                f"Note: this began with {name} {then.get(name)} and goes on with {now[name]}; "
                "the last bits of the weights will differ"
            )


def _describe(out: Path, prepared: Prepared, progress: Progress, loop: Loop) -> None:
    """The card, and a few inputs with what they must give, in fp32 on a CPU."""
    translator = Translator.load(out, device="cpu", precision="fp32")
    sources = prepared.valid[0][:GOLDEN_LINES]
    found = translator.search(sources, decode=GREEDY)
    golden = [
        {"source": source, "translation": best.text, "log_prob": best.log_prob}
        for source, (best, *_) in zip(sources, found, strict=True)
    ]
    write_json(out / GOLDEN, {"search": "greedy", "precision": "fp32", "lines": golden})
    data = loop.config.data
    files = "\n".join(
        f"- {each['name']}: {each['lines']:,} lines, sha256 {each['sha256']}"
        for each in prepared.record["fingerprints"]
    )
    scores = "\n".join(f"- {name}: {value:.3f}" for name, value in progress.scores.items())
    write_text(
        out / CARD,
        f"""# Model card

Translates {data.source_lang or "source"} to {data.target_lang or "target"}.
{sum(p.numel() for p in loop.updater.model.parameters()):,} parameters, size {loop.config.size}.

## Data

{prepared.record["counts"]}.
{files}

Mind the licence of the data: the weights were made from it.

## Training

Best after update {progress.best_step:,} of {loop.steps:,}; {progress.source_pieces:,} source and
{progress.target_pieces:,} target pieces seen, {progress.cpu_seconds:,.0f} CPU-seconds,
{loop.device} {loop.precision}.
glassformer {__version__}, torch {torch.__version__}.

## Scores

On the validation text, greedy, of the stored weights:
{scores}
- signature of BLEU: {progress.signature}
""",
    )
