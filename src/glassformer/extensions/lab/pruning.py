"""Pruning: a smaller model made of one, without the heads and the neurons that matter least.

Voita et al. (2019) and Michel et al. (2019) found that most heads of a trained Transformer can be
taken out. Here each attention keeps as many heads, and each feed-forward network as many neurons,
so that the smaller model is an ordinary one: every engine runs it, and a training goes on from it.

Letters: B sentences; L positions; F neurons, the inner width of a feed-forward network; D model
width.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glassformer.config import Config
from glassformer.foundation.plurals import tell_count
from glassformer.model.files.directory import WEIGHTS, locate, save_model
from glassformer.model.files.known_words import copy_known_words
from glassformer.text import PAD
from glassformer.train.publish.card import hash_file, hash_files, read_facts, write_card
from glassformer.train.publish.golden import write_golden
from glassformer.translate.align.choose_head import find_guided_layer
from glassformer.translator import Translator

from .heads import TranslatedBatch, measure_portraits, read_batches

NEURONS = ".hidden"  # the tensor of a feed-forward network with a number for each neuron
# The matrices of a block of which heads or neurons are rows, and those of which they are columns.
ROWS, COLUMNS = ("to_query", "to_key", "to_value", "inner", "gate"), ("to_output", "outer")
FACTS = ("language", "network", "pairs", "data", "parent", "initial", "versions")  # that stay true


@dataclass(frozen=True)
class PrunedModel:
    """A pruned model: what it kept, and how probable the whole one's translations are to both."""

    kept: dict[str, list[int]]  # by block: heads or neurons, numbered as they were
    parameters: tuple[int, int]
    loss: tuple[float, float]  # mean -ln p of a token that the whole model writes

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def prune(
    model: Path | str,
    texts: Sequence[str],
    out: Path | str,
    *,
    heads: int | None = None,
    d_ff: int | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> PrunedModel:
    """Write a model directory with so many heads an attention, and neurons a feed-forward network.

    Of each attention those heads stay without which the loss on these sentences would rise most,
    each silenced alone; of each feed-forward network the neurons that add the longest vectors: the
    mean of |h| over the positions times the length of the neuron's column in W2. The loss is that
    of the model's own translations. `progress` is called before each pass, with how many there were
    and how many there will be. ValueError if there is nothing to take out, if the network is none
    that can be pruned, or if `out` holds a model.
    """
    out, folder = Path(out), locate(model)
    if (out / WEIGHTS).exists():
        raise ValueError(f"{out} holds a model already: choose another --out")
    translator = Translator.load(model, precision="fp32")
    changed = _choose_config(translator.config, heads, d_ff)
    batches = [*read_batches(translator, texts)]
    kept = dict[str, list[int]]()
    state = {name: x.cpu() for name, x in translator.model.state_dict().items()}
    passes, total = count(), len(batches) * count_reads(translator.config, heads, d_ff)

    def check() -> None:
        progress(next(passes), total)

    if heads is not None:
        result = measure_portraits(translator, texts, check=check)["blocks"]
        losses = {name: [each["loss"] for each in block["heads"]] for name, block in result.items()}
        kept |= {name: _keep_largest(rises, heads) for name, rises in losses.items()}
    if d_ff is not None:
        added = _measure_neurons(state, batches, check)
        kept |= {name: _keep_largest(lengths, d_ff) for name, lengths in added.items()}
    width = translator.config.model.width
    smaller = {name: _take(name, each, kept, width) for name, each in state.items()}
    save_model(out, _renumber_guided_head(changed, kept), translator.tokenizers, smaller)
    write_golden(out, texts)
    copy_known_words(folder, out)
    both = translator, Translator.load(out, precision="fp32")
    parameters = [sum(p.numel() for p in each.model.parameters()) for each in both]
    before, after = (_measure_loss(batches, each) for each in both)
    pruned = PrunedModel(kept, (parameters[0], parameters[1]), (before, after))
    _write_card(folder, out, pruned, len(texts))
    return pruned


def count_reads(config: Config, heads: int | None, d_ff: int | None) -> int:
    """Return how often each batch is read: for each head once without it, and once for the rest."""
    attentions = config.model.encoder_layers + 2 * config.model.decoder_layers
    return (heads is not None) * (1 + attentions * config.model.heads) + (d_ff is not None)


def _choose_config(config: Config, heads: int | None, d_ff: int | None) -> Config:
    """Return the settings of the smaller model. ValueError if it cannot be, or is no smaller."""
    model = config.model
    if model.network != "transformer":
        raise ValueError(f"network={model.network}: only a translation Transformer can be pruned")
    if heads is None and d_ff is None:
        raise ValueError("say what is to be left: heads or d_ff")
    for name, number, there in (("heads", heads, model.heads), ("d_ff", d_ff, model.d_ff)):
        if number is not None and not 1 <= number < there:
            raise ValueError(f"{name}={number}: the model has {there}; give 1 to {there - 1}")
    if heads is not None and model.positions.layout in ("alibi", "relative"):
        raise ValueError(f"positions.layout={model.positions.layout}: its heads differ by number")
    if heads is not None and model.key_value_heads is not None:
        raise ValueError("key_value_heads: its heads share keys and values")
    sizes = {"heads": heads, "head_width": model.width} if heads is not None else {}
    return config.changed(model={**sizes, **({"d_ff": d_ff} if d_ff is not None else {})})


def _renumber_guided_head(config: Config, kept: Mapping[str, list[int]]) -> Config:
    """Return the settings with the new number of a guided head; if it is gone, none is guided."""
    train = config.train
    layer = find_guided_layer(config.model, train)
    heads = kept.get(f"decoder.{layer}.cross_attention")
    if not train.alignment_weight or heads is None:
        return config
    head = train.alignment_head
    if head in heads:
        return config.changed(train={"alignment_head": heads.index(head)})
    names = ("alignment_weight", "alignment_layer", "alignment_head")
    return config.changed(train=dict.fromkeys(names))


def _keep_largest(values: Sequence[float], count: int) -> list[int]:
    """Return the places of the largest values, in ascending order; of equal ones the first."""
    return sorted(sorted(range(len(values)), key=lambda place: -values[place])[:count])


def _measure_neurons(
    state: Mapping[str, Tensor], batches: Sequence[TranslatedBatch], check: Callable[[], object]
) -> dict[str, list[float]]:
    """Return the length of what each neuron adds, by block: a sum over all positions."""
    sums = dict[str, Tensor]()
    for batch in batches:
        check()
        for name, hidden_BLF in batch.run({}, NEURONS)[0].items():
            ids_BL = batch.source_BS if name.startswith("encoder") else batch.given_BT
            size_F = hidden_BLF.abs()[ids_BL != PAD].sum(0)
            sums[name] = sums[name] + size_F if name in sums else size_F
    return {
        name: (size_F * state[f"{name}.outer.weight"].norm(dim=0)).tolist()
        for name, size_F in sums.items()
    }


def _take(name: str, tensor: Tensor, kept: Mapping[str, list[int]], width: int) -> Tensor:
    """Return the part of a tensor that belongs to what is kept of its block.

    width: of a head; a neuron is one wide.
    """
    path, _, kind = name.rpartition(".")
    block, _, matrix = path.rpartition(".")
    is_column = matrix in COLUMNS and kind == "weight"
    if block not in kept or not (matrix in ROWS or is_column):
        return tensor
    width = width if matrix.startswith("to_") else 1
    places = [at * width + i for at in kept[block] for i in range(width)]
    return tensor.index_select(int(is_column), torch.tensor(places))


def _measure_loss(batches: Sequence[TranslatedBatch], translator: Translator) -> float:
    """Return the mean -ln p of the tokens of these batches by a model."""
    total, tokens = 0.0, 0
    for batch in batches:
        batch.translator = translator
        total += batch.loss(batch.run({}, None)[1])
        tokens += int(batch.is_token_BT.sum())
    return total / tokens


def _write_card(folder: Path, out: Path, pruned: PrunedModel, sentences: int) -> None:
    """Write the model card: what still holds of the whole model's facts, and what was taken out."""
    facts = {name: value for name, value in read_facts(folder).items() if name in FACTS}
    facts |= {"parameters": pruned.parameters[1], "sha256": hash_files(out)}
    heads = {name: each for name, each in pruned.kept.items() if not name.endswith("feed_forward")}
    lines = "".join(
        f"- {name}: heads {', '.join(map(str, each))}\n" for name, each in heads.items()
    )
    before, after = pruned.loss
    text = f"""# Model card

Pruned from {folder.resolve().name} (weights sha256 {hash_file(folder / WEIGHTS)}), which has
{pruned.parameters[0]:,} parameters; {pruned.parameters[1]:,} are left. Chosen on
{tell_count(sentences, "sentence")}. Not trained since, and not scored: a token that the whole model
writes there has a mean -ln p of {before:.3f} by it, and of {after:.3f} by this one.

{lines}
Mind the licence of the data: the weights were made from it.
"""
    write_card(out, facts, text)
