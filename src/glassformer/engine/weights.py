"""The weights of a model: packed for translation, and as a network for looking inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from ..config import Decode, Model
from ..directory import GOLDEN, make_network
from ..disk import read_json
from ..machine.device import autocast, keep_memory, name_device
from ..weights.weights_file import WeightsFile

if TYPE_CHECKING:  # a model is opened without PyTorch
    from ..decode import Network
    from ..model import EncoderDecoder
    from .choice import Example
    from .engine import Read

PRECISIONS = ("fp32", "bf16", "int8")
Encode = Callable[[Sequence[str], Sequence[str]], "list[Example]"]
MANY = 32  # the fewest sentences for each worker; fewer are faster with all threads on each product


class Weights:
    """The weights of a network, or of an opened file, packed when they are first needed.

    precision: auto, fp32, bf16 or int8, for translation. encode: returns the ids of sources, each
    ending with EOS, and of targets. threads: of each worker; None: PyTorch's number, divided among
    the workers. workers: how many share the sentences; None: one for each thread for many sentences
    on a CPU, if it is a beam search or runs in C, otherwise one; this was measured to be fastest.
    """

    def __init__(
        self,
        origin: EncoderDecoder | WeightsFile,
        settings: Model,
        encode: Encode,
        *,
        device: str = "auto",
        precision: str = "auto",
        threads: int | None = None,
        workers: int | None = None,
    ):
        self.origin, self.settings, self.wanted = origin, settings, precision
        self.device, self.encode = name_device(device), encode
        self.threads, self.workers = threads, workers
        self._lock = RLock()
        if precision not in ("auto", *PRECISIONS):
            raise ValueError(f"precision={precision}: one of auto, {', '.join(PRECISIONS)}")
        if precision == "int8" and self.device != "cpu":
            raise ValueError(f"precision=int8 is for processors, not {self.device}: use bf16")
        if precision == "int8" and settings.network != "transformer":
            raise ValueError(
                f"precision=int8 is for Transformers, not {settings.network}: use fp32"
            )
        for name, value in (("threads", threads), ("workers", workers)):
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: at least 1")

    @cached_property
    def network(self) -> EncoderDecoder:
        """Return the network for looking inside and for scoring, on its device, in eval mode."""
        with self._lock:
            network = self.origin
            if isinstance(network, WeightsFile):
                network = make_network(self.settings, network)
            return network.to(self.device).eval()

    @cached_property
    def unpacked(self) -> EncoderDecoder:
        """Return the fast view of the network, which computes what no engine does."""
        from ..kernels.fast import fast

        return fast(self.network, precision=self.exact)

    @property
    def folder(self) -> Path | None:
        """Return the folder of the model, if it was read from one."""
        return self.origin.path.parent if isinstance(self.origin, WeightsFile) else None

    @property
    def parameters(self) -> int:
        """Return the number of weights, tied ones counted once."""
        if isinstance(self.origin, WeightsFile):
            return self.origin.parameters
        return sum(p.numel() for p in self.origin.parameters())

    @property
    def exact(self) -> str:
        """Return the precision of scoring and looking inside: fp32, unless bf16 is set."""
        return "bf16" if self.wanted == "bf16" else "fp32"

    @property
    def precision(self) -> str:
        """Return the precision of translation."""
        return getattr(self.fast, "precision", self.exact)

    @property
    def known_precision(self) -> str:
        """Return the precision of translation; "auto" as long as it is not decided."""
        is_decided = self.wanted != "auto" or self.device != "cpu" or "_packed" in vars(self)
        return self.precision if is_decided else self.wanted

    @property
    def fast(self) -> Network[Any]:
        """Return the network for translation: packed on a CPU, if that computes the same."""
        if self.device != "cpu":
            return self.unpacked
        with self._lock:
            return self._packed

    @cached_property
    def _packed(self) -> Network[Any]:
        import torch

        if self.settings.network != "transformer":  # no engine computes it
            return self.unpacked

        from ..weights.tensors import read_tensors
        from .choice import build_engine
        from .equivalence import is_faithful

        file, examples, name = self.origin, list[Any](), ""
        if not isinstance(file, WeightsFile):
            weights = self.network.state_dict()
            read: Read = lambda name: weights[name].detach().float()  # noqa: E731
            is_packable = is_faithful(self.settings, read, lambda: self.network)
        else:
            folder, read, status = file.path.parent, read_tensors(file), file.path.stat()
            load = lambda: make_network(self.settings, file)  # noqa: E731
            is_packable = is_faithful(self.settings, read, load)
            name = f"{folder.resolve()} {status.st_size} {status.st_mtime_ns}"
            examples = read_examples(folder, self.encode) if self.wanted == "auto" else []
        if not is_packable:
            return self.unpacked
        with torch.inference_mode():
            keep_memory()
            return build_engine(self.settings, read, self.wanted, examples, name)

    @contextmanager
    def translating(self, sentences: int, decode: Decode) -> Iterator[tuple[Network[Any], int]]:
        """Yield the network for translation, and the number of workers for so many sentences."""
        import torch

        from .choice import Packed
        from .compiled import Compiled

        before = torch.get_num_threads()
        network = self.fast
        alone = (
            self.device != "cpu"
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
