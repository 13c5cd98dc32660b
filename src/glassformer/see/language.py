"""Record one pass of a language model over a text.

Letters: S positions of the text, as an encoder reads it; T rows of a decoder; V vocabulary, or the
classes and one for padding.
"""

from typing import Any

import torch

from ..config import BOS, MASK
from ..foundation.tap import record as watch
from ..foundation.version import __version__
from ..translate.language_reader import CLASSIFIES, COMPLETES, MASK_TEXT, LanguageReader
from .document import LEVELS, Document, Level, Numerics, Token, belongs
from .recorded import Parameters, to_arrays
from .recording import list_predictions
from .tokens import read_target
from .trace import Trace
from .wiring import record_wiring

HIDDEN = "\ufffd"  # what the mask is as text


def record_text(reader: LanguageReader, text: str, *, level: Level = "everything") -> Trace:
    """Run a language model once over a text, and keep the tensors.

    A decoder's rows are the begin mark and the tokens; each predicts the next one. An encoder's
    source is the text, with [MASK] for what is hidden, and it has no rows of a decoder. A
    classifier predicts at the first position. ValueError for a wrong level, or blank or long text.
    """
    if level not in LEVELS:
        raise ValueError(f"level={level}: one of {', '.join(LEVELS)}")
    if not (text := text.strip()):
        raise ValueError("there is no text to look into")
    is_decoder = reader.ability == COMPLETES
    framed = reader.encode_text(text) if is_decoder else reader.encode_masked(text)
    ids, outputs = torch.tensor([framed], device=reader.device), _list_outputs(reader)
    with torch.inference_mode():
        read_BS = ids[:, :-1] if is_decoder else ids
        with watch(reader.model, keep=lambda name: belongs(name, level)) as (view, taken):
            logits_TV = view(read_BS, read_BS)[0].float()
        fast: Any = reader.weights.view
        apart_TV = (
            fast(read_BS, read_BS)[0].float().log_softmax(-1) - logits_TV.log_softmax(-1)
        ).abs()
        expected = framed[1:] if is_decoder else framed
        if reader.ability == CLASSIFIES:
            expected = [1 + int(logits_TV[0, 1:].argmax())]
        predictions = list_predictions(logits_TV[: len(expected)], expected, outputs.__getitem__)
    rows, predicted = read_masked(reader, framed[1:-1], text)
    document = Document(
        glassformer=__version__,
        text=text,
        translation=text,
        source=() if is_decoder else (rows[0], *predicted),
        target=tuple(rows) if is_decoder else (),
        predicted=tuple(predicted) if is_decoder else (),
        settings=reader.config.model,
        wiring=record_wiring(reader.config.model),
        source_vocabulary=len(reader.tokenizer),
        target_vocabulary=len(outputs),
        level=level,
        predictions=predictions,
        search=None,
        numerics=Numerics(
            decoded_in="fp32",
            recorded_in="fp32",
            device=str(reader.device),
            largest_difference=apart_TV.max().item(),
            chosen_differently=(),
        ),
    )
    return Trace(document, to_arrays(taken), Parameters(reader.model.state_dict()), outputs)


def _list_outputs(reader: LanguageReader) -> list[str]:
    """Return the text of each number of the output: tokens, or padding and the classes."""
    if reader.ability == CLASSIFIES:
        return [reader.tokenizer.token(0), *reader.config.model.labels]
    names = [reader.tokenizer.token(id) for id in range(len(reader.tokenizer))]
    names[MASK] = MASK_TEXT
    return names


def read_masked(
    reader: LanguageReader, ids: list[int], text: str
) -> tuple[list[Token], list[Token]]:
    """Return the tokens of a text after the first mark, and before the last; spans fit [MASK]."""
    shown = text.replace(MASK_TEXT, HIDDEN)
    rows, predicted = read_target(reader.tokenizer, ids, shown, finished=True)
    longer = len(MASK_TEXT) - len(HIDDEN)

    def mend(tokens: list[Token]) -> list[Token]:
        before, mended = 0, []
        for token in tokens:
            is_mask = token.id == MASK
            start, end = token.start + longer * before, token.end + longer * (before + is_mask)
            name = MASK_TEXT if is_mask else token.text
            mended.append(Token(text=name, id=token.id, start=start, end=end))
            before += is_mask
        return mended

    assert rows[0].id == BOS
    return mend(rows), mend(predicted)
