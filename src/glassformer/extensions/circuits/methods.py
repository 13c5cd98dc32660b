"""Ask other methods for the source of a word, and try what the network writes without it.

Each method gives a number to each word of the source. Whether the word with the largest one matters
is not a matter of opinion: the word is cut, and the network runs again. Cut *from the decoder*, its
positions are hidden from cross-attention, as the edit `cut` does; cut *everywhere*, also from the
encoder's self-attention, as if they were padding.

Letters: B words that are cut; H heads; S source positions; M keys; D model width; V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glassformer.foundation.tap import Edit, record
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.see.derive import group_words
from glassformer.see.trace import Trace

from .edges import WordContrast, check_edges
from .lenses import TunedLens, ask_encoder, find_first, list_states, read_final
from .mixing import (
    Kept,
    keep_windows,
    list_alti,
    list_zeroed,
    roll_out_shares,
    scale_as_norm,
    split_attention,
)
from .why import spell_group
from .words import OtherStep, WordChoice, load_network


class MethodAnswer(NamedTuple):
    """The answer of one method: a number for each word of the source."""

    method: str
    scores: tuple[float, ...]
    from_source: float | None = None  # the share of the whole source, where a method tells it

    @property
    def named(self) -> int:
        """Return the word that speaks most for the target word."""
        return max(range(len(self.scores)), key=self.scores.__getitem__)

    @property
    def share(self) -> float:
        """Return the named word's part of all words' amounts."""
        return abs(self.scores[self.named]) / (sum(map(abs, self.scores)) or 1.0)


class CutTrial(NamedTuple):
    """The token that the network writes at the target word's step with one source word cut."""

    word: str
    decoder: str  # cut from the decoder
    everywhere: str
    decoder_changed: bool  # whether that is another token than without a cut
    everywhere_changed: bool


@dataclass(frozen=True)
class MethodTable:
    """The answers of all methods for one word, and a trial of each source word."""

    trace: Trace
    asked: WordChoice
    plain: str  # what the network writes there with nothing cut
    first_layer: int | None  # from which on the logit lens shows the word; None: from none
    first_encoder: int | None  # the same of the encoder lens
    answers: tuple[MethodAnswer, ...]
    trials: tuple[CutTrial, ...]  # by word
    first_tuned: int | None = None  # the same of the tuned lens
    lens: TunedLens | None = None
    elsewhere: str | None = None  # the translation in which the rival stands, if it is another

    def to_json(self) -> dict[str, Any]:
        """Return all numbers."""
        rows = []
        for each in self.answers:
            numbers = {"named": self.trials[each.named].word, "share": each.share}
            rows.append(each._asdict() | numbers | {"named_at": each.named})
        return {
            **self.asked.describe(self.trace),
            "plain": self.plain,
            "first_layer": self.first_layer,
            "first_encoder": self.first_encoder,
            "first_tuned": self.first_tuned,
            "lens": self.lens and self.lens.to_json(),
            "elsewhere": self.elsewhere,
            "methods": rows,
            "words": [each._asdict() for each in self.trials],
        }


def load_precise(trace: Trace) -> EncoderDecoder:
    """Return the recorded network in double precision; ValueError if it is no whole Transformer."""
    network = load_network(trace).cpu().double()
    check_edges(network)
    return network


def compare_methods(
    trace: Trace,
    asked: WordChoice,
    lens: TunedLens | None = None,
    other: OtherStep | None = None,
) -> MethodTable:
    """Return which source word each method names for a word of a recorded translation.

    lens: a tuned lens of the same network, in double precision. other: where the rival stands, if
    that is another translation; the contrastive methods then compare the word there and here.
    Raises ValueError for a network that is no whole Transformer, or a source of one word.
    """
    network = load_precise(trace)
    contrast, words = asked.contrast, _list_words(trace)
    kept = keep_windows(network, contrast)
    whole_V = kept["logits"][0][0, -1].log_softmax(-1)
    rival = other and other.contrast
    decoder_BV, everywhere_BV = (
        run_with_cuts(network, contrast, words, everywhere=each) for each in (False, True)
    )
    encoder, first_encoder = ask_encoder(network, contrast, kept, words)
    answers = [
        *_ask_all(network, contrast, kept, words, lens=lens, rival=rival),
        MethodAnswer("encoder lens", encoder),
        *_list_erasures(network, contrast, whole_V, decoder_BV, words, rival),
    ]
    best, states = int(whole_V.argmax()), [x[-1] for x in list_states(network, kept)]
    trials = []
    for group, *ids in zip(words, decoder_BV.argmax(-1), everywhere_BV.argmax(-1), strict=True):
        word = spell_group(trace.text, trace.source, group)
        cut, everywhere = (_name(trace, asked, int(id)) for id in ids)
        trials.append(CutTrial(word, cut, everywhere, *(int(id) != best for id in ids)))
    return MethodTable(
        trace,
        asked,
        _name(trace, asked, best),
        _find_layer(network, states, contrast.answers[0]),
        first_encoder,
        tuple(answers),
        tuple(trials),
        _find_layer(network, lens.map_all(states), contrast.answers[0]) if lens else None,
        lens,
        other and other.translation,
    )


def _list_words(trace: Trace) -> list[list[int]]:
    """Return the tokens of each source word; ValueError if there is only one."""
    words = [each for each in group_words(trace.source, trace.text) if _is_written(trace, each)]
    if len(words) < 2:
        raise ValueError("the source has one word: there is no other that a method could name")
    return words


def _find_layer(network: EncoderDecoder, states: Sequence[Tensor], word: int) -> int | None:
    """Return the decoder layer from which on a lens shows the word as the likeliest."""
    return find_first([read_final(network, y_D[None])[0] for y_D in states], word)


def _list_erasures(
    network: EncoderDecoder,
    contrast: WordContrast,
    whole_V: Tensor,
    cut_BV: Tensor,
    words: Sequence[Sequence[int]],
    rival: WordContrast | None = None,
) -> tuple[MethodAnswer, ...]:
    """Return by how much ln p(word), and the word's lead, fall when a source word is cut."""
    word, other = contrast.answers
    fall_B = whole_V[word] - cut_BV[:, word]
    if rival is None:
        rival_B = whole_V[other] - cut_BV[:, other]
    else:
        there_V = keep_windows(network, rival)["logits"][0][0, -1].log_softmax(-1)
        rival_B = there_V[other] - run_with_cuts(network, rival, words, everywhere=False)[:, other]
    return (
        MethodAnswer("erasure", tuple(fall_B.tolist())),
        MethodAnswer("contrastive erasure", tuple((fall_B - rival_B).tolist())),
    )


def _is_written(trace: Trace, group: Sequence[int]) -> bool:
    return any(trace.source[at].start < trace.source[at].end for at in group)


def _name(trace: Trace, asked: WordChoice, id: int) -> str:
    if trace.vocabulary is None:
        return dict(zip(asked.contrast.answers, (asked.word, asked.rival), strict=True)).get(
            id, f"token {id}"
        )
    return trace.vocabulary[id]


def _ask_all(
    network: EncoderDecoder,
    contrast: WordContrast,
    kept: Kept,
    words: Sequence[Sequence[int]],
    *,
    lens: TunedLens | None = None,
    rival: WordContrast | None = None,
) -> list[MethodAnswer]:
    """Return the answers of the methods that cut nothing."""

    def by_word(scores_S: Tensor) -> tuple[float, ...]:
        return tuple(float(scores_S[list(each)].sum()) for each in words)

    gradient_S, contrastive_S = attribute_inputs(network, contrast)
    if rival is not None:
        contrastive_S = gradient_S - attribute_inputs(network, rival)[0]
    answers = [MethodAnswer("attention", by_word(average_attention(kept)))]
    if network.settings.decoder != "ssru":  # whose state mixes positions without attention
        zeroed = roll_out_shares(*list_zeroed(network, contrast))
        mixed = roll_out_shares(*list_alti(network, kept))
        answers.append(MethodAnswer("value zeroing", by_word(zeroed.source_S)))
        answers.append(MethodAnswer("ALTI+", by_word(mixed.source_S), float(mixed.source_S.sum())))
    answers.append(MethodAnswer("logit lens", by_word(read_written(network, contrast, kept))))
    if lens:
        tuned_S = read_written(network, contrast, kept, lens)
        answers.append(MethodAnswer("tuned lens", by_word(tuned_S)))
    return [
        *answers,
        MethodAnswer("gradient × input", by_word(gradient_S)),
        MethodAnswer("contrastive gradient", by_word(contrastive_S)),
    ]


def average_attention(kept: Kept) -> Tensor:
    """Return the cross-attention of the last row, the mean of all layers and heads, S."""
    names = [name for name in kept if name.endswith("cross_attention.weights")]
    return torch.stack([kept[name][0][0, :, -1].mean(0) for name in names]).mean(0)


def read_written(
    network: EncoderDecoder, contrast: WordContrast, kept: Kept, lens: TunedLens | None = None
) -> Tensor:
    """Return the logit lens on what cross-attention writes of each source position, S.

    In each layer that vector passes the norm, with its scale held, as if the layer were the last
    (nostalgebraist 2020), or as a tuned lens foretells; what it adds to the word's logit less its
    rival's is summed over layers.
    """
    word, rival = contrast.answers
    direction_D = network.output_table.weight[word] - network.output_table.weight[rival]
    total_S = torch.zeros(len(contrast.source), dtype=direction_D.dtype)
    for n in range(network.settings.decoder_layers):
        block = f"decoder.{n}.cross_attention"
        parts_MD = split_attention(network, kept, block)[0][-1]
        whole_D = kept[f"{block}_residual.sum"][0][0, -1]
        if lens:
            parts_MD, whole_D = parts_MD @ lens.maps[n].weight_DD, lens.maps[n].apply(whole_D)
        if network.settings.norm == "pre":
            parts_MD = scale_as_norm(network.get_submodule("decoder_norm"), parts_MD, whole_D)
        total_S += parts_MD @ direction_D
    return total_S


def attribute_inputs(network: EncoderDecoder, contrast: WordContrast) -> tuple[Tensor, Tensor]:
    """Return gradient × input of ln p(word), and of the word's logit less its rival's, S each.

    The second is contrastive (Yin and Neubig 2022, "Interpreting Language Models with Contrastive
    Explanations").
    """
    held: list[Tensor] = []

    def edit(words_BLD: Tensor) -> Tensor:
        held.append(words_BLD.detach().requires_grad_())
        return held[0]

    edits = {"source_embedding.embedded": edit}
    with torch.enable_grad(), record(network, lambda name: False, edits) as (view, _):
        log_prob_V = view(torch.tensor([contrast.source]), torch.tensor([contrast.given]))[0, -1]
        log_prob_V = log_prob_V.log_softmax(-1)
        word, rival = (log_prob_V[id] for id in contrast.answers)
        grads = [torch.autograd.grad(x, held, retain_graph=True)[0] for x in (word, word - rival)]
    of_word, of_lead = ((grad_BLD * held[0].detach()).sum(-1)[0] for grad_BLD in grads)
    return of_word, of_lead


def run_with_cuts(
    network: EncoderDecoder,
    contrast: WordContrast,
    words: Sequence[Sequence[int]],
    *,
    everywhere: bool,
) -> Tensor:
    """Return the log-probabilities of the step, B V, with each word cut in a copy of its own."""
    settings = network.settings
    names = [f"decoder.{n}.cross_attention" for n in range(settings.decoder_layers)]
    if everywhere:
        names += [f"encoder.{n}.self_attention" for n in range(settings.encoder_layers)]
    edits: dict[str, Edit] = {f"{name}.mask": _hide_own(words) for name in names}
    sides = (
        torch.tensor([ids]).expand(len(words), -1) for ids in (contrast.source, contrast.given)
    )
    with torch.no_grad(), record(network, lambda name: False, edits) as (view, _):
        logits_BV: Tensor = view(*sides)[:, -1]
    return logits_BV.log_softmax(-1)


def _hide_own(words: Sequence[Sequence[int]]) -> Callable[[Tensor], Tensor]:
    """Return an edit that hides word b from copy b."""

    def edit(mask: Tensor) -> Tensor:
        changed = mask.expand(len(words), -1, -1, -1).clone()
        for copy, group in enumerate(words):
            changed[copy, ..., list(group)] = False
        return changed

    return edit
