"""COMET (Rei et al. 2020), by its own package and its own models; imports no torch by itself."""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from glassformer.evaluate.quality import Score
from glassformer.evaluate.references import References, clean_lines

BATCH = 16  # sentences


def score_comet(
    sources: Sequence[str], hypotheses: Sequence[str], references: References, model: str
) -> Score:
    """Return the mean COMET of the sentences, in percent, by the first reference of each.

    model: a name that COMET's package downloads, such as Unbabel/wmt22-comet-da, or a checkpoint
    file. ValueError if the package is not installed.
    """
    hypotheses, references = clean_lines(hypotheses, references)
    comet = load_comet()
    rows = zip(sources, hypotheses, *references, strict=True)
    data = [
        {"src": source, "mt": translation, "ref": next(each for each in lines if each is not None)}
        for source, translation, *lines in rows
    ]
    path = model if model.endswith(".ckpt") else comet.download_model(model)
    scorer = comet.load_from_checkpoint(path)
    result = scorer.predict(data, batch_size=BATCH, gpus=0, progress_bar=False)
    return Score("COMET", 100 * float(result.system_score), f"model:{model}|version:{_version()}")


def load_comet() -> Any:
    """Return COMET's package. ValueError if it is not installed."""
    try:
        return import_module("comet")
    except ImportError:
        message = "COMET is a package of its own: pip install unbabel-comet"
        raise ValueError(message) from None


def _version() -> str:
    try:
        return version("unbabel-comet")
    except PackageNotFoundError:
        return "unknown"
