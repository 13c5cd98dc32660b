"""Record one translation: search in PyTorch, then run once more and keep the tensors.

Letters: B one sentence; S source; T rows of the decoder; V vocabulary.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TypedDict

import torch
from torch import Tensor

from ..config import EOS, Decode
from ..decode.sample import find_draw_probabilities
from ..decode.sentences import Hypothesis
from ..foundation.machine.device import autocast
from ..foundation.tap import record as watch
from ..foundation.version import __version__
from ..model.encoder_decoder import EncoderDecoder
from ..model.files.directory import Tokenizers
from ..translate.align.choose_head import load_choice
from ..translate.checking import cap_confidence
from ..translate.options import Choice, choose_options
from ..translate.sentence import Sentence, Translation
from ..translate.stages import TranslationStages
from .document import (
    LEVELS,
    AlignmentHead,
    Document,
    FoundProblem,
    Level,
    Numerics,
    Prediction,
    Search,
    Token,
    belongs,
)
from .edit import EditedSentence, prepare_edits
from .habits import list_habits
from .recorded import Parameters, to_arrays
from .searching import Passage, Progress, find_passage, search_with_beam
from .sentences import Excerpt, choose_sentence, take_as_one, translate_whole
from .tokens import read_target, read_words, spell_tokens
from .trace import Trace
from .wiring import record_wiring

TOP = 10  # tokens kept of each prediction


class RecordKeywords(TypedDict, total=False):
    """The keywords of `record`, for those who hand them on."""

    sentence: int
    split: bool
    level: Level
    decode: Choice
    prefix: str | Sequence[int]
    hypothesis: int
    target: str | Trace | None
    seed: int
    edits: Iterable[Mapping[str, Any]]
    progress: Progress | None


def record(
    translator: TranslationStages,
    text: str,
    *,
    sentence: int = 0,
    split: bool = True,
    level: Level = "everything",
    decode: Choice = None,
    prefix: str | Sequence[int] = "",
    hypothesis: int = 0,
    target: str | Trace | None = None,
    seed: int = 0,
    edits: Iterable[Mapping[str, Any]] = (),
    progress: Progress | None = None,
) -> Trace:
    """Translate a text, and record one sentence of it.

    sentence: the one to record, 0 the first, -1 the last. The text is split as `translate` splits
    it, and the trace has the translation of all sentences (`whole_translation`). All other
    arguments are about the recorded sentence alone. split=False, or a target, takes the text as
    one sentence; if the model reads a context, that is all lines but the last.
    level: attention (and the likeliest tokens), states (and query, key, value, residual stream) or
    everything. prefix: the beginning of the translation, as text or ids. hypothesis: the rank of
    the finished hypothesis to record, 0 the best. target: record this translation, a text or
    another trace's, instead of searching for one. edits: see `edit`.
    progress: called at each step of the search with the step and with ids and log-probabilities of
    its likeliest tokens; called with None and [] while other sentences are translated. An exception
    that it raises ends the recording.
    The search is PyTorch's, also where `translate` computes in int8; the recording is in fp32.
    Raises ValueError for arguments that do not fit the text, the model or each other.
    """
    original = translator
    is_searched = decode is not None or bool(prefix or hypothesis)
    is_split = split and target is None
    is_chosen = bool(sentence) and not is_split
    _check_arguments(text, level, target is not None, is_searched, is_chosen)
    if is_split:
        excerpt = choose_sentence(translator, text, sentence)
    else:
        excerpt = take_as_one(translator, text) if target is None else Excerpt(text)
    target_tokenizer = translator.tokenizers.target  # which writes stand-ins as they are
    begin = prefix if isinstance(prefix, str) else ""
    translator = name_stand_ins(translator, excerpt.text, begin)
    edited = prepare_edits(translator, excerpt.text, prefix, edits, record)
    source = _check_source(translator, edited)
    with torch.inference_mode():
        passage = find_passage(
            translator,
            edited,
            [token.id for token in source],
            decode,
            hypothesis,
            target,
            seed,
            excerpt.key,
            progress,
        )
        taken, logits_TV = _record_pass(translator, edited, passage, level)
        numerics = _compare(translator, edited, passage, logits_TV)
        predictions = _predict(translator, passage, logits_TV)
    look = (lambda _: progress(None, [])) if progress else None
    if look and excerpt.text != text:
        look(0)  # the first translation of a process may start slowly
    options = choose_options(translator.config.decode, decode=decode, seed=seed, progress=look)
    written = spell_tokens(target_tokenizer, passage.written)
    whole = translate_whole(translator, text, excerpt, (passage.text, written), options)
    document = _describe(translator, edited, source, passage, level, predictions, numerics)
    return Trace(
        document.model_copy(update={"whole": whole}),
        to_arrays(taken),
        Parameters(translator.model.state_dict()),
        translator.tokenizers.target.vocabulary,
        _defer_beam(translator, edited, passage),
        None if edited.edits or target or prefix else _defer_cut(original, excerpt.text, decode),
    )


def _defer_cut(
    translator: TranslationStages, text: str, decode: Choice
) -> Callable[[str, int], Trace]:
    """Return what records the attention of a sentence of which one word cannot be read."""

    def record_cut(word: str, occurrence: int) -> Trace:
        edits = [{"do": "cut", "word": word, "occurrence": occurrence}]
        return record(translator, text, split=False, level="attention", decode=decode, edits=edits)

    return record_cut


def name_stand_ins(translator: TranslationStages, text: str, prefix: str) -> TranslationStages:
    """Return a translator that writes the stand-ins in a sentence as what they stand for."""
    named, named.reader = copy(translator), copy(translator.reader)
    named.reader.prefix = prefix
    adapted = named.reader.prepare(text.rpartition("\n")[2]).adapted
    if adapted is None or not adapted.stand_ins:
        return translator
    names = dict(pair for each in adapted.stand_ins for pair in each.shown)
    source, target = (each.rename(names) for each in translator.tokenizers)
    named.tokenizers = Tokenizers(source, target)
    return named


def _check_arguments(
    text: object, level: str, is_given: bool, is_searched: bool, is_chosen: bool
) -> None:
    """Raise ValueError for arguments of `record` that do not fit each other."""
    if not isinstance(text, str):
        raise ValueError("text is one text, not a list: record one after the other")
    if level not in LEVELS:
        raise ValueError(f"level={level}: one of {', '.join(LEVELS)}")
    if is_given and is_searched:
        raise ValueError("decode, prefix and hypothesis have no effect where the target is given")
    if is_chosen:
        raise ValueError("sentence has no effect where the text is not split")


def _record_pass(
    translator: TranslationStages, edited: EditedSentence, passage: Passage, level: Level
) -> tuple[dict[str, list[Tensor]], Tensor]:
    """Return what the windows of a level saw in one pass, and its logits, T V."""
    keep = {"keep": lambda name: belongs(name, level), "edit": edited.functions()}
    with watch(translator.model, **keep) as (view, taken):  # type: ignore[arg-type]
        logits_TV = _pass(view, passage, translator.device)
    if not logits_TV.isfinite().all():
        cause = "of the edits" if edited.edits else "of damaged weights"
        raise ValueError(f"what the network computes is not finite, because {cause}")
    return taken, logits_TV


def _defer_beam(
    translator: TranslationStages, edited: EditedSentence, passage: Passage
) -> Callable[[], Search] | None:
    """Return a function that searches the same sentence with a beam; None without a search."""
    result = passage.search
    if result is None:
        return None
    return lambda: search_with_beam(translator, edited, passage.source, result.settings)


def _check_source(translator: TranslationStages, edited: EditedSentence) -> list[Token]:
    """Return the tokens of the sentence. ValueError if there are none, or too many."""
    source = [*edited.source]
    if [token.id for token in source] == [EOS]:
        raise ValueError("there is no text to look into")
    if len(source) > (most := translator.reader.longest):
        raise ValueError(
            f"the sentence is {len(source)} tokens long, but this model has {most} "
            "positions (model.positions.max_positions): look into a part of it"
        )
    return source


def _pass(network: EncoderDecoder, passage: Passage, device: torch.device | str) -> Tensor:
    """Return the logits of all rows of the decoder, T V, in one pass."""
    source_BS, target_BT = (
        torch.tensor([ids], device=device) for ids in (passage.source, passage.given)
    )
    return network(source_BS, target_BT)[0].float()


def _compare(
    translator: TranslationStages, edited: EditedSentence, passage: Passage, logits_TV: Tensor
) -> Numerics:
    """Return how far the recording differs from a pass in the precision of the translation."""
    largest, differently = None, ()
    fast_TV = logits_TV
    if translator.weights.exact != "fp32":
        with (
            watch(translator.model, lambda name: False, edited.functions()) as (view, _),
            autocast(translator.weights.exact, translator.device),
        ):
            fast_TV = _pass(view, passage, translator.device)
        apart_TV = (fast_TV.log_softmax(-1) - logits_TV.log_softmax(-1)).abs()
        largest = apart_TV.max().item()
        differs_T = fast_TV.argmax(-1) != logits_TV.argmax(-1)
        differently = tuple(differs_T.nonzero().flatten().tolist())
    if passage.log_probs is not None:
        wanted_T1 = torch.tensor(passage.wanted, device=logits_TV.device)[:, None]
        own_T = logits_TV.log_softmax(-1).gather(1, wanted_T1)[:, 0]
        apart_T = (own_T.cpu() - torch.tensor(passage.log_probs)).abs()
        largest = max(largest or 0.0, apart_T.max().item())
    return Numerics(
        decoded_in=translator.weights.exact,
        recorded_in="fp32",
        device=str(translator.device),
        largest_difference=largest,
        chosen_differently=differently,
    )


def _predict(
    translator: TranslationStages, passage: Passage, logits_TV: Tensor
) -> tuple[Prediction, ...]:
    token, result = translator.tokenizers.target.token, passage.search
    drawn = result.settings if result and result.settings.search == "sample" else None
    return list_predictions(logits_TV, passage.wanted, token, drawn)


def _describe(
    translator: TranslationStages,
    edited: EditedSentence,
    source: list[Token],
    passage: Passage,
    level: Level,
    predictions: tuple[Prediction, ...],
    numerics: Numerics,
) -> Document:
    tokenizers = translator.tokenizers
    target, predicted = read_target(
        tokenizers.target, passage.written, passage.text, passage.finished
    )
    return Document(
        glassformer=__version__,
        text=edited.text,
        translation=passage.text,
        source=tuple(source),
        words=read_words(translator.searcher.tokenizers.source, source),  # with its stand-ins
        target=tuple(target),
        predicted=tuple(predicted),
        settings=translator.config.model,
        aligner=_find_aligner(translator),
        habits=list_habits(translator.weights.folder),
        wiring=record_wiring(translator.config.model),
        source_vocabulary=len(tokenizers.source),
        target_vocabulary=len(tokenizers.target),
        level=level,
        predictions=predictions,
        search=passage.search,
        **_judge(translator, edited.text, passage),
        numerics=numerics,
        edits=edited.edits,
    )


def _find_aligner(translator: TranslationStages) -> AlignmentHead | None:
    """Return the head whose choice is stored beside the weights; None if there is none."""
    folder = translator.weights.folder
    choice = load_choice(folder, translator.config) if folder else None
    return AlignmentHead(**choice.candidate._asdict()) if choice else None


def _judge(translator: TranslationStages, text: str, passage: Passage) -> dict[str, Any]:
    """Return confidence and problems of a translation that was searched for; {} if it was given."""
    if passage.search is None or passage.log_probs is None:
        return {}
    first = len(translator.reader.begin)  # a tag is not judged
    ids, log_probs = [*passage.written[first:]], [*passage.log_probs[first:]]
    tokens = [*map(translator.searcher.tokenizers.target.token, ids)]
    result = Hypothesis(ids, sum(log_probs), sum(log_probs), log_probs, passage.finished)
    own = text.rpartition("\n")[2] if translator.reader.context else text
    read = translator.reader.prepare(own)
    sentence = Sentence(own, ids=passage.source, adapted=read.adapted, aside=read.aside)
    written = spell_tokens(translator.searcher.tokenizers.target, passage.written)
    placed = translator.writer.place_aside(sentence, written)
    translation = Translation(placed, tokens, *result[1:], parts=[])
    sentence = sentence._replace(hypotheses=[result], translations=[translation])
    problems = translator.checker.check(sentence).problems
    noticed = tuple(FoundProblem(kind=each.kind, said=each.said) for each in problems)
    return {"confidence": cap_confidence(translation, problems), "problems": noticed}


def list_predictions(
    logits_TV: Tensor,
    requested: Sequence[int],
    token: Callable[[int], str],
    drawn: Decode | None = None,
) -> tuple[Prediction, ...]:
    """Return the distribution at each row, and where the token that came stands in it.

    `token` returns the text of an id. `drawn` are the settings of a search that samples: then the
    probabilities that it draws with are kept too.
    """
    log_prob_TV = logits_TV.cpu().double().log_softmax(-1)
    wanted_T1 = torch.tensor(requested)[:, None]
    own_T1 = log_prob_TV.gather(1, wanted_T1)
    best = log_prob_TV.topk(min(TOP, log_prob_TV.size(1)))
    columns = {
        "log_prob": own_T1[:, 0],
        "rank": (log_prob_TV > own_T1).sum(-1),
        "entropy": -(log_prob_TV.exp() * log_prob_TV).sum(-1),
        "ids": best.indices,
        "log_probs": best.values,
    }
    if drawn:
        draw_TV = find_draw_probabilities(log_prob_TV, drawn)
        columns["draw_prob"] = draw_TV.gather(1, wanted_T1)[:, 0]
        columns["draw_probs"] = draw_TV.gather(1, best.indices)
    return tuple(
        Prediction(texts=tuple(map(token, row["ids"])), **row) for row in _list_rows(columns)
    )


def _list_rows(columns: dict[str, Tensor]) -> list[dict[str, Any]]:
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]
