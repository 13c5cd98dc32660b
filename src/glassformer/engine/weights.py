"""The weights of a model: packed for translation, and as a network for looking inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

import torch

from ..config import Decode, Model
from ..decode import Network
from ..device import autocast, choose_device, choose_precision, keep_memory
from ..directory import GOLDEN, WEIGHTS, load_model
from ..disk import read_json
from ..kernels.fast import fast
from ..model import Transformer
from ..tensors import read_tensors
from .choice import PRECISIONS, Example, Packed, build_engine
from .compiled import Compiled
from .engine import Read
from .equivalence import is_faithful

Encode = Callable[[Sequence[str], Sequence[str]], list[Example]]
MANY = 32  # the fewest sentences for each worker; fewer are faster with all threads on each product


class Weights:
    """The weights of a network, or of a model folder that is read when they are first needed.

    precision: auto, fp32, bf16 or int8, for translation. encode: returns the ids of sources, each
    ending with EOS, and of targets. threads: of each worker; None: PyTorch's number, divided among
    the workers. workers: how many share the sentences; None: one for each thread for many sentences
    on a CPU, if it is a beam search or runs in C, otherwise one; this was measured to be fastest.
    """

    def __init__(
        self,
        origin: Transformer | Path,
        settings: Model,
        encode: Encode,
        *,
        device: str = "auto",
        precision: str = "auto",
        threads: int | None = None,
        workers: int | None = None,
    ):
        self.origin, self.settings, self.wanted = origin, settings, precision
        self.device, self.encode = choose_device(device), encode
        self.threads, self.workers = threads, workers
        self._lock = RLock()
        if precision not in ("auto", *PRECISIONS):
            raise ValueError(f"precision={precision}: one of auto, {', '.join(PRECISIONS)}")
        if precision == "int8" and self.device.type != "cpu":
            raise ValueError(f"precision=int8 is for processors, not {self.device}: use bf16")
        for name, value in (("threads", threads), ("workers", workers)):
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: at least 1")

    @cached_property
    def network(self) -> Transformer:
        """Return the network for looking inside and for scoring, on its device, in eval mode."""
        with self._lock:
            if isinstance(self.origin, Transformer):
                network = self.origin
            else:
                network = load_model(self.origin)[2]
            return network.to(self.device).eval()

    @cached_property
    def unpacked(self) -> Transformer:
        """Return the fast view of the network, which computes what no engine does."""
        return fast(self.network, precision=self.exact)

    @property
    def exact(self) -> str:
        """Return the precision of scoring and looking inside: fp32, unless bf16 is set."""
        return choose_precision("bf16" if self.wanted == "bf16" else "fp32", self.device)

    @property
    def precision(self) -> str:
        """Return the precision of translation."""
        return self.fast.precision if isinstance(self.fast, Packed) else self.exact

    @property
    def fast(self) -> Network[Any]:
        """Return the network for translation: packed on a CPU, if that computes the same."""
        if self.device.type != "cpu":
            return self.unpacked
        with self._lock:
            return self._packed

    @cached_property
    def _packed(self) -> Network[Any]:
        if isinstance(self.origin, Transformer):
            weights = self.network.state_dict()
            read: Read = lambda name: weights[name].detach().float()  # noqa: E731
            if not is_faithful(self.settings, read, lambda: self.network):
                return self.unpacked
            keep_memory()
            return build_engine(self.settings, read, self.wanted)
        folder, read = self.origin, read_tensors(self.origin / WEIGHTS)
        if not is_faithful(self.settings, read, lambda: load_model(folder)[2]):
            return self.unpacked
        status = (self.origin / WEIGHTS).stat()
        name = f"{self.origin.resolve()} {status.st_size} {status.st_mtime_ns}"
        examples = read_examples(self.origin, self.encode) if self.wanted == "auto" else []
        with torch.inference_mode():
            keep_memory()
            return build_engine(self.settings, read, self.wanted, examples, name)

    @contextmanager
    def translating(self, sentences: int, decode: Decode) -> Iterator[tuple[Network[Any], int]]:
        """Yield the network for translation, and the number of workers for so many sentences."""
        before = torch.get_num_threads()
        network = self.fast
        alone = (
            self.device.type != "cpu"
            or (decode.search != "beam" and not isinstance(network, Compiled))
            or sentences < MANY * (self.workers or before)
        )
        workers = self.workers or (1 if alone else before // (self.threads or 1))
        workers = max(1, min(workers, sentences))
        precision = "fp32" if isinstance(network, Packed) else self.exact
        try:
            if self.threads:
                torch.set_num_threads(self.threads * workers)
            with torch.inference_mode(), autocast(precision, self.device):
                yield network, workers
        finally:
            if self.threads:
                torch.set_num_threads(before)


def read_examples(folder: Path, encode: Encode) -> list[Example]:
    """Return the golden translations in a model's folder, with which a precision is checked."""
    try:
        lines = [line for line in read_json(folder / GOLDEN)["lines"] if line["translation"]]
        return encode(*([line[key] for line in lines] for key in ("source", "translation")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
