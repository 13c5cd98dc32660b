"""The writers of `glassformer export`, one for each format, with the same arguments.

Each is an addition of the name `export.FORMAT`, and returns a dataclass that says how the export
compares with the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .argos import ArgosPackage
    from .marian_export import MarianExport
    from .marian_student import StudentExport
    from .parity import Parity
    from .transformers import TransformersParity


class ExportOptions(NamedTuple):
    """The options of `glassformer export`, besides a model and a folder."""

    texts: Sequence[str] | None = None  # to compare on; None: random tokens
    progress: Callable[[int], object] | None = None
    quantization: str | None = None  # for the formats that have several


def write_ctranslate2(model: Path, out: Path, options: ExportOptions) -> Parity:
    """Write a model for CTranslate2."""
    from .ctranslate2 import export_ctranslate2

    texts, progress, quantization = options
    quantization = quantization or "float32"
    return export_ctranslate2(model, out, quantization=quantization, texts=texts, progress=progress)


def write_argos(model: Path, out: Path, options: ExportOptions) -> ArgosPackage:
    """Write a package of Argos Translate."""
    from .argos import export_argos

    texts, progress, quantization = options
    quantization = quantization or "int8"
    return export_argos(model, out, quantization=quantization, texts=texts, progress=progress)


def write_onnx(model: Path, out: Path, options: ExportOptions) -> Parity:
    """Write the graphs of ONNX."""
    from .onnx import export_onnx

    return export_onnx(model, out, texts=options.texts, progress=options.progress)


def write_transformers(model: Path, out: Path, options: ExportOptions) -> TransformersParity:
    """Write a checkpoint of transformers."""
    from .transformers import export_transformers

    return export_transformers(model, out, texts=options.texts)


def write_marian(model: Path, out: Path, options: ExportOptions) -> MarianExport:
    """Write a model of Marian; see `export_marian`."""
    from .marian_export import export_marian

    return export_marian(model, out)


def write_marian_bin(model: Path, out: Path, options: ExportOptions) -> StudentExport:
    """Write the files of a student as browsers have them."""
    from .marian_student import export_student

    return export_student(model, out, texts=options.texts, progress=options.progress)
