"""Import of the models of other toolkits: which one it is, and the model directory made of it.

Our ids begin with <pad>, <s>, </s>; then come the checkpoint's tokens in their order. A decoder
that starts with another token of theirs, or with zeros, starts with our <s> in its place. The model
computes the same as before, except for one choice of MarianMT models, the grid of the positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from glassformer.config import Config
from glassformer.extensions.short_list.shortlisting import save_shortlist
from glassformer.foundation.disk import check_new, prepare_beside
from glassformer.foundation.typed_json import read_typed
from glassformer.model.files.directory import (
    CARD,
    SHORTLIST,
    WEIGHTS,
    Tokenizers,
    build_model,
    save_model,
    tell_tokenizers,
    write_text,
)
from glassformer.model.files.weights_file import WeightsFile
from glassformer.model.transformer import Transformer

from ..publish.int8 import save_int8
from .fairseq import read_fairseq
from .foreign import Foreign, convert, list_steps, order_rows, read_toolkits
from .huggingface import GRIDS, read_huggingface
from .joeynmt import read_joeynmt
from .marian_lex import read_shortlist
from .marian_npz import read_marian_npz
from .opennmt import read_eole, read_opennmt
from .other_folders import find_toolkit, recognise
from .parity import choose_by_parity, score_tokens, translate_with
from .plausibility import Plausibility, choose_sample, look_at

MOST = 50  # sentences on which the two grids are compared
READERS: dict[str, Callable[..., Foreign]] = {
    "eole": read_eole,
    "fairseq": read_fairseq,
    "huggingface": read_huggingface,
    "joeynmt": read_joeynmt,
    "marian": read_marian_npz,
    "opennmt": read_opennmt,
}
# The options that only some toolkits have, and those toolkits.
OPTIONS = {
    "grid": ("huggingface", "marian"),
    "languages": ("huggingface", "marian"),
    "subwords": ("eole", "fairseq", "joeynmt", "marian", "opennmt"),
}


@dataclass(frozen=True)
class GridDifference:
    """The effect of the choice of positional grid on the log-probability of a token.

    Marian trains with exponents i/(d/2-1) ("marian"); `transformers` computes with 2i/d.
    """

    grid: str
    sentences: int
    mean_difference: float
    largest_difference: float

    def __str__(self) -> str:
        return (
            f"grid {self.grid}; with the other grid, the log-probability of a token differs by "
            f"{self.mean_difference:.2g} on average, {self.largest_difference:.2g} at most "
            f"({self.sentences} sentences)"
        )


@dataclass(frozen=True)
class ImportResult:
    """The result of an import."""

    toolkit: str
    parameters: int
    grids: GridDifference | None = None
    plausibility: Plausibility | None = None

    def __str__(self) -> str:
        parts = [f"{self.toolkit}: {self.parameters:,} parameters"]
        parts += [str(each) for each in (self.grids, self.plausibility) if each]
        return ", ".join(parts)

    def to_json(self) -> dict[str, Any]:
        payload: dict[str, Any] = {"toolkit": self.toolkit, "parameters": self.parameters}
        if self.plausibility:
            payload["plausibility"] = self.plausibility.to_json()
        return {**payload, **(asdict(self.grids) if self.grids else {})}


def import_model(
    path: Path,
    out: Path,
    *,
    grid: str | None = None,
    languages: str | None = None,
    subwords: Sequence[str] = (),
    texts: Sequence[str] | None = None,
) -> ImportResult:
    """Make the new model directory `out` of a checkpoint, a folder or a file of it.

    grid: see `GridDifference`; the two are compared on the first 50 of `texts`, or on random tokens
    without texts. The first of them, or a sentence of ours, shows whether the model translates.
    languages: "en-fr", for a multilingual model, and for one of Marian, whose files may be named
    otherwise. subwords: what cuts the text, where
    the folder does not say it: see `choose_subwords`. ValueError, in one sentence, for what cannot
    be imported.
    """
    if grid is not None and grid not in GRIDS:
        raise ValueError(f"grid={grid}: one of {', '.join(GRIDS)}")
    check_new(out)
    toolkit = find_toolkit(path)
    if toolkit not in READERS:
        if (path / "config.json").is_file():
            read_typed(path / "config.json", dict[str, Any])  # says so if it is damaged
        message = (
            f"{path} is no model of another toolkit that is known here: see docs/bridge.md"
            if path.exists()
            else f"there is no file or folder {path}; a model of the Hugging Face hub is fetched "
            "first: hf download OWNER/NAME --local-dir NAME"
        )
        raise ValueError(recognise(path) or message)
    fields = {"grid": grid, "languages": languages, "subwords": tuple(subwords)}
    fields = {name: value for name, value in fields.items() if value}
    for name in fields:
        if toolkit not in OPTIONS[name]:
            raise ValueError(f"--{name} has no effect on {path}, of {toolkit}")
    try:
        foreign = READERS[toolkit](path, **fields)
        config, tokenizers, network = convert(foreign)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
        # Their files have no schema: what is missing or of another kind shows where it is used.
        title, what = read_toolkits()[toolkit]["title"], f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is damaged, or not as {title} is written: {what}") from error
    grids = None
    if config.model.positions.grid and _has_two_grids(foreign):
        grids = _compare_grids(network, config, tokenizers, texts)
    sentence = choose_sample(config, tokenizers.source, texts or ())
    plausibility = sentence and look_at(network, config, tokenizers, sentence)
    name, title = path.resolve().name, foreign.names["title"]
    with prepare_beside(out) as scratch:
        whole = scratch / "model"
        save_model(whole, config, tokenizers, network.state_dict())
        if steps := list_steps(foreign, network.state_dict()):
            save_int8(WeightsFile(whole / WEIGHTS, in_memory=True), whole / WEIGHTS, steps)
        if foreign.shortlist is not None:
            rows = read_shortlist(foreign.shortlist, *order_rows(foreign), tokenizers.is_shared)
            save_shortlist(whole / SHORTLIST, rows, tell_tokenizers(tokenizers))
        write_text(whole / CARD, _CARD.format(name=name, title=title))
        whole.rename(out)
    parameters = sum(p.numel() for p in network.parameters())
    return ImportResult(toolkit, parameters, grids, plausibility or None)


_CARD = """# Model card

Imported from {name}, {title}.
Its licence, its data and its scores are those of that model; nothing was trained or measured here.
"""


def _has_two_grids(foreign: Foreign) -> bool:
    return foreign.toolkit == "marian" or foreign.settings.get("model_type") == "marian"


def _compare_grids(
    network: Transformer, config: Config, tokenizers: Tokenizers, texts: Sequence[str] | None
) -> GridDifference:
    """Score the greedy translations under both grids, and return the difference."""
    sources = choose_by_parity(config, tokenizers.source, texts)[:MOST]
    names = {ours: theirs for theirs, ours in GRIDS.items()}
    own = config.model.positions.grid
    (other,) = names.keys() - {own}
    positions = {**config.model.positions.model_dump(), "grid": other}
    twin = build_model(config.changed(model={"positions": positions}), tokenizers).eval()
    twin.load_state_dict(network.state_dict())
    targets = translate_with(network, sources, "greedy")
    both = (score_tokens(each, sources, targets) for each in (network, twin))
    apart = [abs(a - b) for pair in zip(*both, strict=True) for a, b in zip(*pair, strict=True)]
    return GridDifference(names[own], len(sources), sum(apart) / len(apart), max(apart))
