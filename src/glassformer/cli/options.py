"""What several verbs ask for in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

Model = Annotated[Path, Argument(metavar="MODEL", help="The folder of a trained model.")]
Source = Annotated[
    Path, Option(metavar="FILE", help="Text in the source language, one sentence a line.")
]
Output = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE", help="Write here instead of the standard output."),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON, for programs to read.")]

MACHINE = "Machine"
Device = Annotated[
    str,
    Option(
        metavar="auto|cpu|cuda|mps",
        help="What computes; auto is a GPU where there is one.",
        rich_help_panel=MACHINE,
    ),
]
Precision = Annotated[
    str,
    Option(
        metavar="auto|fp32|bf16",
        help="The numbers it computes with; bf16 is faster and coarser.",
        rich_help_panel=MACHINE,
    ),
]
