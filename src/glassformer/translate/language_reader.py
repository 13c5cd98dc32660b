"""Reading by a language model: a text stands between marks, and masks may hide its tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..config import CLASS, EOS, MASK, Config
from ..decode import Budget
from ..engine import Weights
from ..foundation.validation_errors import check_list
from ..model.files.directory import Tokenizers
from ..model.files.weights_file import WeightsFile
from ..text.layout import FIRST_BYTE

if TYPE_CHECKING:  # a model is opened without PyTorch
    from ..model.encoder_decoder import EncoderDecoder

MASK_TEXT = "[MASK]"  # what stands for a hidden token in a text
MARK = "\ue000"  # stands for it while the text is cut into tokens: a private character, in bytes
MARK_IDS = [FIRST_BYTE + byte for byte in MARK.encode()]
COMPLETES, FILLS, CLASSIFIES = "completes text", "fills masks", "names classes"
VERB = {"complete": COMPLETES, "fill": FILLS, "classify": CLASSIFIES}
HOW = {
    "complete": "train one with --network decoder, or take demo-lm",
    "fill": "train one with --network encoder, or take demo-mlm",
    "classify": "train one with --network encoder on a .tsv of labels and sentences",
}


class LanguageReader:
    """A loaded language model with its tokenizer: what `see` records of it."""

    def __init__(
        self,
        config: Config,
        tokenizers: Tokenizers,
        model: EncoderDecoder | WeightsFile,
        **machine: Any,
    ):
        if not config.model.is_language_model:
            raise ValueError("this model translates; it is no language model: use Translator")
        self.config, self.tokenizer = config, tokenizers.source
        self.weights = Weights(model, config.model, _encode_nothing, **machine)
        self.device = self.weights.device
        self.batch_budget = Budget(4096 if self.device == "cpu" else 65536)

    @property
    def model(self) -> EncoderDecoder:
        """Return the network, for recording."""
        return self.weights.network

    @property
    def longest(self) -> int:
        """Return the most tokens of a text, with its marks."""
        return self.config.model.positions.max_positions

    @property
    def ability(self) -> str:
        """Return, in words, what this model does."""
        if self.config.model.network == "decoder":
            return COMPLETES
        return CLASSIFIES if self.config.model.labels else FILLS

    def check(self, verb: str) -> None:
        """Raise ValueError unless this model can do what the verb asks for."""
        if self.ability != VERB[verb]:
            raise ValueError(f"this model {self.ability}: to {verb}, {HOW[verb]}")

    def encode_masked(self, text: str) -> list[int]:
        """Return the ids of a text, with its marks, in which [MASK] is the id of a hidden token.

        A mask takes the space before it, as a token does.
        """
        marked = re.sub(rf" ?{re.escape(MASK_TEXT)}", MARK, text)
        ids, results = self.tokenizer.encode(marked), list[int]()
        space = self.tokenizer.encode(f"{MARK}")[: -len(MARK_IDS)]  # of a mask at the beginning
        while ids:
            for beginning in (space + MARK_IDS, MARK_IDS):
                if ids[: len(beginning)] == beginning:
                    ids, results = ids[len(beginning) :], [*results, MASK]
                    break
            else:
                results.append(ids.pop(0))
        return self._frame(results, 0)

    def encode_text(self, text: str, line: int = 0) -> list[int]:
        """Return the ids of a text, between the class token (or begin mark) and the end mark."""
        return self._frame(self.tokenizer.encode(text), line)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        check_list("texts", texts)
        return self.tokenizer.encode_many(texts)

    def _frame(self, ids: list[int], line: int) -> list[int]:
        if len(ids) + 2 > self.longest:
            raise ValueError(
                f"line {line + 1}: {len(ids)} tokens and two marks, but this model has "
                f"{self.longest} positions (model.positions.max_positions)"
            )
        return [CLASS, *ids, EOS]


def _encode_nothing(sources: Sequence[str], targets: Sequence[str]) -> list[Any]:
    """Return no examples: int8, which is checked with some, is for Transformers."""
    return []
