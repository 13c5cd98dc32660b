"""The types of `trace.json`: a recording without its tensors. Imports no torch.

These types are the published format. `trace-schema.json` is made from them, docstrings included,
and a change that an older reader cannot read raises `VERSION`.
"""

from typing import Any, Literal

from pydantic import Field

from ..config import Decode, Model
from ..foundation.settings.schema import StrictModel

VERSION = 3  # 1 and 2 had other names: see `former_names`
Level = Literal["attention", "states", "everything"]
LEVELS: tuple[Level, ...] = ("attention", "states", "everything")
# The windows that a level keeps beside those of the levels before it; everything keeps all.
WINDOWS: dict[Level, set[str]] = {
    "attention": {"weights", "mask"},
    "states": {
        "query",
        "key",
        "value",
        "context",
        "sum",
        "normed",
        "memory",
        "last",
        "cell",
        "cell.hidden",  # of a recurrent network
        "final",
    },
}


class Token(StrictModel):
    """A token and the span of characters that it stands for; the span of a mark is empty."""

    text: str
    id: int
    start: int
    end: int


class Merge(StrictModel):
    """One merge of byte-pair encoding: it joins two neighbouring symbols of a word."""

    rank: int  # of the merge, from 0: what was learned first is done first
    index: int  # in `symbols` of the symbol after the gap that it closes


class WordMerges(StrictModel):
    """The steps by which byte-pair encoding made the tokens of one word."""

    symbols: tuple[str, ...]  # its characters, or the bytes of those that are no token
    merges: tuple[Merge, ...]  # in the order in which they were done


class Prediction(StrictModel):
    """The distribution of the token after one row of the decoder; natural logarithms."""

    log_prob: float  # of the token that came
    rank: int  # of that token, from 0
    entropy: float
    ids: tuple[int, ...]  # the most probable, best first
    texts: tuple[str, ...]
    log_probs: tuple[float, ...]
    draw_prob: float | None = None  # the probability with which sampling draws the token that came
    draw_probs: tuple[float, ...] = ()  # and those of `ids`; empty where nothing was sampled


class SearchCandidate(StrictModel):
    """A continuation of a hypothesis that the search considered, and what became of it."""

    parent: int  # the row that it continues
    row: int | None  # its row in the next step, if it is kept
    id: int
    text: str
    token_log_prob: float
    log_prob: float  # of the whole hypothesis
    score: float  # as if it ended here
    fate: str  # KEPT, FINISHED, CUT, STOPPED, OUTRANKED, REPEATS or TOO_SHORT
    why: str


class FoundHypothesis(StrictModel):
    """A hypothesis that ended."""

    ids: tuple[int, ...]  # without BOS and EOS
    text: str
    log_prob: float
    score: float
    finished: bool  # False: cut at the greatest length


class Search(StrictModel):
    """The search for the translation, step by step; the n-th step continues n + prefix tokens."""

    settings: Decode
    seed: int
    prefix: int  # tokens that were forced
    hypotheses: tuple[FoundHypothesis, ...]  # all that ended, best first
    chosen: int | None  # which of them was recorded; None: a text that was given
    steps: tuple[tuple[SearchCandidate, ...], ...]  # best first


class SentenceSpans(StrictModel):
    """The span of a sentence in a longer text, and its span in the translation of that text."""

    source: tuple[int, int]
    target: tuple[int, int]


class Whole(StrictModel):
    """A text of which one sentence was recorded, and its translation as the user gets it."""

    text: str
    translation: str
    sentences: tuple[SentenceSpans, ...]
    chosen: int  # the one that was recorded, from 0


class Numerics(StrictModel):
    """The precision of the translation and of the recording, and how far the two differ."""

    decoded_in: str
    recorded_in: str
    device: str
    largest_difference: float | None  # of log-probabilities; None: nothing was decoded
    chosen_differently: tuple[int, ...]  # rows whose most probable token is another in each


class FoundProblem(StrictModel):
    """A problem that the quality check found in the translation, as in `translate --json`."""

    kind: str
    said: str


class TensorFile(StrictModel):
    """The file, shape and axes of a tensor on disk."""

    file: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]


class Module(StrictModel):
    """A module of the network, and the tensors that it was called with."""

    kind: str  # its class
    inputs: dict[str, str]  # the name of the tensor that each argument was
    constants: dict[str, float | None]  # its numbers; None: what it could have and has not


class Wiring(StrictModel):
    """The tensors that feed each module; see `wiring`."""

    windows: dict[str, str]  # in order; the PyTorch module whose output the window shows, or ""
    modules: dict[str, Module]


class AlignmentHead(StrictModel):
    """The cross-attention that was measured to align words best: a head, or the mean of a layer."""

    layer: int  # of the decoder
    head: int | None  # None: the mean of all heads
    row: Literal["reads", "predicts"]  # the row whose input is the word, or that predicts it


class Document(StrictModel):
    """One recorded translation without its tensors, which are stored beside it as safetensors."""

    schema_version: Literal[3] = 3
    glassformer: str  # the version that recorded it
    text: str
    translation: str
    source: tuple[Token, ...]
    words: tuple[WordMerges, ...] = ()  # of the source; none where tokens are not made by merges
    target: tuple[Token, ...]  # the rows of the decoder: BOS, then the tokens of the translation
    predicted: tuple[Token, ...]  # the token that came after each of them
    settings: Model
    source_vocabulary: int
    target_vocabulary: int
    weights_sha256: str | None = None
    aligner: AlignmentHead | None = None  # None: none was measured for these weights
    habits: dict[str, tuple[str | None, ...]] = Field(default_factory=dict)  # see `habits`
    wiring: Wiring | None = None  # None in recordings older than this field
    level: Level
    predictions: tuple[Prediction, ...]
    search: Search | None
    confidence: float | None = None  # as `translate --json` has it; None: a text that was given
    problems: tuple[FoundProblem, ...] = ()
    numerics: Numerics
    edits: tuple[dict[str, Any], ...] = ()
    whole: Whole | None = None  # None: the same as `text` and `translation`
    tolerance: float | None = None  # of a compact trace: of the largest value of each tensor
    tensors: dict[str, TensorFile] = Field(default_factory=dict)


def find_level(name: str) -> Level:
    """Return the first level that keeps a tensor of this name."""
    parts = name.split(".")
    windows = {parts[-1], ".".join(parts[-2:])}
    return next((level for level in WINDOWS if windows & WINDOWS[level]), "everything")


def belongs(name: str, level: Level) -> bool:
    return LEVELS.index(find_level(name)) <= LEVELS.index(level)
