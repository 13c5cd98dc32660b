"""The four stages of one model: what reads, searches, writes and checks with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..config import Config
from ..decode import Budget
from ..engine import Weights
from ..model.files.directory import Tokenizers
from ..model.files.weights_file import WeightsFile
from .checking import Checker
from .reading import SentenceReader
from .searching import Searcher
from .writing import Writer

if TYPE_CHECKING:  # a model is opened without PyTorch
    from ..model.encoder_decoder import EncoderDecoder


class TranslationStages:
    """A loaded model with its tokenizers, and a stage of each kind that works with it.

    This is what `see` records and what `Translator` puts its methods before; `machine` is as there.
    """

    def __init__(
        self,
        config: Config,
        tokenizers: Tokenizers,
        model: EncoderDecoder | WeightsFile | Weights,
        *,
        holding: type[Weights] = Weights,
        **machine: Any,
    ):
        if config.model.is_language_model:
            raise ValueError(
                f"this is a language model (network={config.model.network}), which translates "
                "nothing: use LanguageModel, or glassformer complete, fill, classify or evaluate"
            )
        self.config, self.tokenizers = config, tokenizers
        path = model.path if isinstance(model, WeightsFile) else None
        folder = model.folder if isinstance(model, Weights) else path and path.parent
        self.reader = SentenceReader(config, tokenizers, folder)
        if isinstance(model, Weights):
            self.weights = model
        else:
            self.weights = holding(model, config.model, self.reader.encode_pairs, **machine)
        self.device = self.weights.device
        budget = Budget(4096 if self.device == "cpu" else 65536)
        self.searcher = Searcher(self.reader, self.weights, budget)
        self.writer = Writer(self.searcher)
        self.checker = Checker(self.writer)

    @property
    def model(self) -> EncoderDecoder:
        """Return the network, for scoring and recording."""
        return self.weights.network

    @property
    def precision(self) -> str:
        """Return the precision of translating; "auto" is decided at its first use."""
        return self.weights.precision
