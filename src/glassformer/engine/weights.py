"""The weights of a model, and the engines that compute with them.

On a processor it is the engine in C, if that computes this network. On a GPU, in bf16, and where
the code of `model/` was changed or there is no library, it is PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

from ..config import Decode, Model
from ..decode.sentences import Budget, Hypothesis, Rows
from ..foundation.disk import read_json
from ..foundation.machine.device import count_cores, count_threads, name_device
from ..foundation.shared_library import explain_library, find_library, load_library
from ..model.files.directory import GOLDEN, SHORTLIST, make_network
from ..model.files.directory import ORIGIN as NOTED
from ..model.files.shapes import list_shapes
from ..model.files.weights_file import Shapes, StoredTensor, WeightsFile
from .fingerprint import is_model_unchanged
from .native import Head, ScoredPair
from .native_engine import OUTPUTS, SOURCE, NativeEngine, NativeEnsembleEngine
from .native_model import choose_workers, explain_settings
from .precision import PRECISIONS, Example, is_close, score_examples
from .shortlist import Shortlist

if TYPE_CHECKING:
    from ..decode import Network
    from ..model.encoder_decoder import EncoderDecoder
    from .native import Matrix

Encode = Callable[[Sequence[str], Sequence[str]], list[Example]]


class Engine(Protocol):
    """The methods that `NativeEngine` and `TorchEngine` have in common."""

    @property
    def precision(self) -> str: ...

    def search(
        self, sources: Rows, settings: Decode, *, workers: int, **keywords: Any
    ) -> list[list[Hypothesis]]: ...

    def score(
        self, sources: Rows, targets: Rows, *, workers: int, **keywords: Any
    ) -> list[ScoredPair]: ...

    def attend(
        self,
        sources: Rows,
        targets: Rows,
        heads: Sequence[Head],
        *,
        workers: int,
        budget: int | Budget,
    ) -> Iterator[tuple[int, list[Matrix]]]: ...


class Weights:
    """The weights of a network, or of an opened file, packed when they are first needed.

    precision: auto, fp32, bf16 or int8, for translation. encode: returns the ids of sources, each
    ending with EOS, and of targets. workers: how many share the sentences; threads: of each. In C
    a worker is a thread: with `threads` alone at most so many are at work, no more than the
    processor has cores for this process, and fewer where a few sentences are not faster with more
    (see `native_model.choose_workers`). None: as many as there are cores.
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
        self._lock, self._engines = RLock(), dict[str, Engine]()
        if precision not in ("auto", *PRECISIONS):
            raise ValueError(f"precision={precision}: one of auto, {', '.join(PRECISIONS)}")
        if precision == "int8" and self.device != "cpu":
            raise ValueError(f"precision=int8 is for processors, not {self.device}: use bf16")
        if precision == "int8" and (why := explain_settings(settings)):
            raise ValueError(f"precision=int8: {why}: use fp32")
        for name, value in (("threads", threads), ("workers", workers)):
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: at least 1")

    @cached_property
    def network(self) -> EncoderDecoder:
        """Return the network for looking inside, on its device, in eval mode."""
        with self._lock:
            network = self.origin
            if isinstance(network, WeightsFile):
                network = make_network(self.settings, network)
            return network.to(self.device).eval()

    @cached_property
    def view(self) -> Network[Any]:
        """Return the fast view of the network, which the engine in PyTorch computes with."""
        from .kernels.fast import fast

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

    @cached_property
    def precision(self) -> str:
        """Return the precision of translation; "auto" is decided here."""
        if self.wanted in ("fp32", "bf16") or not self.is_native:
            return self.exact
        return "int8" if self.wanted == "int8" or self._is_int8_close() else "fp32"

    @property
    def takes_shortlist(self) -> bool:
        """Return whether what translates can predict the tokens of a short-list alone."""
        return self.is_native and self.precision == "int8"

    @property
    def known_precision(self) -> str:
        """Return the precision of translation; "auto" as long as it is not decided."""
        is_decided = self.wanted != "auto" or self.device != "cpu" or "precision" in vars(self)
        return self.precision if is_decided else self.wanted

    @cached_property
    def is_native(self) -> bool:
        """Return whether the engine in C computes this network, in fp32 and int8."""
        is_possible = self.device == "cpu" and not self._explain_absence()
        return is_possible and is_model_unchanged() and self._is_plain()

    def get_engine(self, precision: str) -> Engine:
        """Return the engine that computes in this precision.

        ValueError if it needs PyTorch, which is not installed.
        """
        with self._lock:
            if precision not in self._engines:
                self._engines[precision] = self._make_engine(precision)
            return self._engines[precision]

    def get_torch_engine(self, asked: str = "") -> Engine:
        """Return the engine in PyTorch, for a search that the one in C does not know.

        asked: what it does not know, to be said where it would have searched.
        """
        if asked and self.is_native:
            say_once(f"the engine in C does not know {asked}: PyTorch computes, slower")
        with self._lock:
            if "torch" not in self._engines:
                if find_spec("torch") is None:
                    raise ValueError("this search needs PyTorch: pip install 'glassformer[train]'")
                from .torch_engine import TorchEngine

                arguments = self.network, self.view, self.exact, self.device, self.threads
                self._engines["torch"] = TorchEngine(*arguments)
            return self._engines["torch"]

    def count_workers(self, sentences: int, rows: int = 1) -> int:
        """Return how many workers share so many sentences, which have `rows` rows each.

        A row is a hypothesis of a search, or a token of a target that is scored.
        """
        if not self.is_native:
            workers = self.workers or 1
        elif self.workers:
            workers = self.workers * (self.threads or 1)
        else:
            most = min(self.threads or count_threads(), count_cores())
            vocabulary = self._shapes[OUTPUTS[self.settings.tie]][0]
            workers = choose_workers(self.settings, vocabulary, sentences * rows, most)
        return max(1, min(workers, sentences))

    def _make_engine(self, precision: str) -> Engine:
        if precision != "bf16" and self.is_native:
            engine = NativeEngine.open(self.settings, self._store(), precision)
            if isinstance(self.origin, WeightsFile):
                engine.use_shortlist(self._open_shortlist)
                self.origin.release()
            return engine
        why = self._explain_absence() if self.device == "cpu" else ""
        if find_spec("torch") is None:
            why = why or f"precision={precision} is not for the engine in C"
            raise ValueError(f"{why}: pip install 'glassformer[train]' to translate with PyTorch")
        if why and precision != "bf16" and self.settings.network == "transformer":
            say_once(f"{why}: PyTorch computes, slower")
        from .torch_engine import TorchEngine

        return TorchEngine(self.network, self.view, precision, self.device, self.threads)

    def _open_shortlist(self) -> Shortlist:
        assert isinstance(self.origin, WeightsFile)
        sizes = [self._shapes[name][0] for name in (SOURCE, OUTPUTS[self.settings.tie])]
        known = self.origin.notes.get(NOTED, {})
        path = self.origin.path.with_name(SHORTLIST)
        return Shortlist(path, (sizes[0], sizes[1]), known.get("tokenizer"))

    def _explain_absence(self) -> str:
        """Return why the engine in C cannot compute with these settings; "" if it can."""
        if why := explain_settings(self.settings):
            return why
        if load_library("engine") is None:
            return f"no library of the engine in C ({explain_library('engine')})"
        return ""

    def _store(self) -> Mapping[str, StoredTensor]:
        if isinstance(self.origin, WeightsFile):
            return self.origin.tensors
        from ..model.files.tensors import store_tensors

        return store_tensors(self.origin.state_dict())

    @cached_property
    def _shapes(self) -> Shapes:
        if isinstance(self.origin, WeightsFile):
            return self.origin.shapes
        return {name: tuple(x.shape) for name, x in self.origin.state_dict().items()}

    def _is_plain(self) -> bool:
        """Return whether the network has the weights, and the modules, that `model/` gives it."""
        if not isinstance(self.origin, WeightsFile):
            homes = {type(each).__module__ for each in self.origin.modules()}
            model = __name__.replace("engine.weights", "model.")
            if not all(home.startswith((model, "torch.nn.modules.")) for home in homes):
                return False
        names, shapes = (SOURCE, OUTPUTS[self.settings.tie]), self._shapes
        sizes = [shapes[name][0] for name in names if name in shapes]
        return len(sizes) == len(names) and shapes == list_shapes(self.settings, *sizes)

    def _is_int8_close(self) -> bool:
        """Return whether int8 translates the golden pairs of this model nearly as fp32 does.

        A model without such pairs, whose matrices are int8 already, was made to be used so.
        """
        if not isinstance(self.origin, WeightsFile):
            return False
        path = self.origin.path
        golden = path.with_name(GOLDEN)
        if not golden.is_file():
            return self.origin.is_int8
        files = [(each.stat().st_size, each.stat().st_mtime_ns) for each in (path, golden)]
        name = f"{find_library('engine').digest} {path.parent.resolve()} {files}"
        return is_close(lambda each: score_examples(self.get_engine(each), self._golden), name)

    @cached_property
    def _golden(self) -> list[Example]:
        """Return the golden pairs; they are encoded only where their loss is not known yet."""
        return read_examples(self.folder, self.encode) if self.folder else []


@cache
def say_once(message: str) -> None:
    print(f"glassformer: {message}", file=sys.stderr)


def read_examples(folder: Path, encode: Encode) -> list[Example]:
    """Return the golden translations in a model's folder, with which a precision is checked."""
    try:
        lines = [line for line in read_json(folder / GOLDEN)["lines"] if line["translation"]]
        return encode(*([line[key] for line in lines] for key in ("source", "translation")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


class JoinedWeights(Weights):
    """The weights of several models; alignment and `network` are the first one's."""

    takes_shortlist = False

    def __init__(self, members: Sequence[Weights], encode: Encode, **keywords: Any) -> None:
        """Take loaded members, all on one device."""
        first = members[0]
        super().__init__(first.origin, first.settings, encode, **keywords)
        self.members = list(members)

    @property
    def parameters(self) -> int:
        """Return the number of weights of all members."""
        return sum(each.parameters for each in self.members)


class EnsembleWeights(JoinedWeights):
    """The weights of models with one vocabulary, whose probabilities are averaged."""

    @cached_property
    def is_native(self) -> bool:
        """Return whether the engine in C computes all members."""
        return all(each.is_native for each in self.members)

    @cached_property
    def view(self) -> Network[Any]:
        from ..decode.ensemble import Ensemble

        return Ensemble([each.view for each in self.members])

    def _make_engine(self, precision: str) -> Engine:
        if precision == "bf16" or not self.is_native:
            return super()._make_engine(precision)
        engines = [each.get_engine(precision) for each in self.members]
        return NativeEnsembleEngine([each for each in engines if isinstance(each, NativeEngine)])

    def _is_int8_close(self) -> bool:
        return all(each._is_int8_close() for each in self.members)


class FusedWeights(JoinedWeights):
    """The weights of a translation model and of a language model that has a say in its search."""

    is_native = False

    def __init__(
        self, members: Sequence[Weights], encode: Encode, weight: float, **keywords: Any
    ) -> None:
        """Take loaded members, all on one device. ValueError if int8 is asked for."""
        if keywords.get("precision") == "int8":
            raise ValueError("precision=int8 is not for a search with a language model: use fp32")
        super().__init__(members, encode, **keywords)
        self.weight = weight

    @cached_property
    def view(self) -> Network[Any]:
        from ..decode.fusion import Fusion

        translation, language = (each.view for each in self.members)
        return Fusion(translation, language, self.weight)
