"""Find the translation that is recorded: search with a KV cache, and keep each step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from ..config import BOS, EOS, Decode
from ..decode import Fate, Hypothesis, Step, endings, search
from ..engine.conventions import count_wanted
from ..foundation.machine.device import autocast
from ..text import Tokenizer
from ..text.sentences import has_letters
from ..translate.options import Choice
from ..translate.stages import TranslationStages
from .document import FoundHypothesis, Search, SearchCandidate
from .edit import EditedSentence
from .search_networks import LogitsKeeper
from .tokens import spell_tokens
from .trace import Trace

BEAM = 2  # for a picture of a beam where the translation was found by another search
HEARD = 5  # likeliest tokens that `progress` is given at each step
Progress = Callable[[Step | None, list[tuple[int, float]]], object]


@dataclass(frozen=True)
class Passage:
    """A sentence and its translation, for one teacher-forced pass through the network."""

    source: Sequence[int]  # EOS included
    written: Sequence[int]  # without BOS and EOS, with the tag that translations begin with
    finished: bool  # False: cut at the greatest length
    text: str
    log_probs: Sequence[float] | None = None  # of each token in the search, EOS last
    search: Search | None = None

    @property
    def wanted(self) -> list[int]:
        """Return the token that each row of the decoder should predict."""
        return [*self.written, EOS] if self.finished else [*self.written]

    @property
    def given(self) -> list[int]:
        """Return the tokens that are the decoder's input: BOS, then all but the last wanted one."""
        return [BOS, *self.wanted[:-1]]


def find_passage(
    translator: TranslationStages,
    edited: EditedSentence,
    source: list[int],
    decode: Choice,
    hypothesis: int,
    target: str | Trace | None,
    seed: int,
    key: int = 0,
    progress: Progress | None = None,
) -> Passage:
    """Return the wanted hypothesis of a search, or the target if one is given.

    Sampling draws with `seed` and `key`, as `translate` does with the number of a line.
    Raises ValueError if there is no such hypothesis, or nothing to translate.
    """
    tokenizer = translator.tokenizers.target
    if target is not None:
        return _force(translator, source, target)
    if not has_letters(edited.text):
        raise ValueError("there is nothing to translate in a text without a letter or digit")
    settings, prefix = translator.config.decode.override(decode), edited.prefix
    if isinstance(prefix, str):
        reader = translator.reader
        (prefix,) = reader.encode_prefixes([reader.prepare_last(edited.text)], [prefix])
    forced = _begin(translator, [*prefix])
    steps = _search(translator, edited, source, settings, forced, hypothesis, seed, key, progress)
    passage = _rank(steps, translator.reader.begin, settings)
    if not 0 <= hypothesis < len(passage):
        raise ValueError(
            f"hypothesis={hypothesis}: {len(passage)} ended, 0 to {len(passage) - 1}; "
            f"search=beam with beam={max(hypothesis, 1) + 1} finds more"
        )
    chosen = passage[hypothesis]
    return Passage(
        source,
        chosen.tokens,
        chosen.finished,
        spell_tokens(tokenizer, chosen.tokens),
        chosen.token_log_probs,
        Search(
            settings=settings,
            seed=seed,
            prefix=len(forced),
            hypotheses=tuple(_describe(tokenizer, each) for each in passage),
            chosen=hypothesis,
            steps=tuple(_replay(tokenizer, step) for step in steps),
        ),
    )


def search_with_beam(
    translator: TranslationStages, edited: EditedSentence, source: Sequence[int], settings: Decode
) -> Search:
    """Search with a beam of 2; length, stopping and repeated n-grams are as in `settings`."""
    plain = Decode(search="beam", beam=BEAM)
    kept = {
        "length_penalty",
        "alpha",
        "stop",
        "max_ratio",
        "max_extra",
        "min_length",
        "no_repeat_ngram_size",
        "repetition_penalty",
    }
    decode = plain.model_copy(update={name: getattr(settings, name) for name in kept})
    with torch.inference_mode():
        result = find_passage(translator, edited, [*source], decode, 0, None, 0).search
    assert result is not None, "without a target there is a search"
    return result


def _search(
    translator: TranslationStages,
    edited: EditedSentence,
    source: list[int],
    settings: Decode,
    forced: list[int],
    hypothesis: int,
    seed: int,
    key: int,
    progress: Progress | None,
) -> list[Step]:
    """Return the steps of a search.

    If it ends with too few finished hypotheses, the search is run again for as many as needed.
    """
    most = settings.beam if settings.search == "beam" else 1
    with autocast(translator.weights.exact, translator.device), edited.network() as network:
        heard = LogitsKeeper(network, HEARD, settings) if progress else None
        begin = translator.reader.begin
        for number in (count_wanted(1, begin, settings), hypothesis + 1):
            steps = list[Step]()
            search(
                heard or network,
                [source],
                settings,
                n_best=number,
                prefixes=[forced],
                lengths=translator.reader.count_lengths([source]),
                lines=[key],
                seed=seed,
                longest=translator.reader.longest,
                device=translator.device,
                watch=_keep(steps, heard, progress),
            )
            if not len(_rank(steps, begin, settings)) <= hypothesis < most:
                break
    return steps


def _rank(steps: list[Step], begin: Sequence[int], settings: Decode) -> list[Hypothesis]:
    """Return all hypotheses that ended, the best first, and those cut at the length limit last.

    Their scores are without the tag that all begin with, as everywhere.
    """
    ended = [each for step in steps for _, each in endings(step)]
    scores = (each.drop_first(len(begin), settings).score for each in ended)
    ended = [each._replace(score=score) for each, score in zip(ended, scores, strict=True)]
    return sorted(ended, key=lambda each: (not each.finished, -each.score))


def _keep(
    steps: list[Step], heard: LogitsKeeper | None, progress: Progress | None
) -> Callable[[list[int], Step], object]:
    def watch(_: list[int], step: Step) -> None:
        steps.append(step)
        if progress and heard:
            progress(step, heard.candidates(step))

    return watch


def _begin(translator: TranslationStages, ids: list[int]) -> list[int]:
    """Return the ids of a translation with the tag that all begin with, if the model has one."""
    first = len(translator.reader.begin)
    return ids if ids[:first] == translator.reader.begin else [*translator.reader.begin, *ids]


def _force(translator: TranslationStages, source: list[int], target: str | Trace) -> Passage:
    """Return a passage with a given translation: a text, or the tokens of another trace."""
    tokenizer = translator.tokenizers.target
    if isinstance(target, str):
        written, finished = _begin(translator, tokenizer.encode(target)), True
    else:
        written, finished = [token.id for token in target.predicted], False
        if written[-1] == EOS:
            written, finished = written[:-1], True
    most = translator.config.model.positions.max_positions
    if len(written) + finished > most:
        raise ValueError(
            f"the target is {len(written) + finished} tokens long, but this model has "
            f"{most} positions (model.positions.max_positions)"
        )
    return Passage(source, written, finished, spell_tokens(tokenizer, written))


def _describe(tokenizer: Tokenizer, hypothesis: Hypothesis) -> FoundHypothesis:
    return FoundHypothesis(
        ids=tuple(hypothesis.tokens),
        text=spell_tokens(tokenizer, hypothesis.tokens),
        log_prob=hypothesis.log_prob,
        score=hypothesis.score,
        finished=hypothesis.finished,
    )


def _replay(tokenizer: Tokenizer, step: Step) -> tuple[SearchCandidate, ...]:
    """Return the candidates of one step; the k-th that is KEPT is row k of the next."""
    texts, row = [], 0
    for candidate in step.candidates(0):
        lives = candidate.fate is Fate.KEPT
        texts.append(
            SearchCandidate(
                parent=candidate.parent,
                row=row if lives else None,
                id=candidate.token,
                text=tokenizer.token(candidate.token),
                token_log_prob=candidate.token_log_prob,
                log_prob=candidate.log_prob,
                score=candidate.score,
                fate=candidate.fate.name,
                why=candidate.fate.value,
            )
        )
        row += lives
    return tuple(texts)
