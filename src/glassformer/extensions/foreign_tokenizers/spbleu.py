"""BLEU of the tokens of a SentencePiece model (spBLEU, Goyal et al. 2022), with any such model.

The models of FLORES-101 and FLORES-200 are read where sacreBLEU keeps them; nothing is downloaded.
"""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from sacrebleu import BLEU
from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

from glassformer.evaluate.quality import SPBLEU
from glassformer.text.layout import CONTROLS

from .sentencepiece import Sentencepiece


def build_spbleu(tokenize: str, *, effective_order: bool = False) -> BLEU:
    """Return sacreBLEU's object that compares the tokens of a model: a name, or a file.

    ValueError if the file is damaged or, of a name, not where sacreBLEU keeps it.
    """
    metric = BLEU(tokenize="none", effective_order=effective_order, force=True)
    metric.tokenizer = SpmTokenizer(tokenize)
    metric.tokenizer_signature = metric.tokenizer.signature()
    return metric


class SpmTokenizer(BaseTokenizer):
    """A tokenizer for sacreBLEU that cuts a line as a SentencePiece model does."""

    def __init__(self, tokenize: str) -> None:
        """Read the model of a name or a file."""
        path = find_spm(tokenize)
        model = Sentencepiece.read(path)
        self._name = tokenize
        if tokenize not in SPBLEU:
            self._name = f"spm-{sha256(path.read_bytes()).hexdigest()[:8]}"
        names = [token.text for token in model.tokens if token.text not in (*CONTROLS, "<unk>")]
        self._tokenizer = model.to_tokenizer([*CONTROLS, "<unk>", *names])
        self._cut = lru_cache(2**16)(self._join)

    def signature(self) -> str:
        """Return what the signature of a score says: the name, or a checksum of the file."""
        return self._name

    def __call__(self, line: str) -> str:
        return self._cut(line)

    def _join(self, line: str) -> str:
        return " ".join(self._tokenizer.cut(line))


def find_spm(tokenize: str) -> Path:
    """Return the file of a model. ValueError, which says where it belongs, if it is not there."""
    if tokenize not in SPBLEU:
        if not Path(tokenize).is_file():
            raise ValueError(f"{tokenize}: there is no such file")
        return Path(tokenize)
    from sacrebleu.utils import SACREBLEU_DIR

    url = SPM_MODELS[tokenize]["url"]
    path = Path(SACREBLEU_DIR) / "models" / url.rpartition("/")[2]
    if not path.is_file():
        raise ValueError(
            f"the tokeniser {tokenize} needs the file {path}, which is not there: get it from "
            f"{url}, or name any SentencePiece model (--tokenize FILE.model)"
        )
    return path
