"""Export of a student as browsers ship it: int8 weights with alphas, vocabularies, short-list.

Firefox, Bergamot and translateLocally run it: a post-norm Transformer with SSRU layers in the
decoder, whose products are in int8. An alpha is the fixed number by which the other factor of a
product is multiplied before it is rounded; it is measured on text, as Bogoychev et al. (2020)
describe: 127 divided by the mean of the largest numbers of sentences and 1.1 times their deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.config import Config, Model
from glassformer.engine.shortlist import IDS, STARTS
from glassformer.extensions.foreign_tokenizers.imported import UNKNOWN
from glassformer.extensions.foreign_tokenizers.sentencepiece import UNUSED, ModelToken
from glassformer.extensions.foreign_tokenizers.sentencepiece_writer import (
    list_model_tokens,
    spell_model,
)
from glassformer.foundation.disk import check_new, prepare_beside, write_bytes
from glassformer.model.files.directory import (
    SHORTLIST,
    WEIGHTS,
    Tokenizers,
    locate,
    write_text,
)
from glassformer.model.files.weights_file import WeightsFile
from glassformer.model.transformer import Transformer
from glassformer.text import Tokenizer

from .exporting import open_plain, order_dimensions, refuse_tag, reorder
from .foreign import LAYER, NEVER
from .marian_bin import MarianFile, quantize_matrix, write_tensors
from .marian_export import (
    check_computable,
    check_start,
    describe_for_marian,
    make_bias,
    rename,
)
from .marian_lex import write_lex
from .marian_npz import SETTINGS
from .parity import Rows, choose_by_parity, score_tokens, translate_with

COLUMNS = 8  # a vocabulary has a multiple of it
WIDTHS = 64  # d_model and d_ff are multiples of it: what kernels of every processor can multiply
LOGITS = "logits"  # the name of the product with the table
DEVIATIONS = 1.1
FARTHEST = 0.1  # nats a token by which int8 may change the log-probabilities, on average

Alphas = dict[str, float]


@dataclass(frozen=True)
class StudentExport:
    """The files of an export, and how int8 changes the translations of the text it was given."""

    files: tuple[str, ...]
    sentences: int
    same: int  # translated greedily, alphas and int8 weights as in the file, as by our fp32
    difference: float  # of the log-probability of a token, on average, in nats

    def __str__(self) -> str:
        return (
            f"{', '.join(self.files)}; with its int8, {self.same} of {self.sentences} greedy "
            f"translations are those of fp32, and the log-probability of a token differs by "
            f"{self.difference:.2g} nats"
        )


def export_student(
    model: Path | str,
    out: Path,
    *,
    texts: Sequence[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> StudentExport:
    """Write the files of a student to the new folder `out`.

    texts: sentences in the language of the sources, of which the first 200 say how large numbers
    become. ValueError, in one sentence, for a model that browsers compute otherwise, for no texts,
    and where int8 changes the model too much.
    """
    check_new(out)
    if not texts:
        raise ValueError("marian-bin needs --source FILE: text to measure the size of numbers on")
    config, tokenizers, network = open_plain(model, "a browser's engine", ("decoder=ssru",))
    refuse_tag(model, config, "a browser's engine")
    _check(model, config.model, network)
    sources = choose_by_parity(config, tokenizers.source, texts)
    targets = translate_with(network, sources, "greedy", progress)
    wanted = score_tokens(network, sources, targets)
    alphas = _measure_alphas(network, sources, targets)
    multipliers = _read_multipliers(locate(model) / WEIGHTS)
    file = _convert(config.model, network, tokenizers, alphas, multipliers)
    with _quantized(network, alphas, multipliers):
        found = translate_with(network, sources, "greedy", progress)
        scores = score_tokens(network, sources, targets)
    apart = [
        abs(a - b) for pair in zip(wanted, scores, strict=True) for a, b in zip(*pair, strict=True)
    ]
    difference = sum(apart) / len(apart)
    if not difference <= FARTHEST:
        raise ValueError(
            f"not exported: in int8, log-probabilities differ by {difference:.2g} nats on average, "
            f"more than {FARTHEST}"
        )
    files = _write(out, model, config, tokenizers, file)
    same = sum(a == b for a, b in zip(targets, found, strict=True))
    return StudentExport(files, len(sources), same, difference)


def _check(model: Path | str, settings: Model, network: Transformer) -> None:
    """Raise ValueError for what a browser's engine does not compute as we do."""
    check_computable(model, settings)
    wanted = {
        "model.decoder": (settings.decoder, "ssru"),
        "model.activation": (settings.activation, "relu"),
    }
    for name, (found, needed) in wanted.items():
        if found != needed:
            raise ValueError(f"{model} has {name}={found}: browsers have {needed}")
    if settings.tie == "none":
        raise ValueError(f"{model} has model.tie=none: browsers have three-way or two-way")
    for name in ("d_model", "d_ff"):
        if getattr(settings, name) % WIDTHS:
            raise ValueError(
                f"{model} has model.{name}={getattr(settings, name)}: browsers multiply matrices "
                f"whose sides are multiples of {WIDTHS}"
            )
    check_start(model, settings, network)


def _list_products(network: Transformer) -> dict[str, nn.Linear]:
    """Return the linear maps of the layers by their names."""
    return {
        name: module for name, module in network.named_modules() if isinstance(module, nn.Linear)
    }


def _measure_alphas(network: Transformer, sources: Rows, targets: Rows) -> Alphas:
    """Return the alpha of each product, from what it is given when these pairs are scored."""
    largest = dict[str, list[float]]()

    def keep(name: str, x: Tensor) -> None:
        largest.setdefault(name, []).append(float(x.abs().max()))

    with _intercept(network, keep):
        for source, target in zip(sources, targets, strict=True):
            score_tokens(network, [source], [target])
    return {name: _choose_alpha(found) for name, found in largest.items()}


def _choose_alpha(largest: Sequence[float]) -> float:
    usual = float(np.mean(largest)) + DEVIATIONS * float(np.std(largest))
    return 127 / max(usual, 1e-9)


@contextmanager
def _intercept(
    network: Transformer, change: Callable[[str, Tensor], Tensor | None]
) -> Iterator[None]:
    """Show `change` what each product is given, by its name; what it returns is taken instead."""
    handles = [
        module.register_forward_pre_hook(partial(_change_input, change, name))
        for name, module in _list_products(network).items()
    ]
    last = network.decoder_norm.register_forward_hook(lambda _, __, y: change(LOGITS, y))
    try:
        yield
    finally:
        for handle in (*handles, last):
            handle.remove()


def _change_input(
    change: Callable[[str, Tensor], Tensor | None], name: str, _: nn.Module, given: tuple[Any, ...]
) -> Tensor | None:
    return change(name, given[0])


@contextmanager
def _quantized(
    network: Transformer, alphas: Alphas, multipliers: dict[str, float]
) -> Iterator[None]:
    """Let a network compute with the numbers of the file, but for the limits of its sums."""
    kept = {name: each.clone() for name, each in network.state_dict().items()}
    names = {f"{name}.weight" for name in _list_products(network)} | set(_list_tables(network))
    changed = {name: _round(kept[name], multipliers.get(name)) for name in names}
    network.load_state_dict({**kept, **changed})

    def quantize(name: str, x: Tensor) -> Tensor:
        return (x * alphas[name]).round().clamp(-127, 127) / alphas[name]

    try:
        with _intercept(network, quantize):
            yield
    finally:
        network.load_state_dict(kept)


def _list_tables(network: Transformer) -> tuple[str, ...]:
    tables = "source_embedding.table", "target_embedding.table", "output_table"
    return tuple(f"{name}.weight" for name in tables)


def _round(weights: Tensor, multiplier: float | None) -> Tensor:
    """Return the weights as int8 stores them."""
    return torch.from_numpy(quantize_matrix(weights.cpu().numpy(), 1, multiplier).to_fp32())


def _read_multipliers(path: Path) -> dict[str, float]:
    """Return by what the int8 matrices of a weights file were multiplied, if by one number."""
    file, found = WeightsFile(path, in_memory=True), dict[str, float]()
    for name, each in file.tensors.items():
        scales = None if each.scale is None else each.scale.data
        if scales is not None and (scales == scales[0]).all():
            found[name] = float(1 / scales[0])
    return found


def _convert(
    settings: Model,
    network: Transformer,
    tokenizers: Tokenizers,
    alphas: Alphas,
    multipliers: dict[str, float],
) -> MarianFile:
    """Return the tensors under Marian's names, the matrices in int8."""
    order, plain, quantized = order_dimensions(settings), dict[str, Any](), dict[str, Any]()
    for name, weight in network.state_dict().items():
        if LAYER.fullmatch(name):
            array = reorder(name, weight, order).float().cpu().numpy()
            module, theirs = name.rpartition(".")[0], rename(name)
            if array.ndim == 2:
                multiplier = multipliers.get(name)
                quantized[theirs] = quantize_matrix(array.T, alphas[module], multiplier)
            else:
                plain[theirs] = array[None]
    sizes = tuple(_count_rows(each) for each in (tokenizers.source, tokenizers.target))
    sides: list[tuple[str, str, float | None]] = [("target", "Wemb", alphas[LOGITS])]
    if settings.tie != "three-way":
        sides = [("source", "encoder_Wemb", None), ("target", "decoder_Wemb", alphas[LOGITS])]
    for side, theirs, alpha in sides:
        name, tokenizer = f"{side}_embedding.table.weight", getattr(tokenizers, side)
        table = network.get_parameter(name).detach()[:, order].cpu()
        table = nn.functional.pad(table, (0, 0, 0, _count_rows(tokenizer) - len(table)))
        quantized[theirs] = quantize_matrix(table.numpy(), alpha, multipliers.get(name))
    bias = make_bias(network, tokenizers.target)
    more = (0, 0), (0, sizes[1] - bias.size)
    plain["decoder_ff_logit_out_b"] = np.pad(bias, more, constant_values=NEVER)
    plain[SETTINGS] = describe_for_marian(settings, {*plain, *quantized}, sizes)
    return MarianFile(plain, quantized)


def _count_rows(tokenizer: Tokenizer) -> int:
    """Return the size of a vocabulary with what is unknown, filled up to a multiple of COLUMNS."""
    size = len(tokenizer) + (UNKNOWN not in tokenizer.vocabulary)
    return size + -size % COLUMNS


def _write(
    out: Path, model: Path | str, config: Config, tokenizers: Tokenizers, file: MarianFile
) -> tuple[str, ...]:
    """Write the folder as browsers have it; return the names of its files."""
    pair = f"{config.data.source_lang or ''}{config.data.target_lang or ''}"
    dotted = f".{pair}" if pair.isalnum() else ""
    weights, lex = f"model{dotted}.intgemm.alphas.bin", f"lex.50.50{dotted}.s2t.bin"
    shortlist = locate(model) / SHORTLIST
    with prepare_beside(out) as scratch:
        folder = scratch / "student"
        folder.mkdir()
        names = _write_vocabularies(folder, tokenizers, dotted)
        write_tensors(folder / weights, file)
        if shortlist.is_file():
            *rows, common = _read_rows(shortlist)
            rows += [common[:0]] * (_count_rows(tokenizers.source) - len(rows))
            write_lex(folder / lex, [*rows, common])
        listed = (lex,) if shortlist.is_file() else ()
        write_text(folder / "config.yml", _spell_run(weights, names, listed))
        folder.rename(out)
    return tuple(dict.fromkeys((weights, *names, *listed, "config.yml")))


def _write_vocabularies(folder: Path, tokenizers: Tokenizers, dotted: str) -> tuple[str, str]:
    """Write one vocabulary for both sides, or two; return their names."""
    both = tokenizers.source, tokenizers.target
    sides = ("", "") if tokenizers.is_shared else ("src", "trg")
    names = f"{sides[0]}vocab{dotted}.spm", f"{sides[1]}vocab{dotted}.spm"
    for name, tokenizer in zip(names, both, strict=True):
        tokens = list_model_tokens(tokenizer)
        rest = range(-len(tokens) % COLUMNS)
        tokens += [ModelToken(f"<unused{n}>", 0.0, UNUSED) for n in rest]
        write_bytes(folder / name, spell_model(tokens, tokenizer))
    return names


def _read_rows(path: Path) -> list[Any]:
    """Return the candidates of each source id, and last those of any sentence."""
    file = WeightsFile(path, in_memory=True)
    return np.split(file[IDS].data, file[STARTS].data[1:-1])


def _spell_run(weights: str, vocabularies: tuple[str, str], listed: tuple[str, ...]) -> str:
    """Return the settings with which Bergamot and translateLocally run the model."""
    lines = ["relative-paths: true", "models:", f"  - {weights}", "vocabs:"]
    lines += [f"  - {name}" for name in vocabularies]
    lines += [line for lex in listed for line in ("shortlist:", f"  - {lex}", "  - false")]
    lines += ["beam-size: 1", "normalize: 1.0", "word-penalty: 0", "max-length-factor: 2.0"]
    return "\n".join([*lines, "gemm-precision: int8shiftAlphaAll", ""])
