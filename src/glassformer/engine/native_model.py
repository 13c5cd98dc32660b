"""Models in C: settings and weights are handed to `native/model.c`, which packs them once.

This module does not import torch.
"""

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import byref, c_char_p, c_double, c_int, c_int32, c_int64, c_void_p
from math import ceil

from ..config import PLAIN, Model
from ..model.files.weights_file import SCALE, StoredTensor
from .native_structs import NetworkStruct

PRECISION_CODES = {"fp32": 0, "int8": 1}
TYPES = {"F32": 0, "F16": 1, "BF16": 2, "I8": 3}  # as safetensors names them
# The settings of `model` that the library computes, by name; see `PLAIN`. Each value of a choice is
# handed to it as its place here.
KNOWN = {**PLAIN, "decoder": ("attention", "ssru")}
MOST_INPUTS = 65_536  # of a linear map in int8: more products of 255 * 127 overflow 32 bits
OUT_OF_MEMORY = 1  # the code of native/errors.h


class ModelSettingsStruct(ctypes.Structure):
    """`ModelSettings` of model.h."""

    _fields_ = (
        ("precision", c_int32),
        *((name, c_int32) for name in ("d_model", "d_ff", "heads", "head_width")),
        *((name, c_int32) for name in ("encoder_layers", "decoder_layers")),
        *((name, c_int32) for name in ("is_pre_norm", "activation", "tie", "output_bias")),
        *((name, c_int32) for name in ("positions", "grid", "offset", "max_positions")),
        *((name, c_int32) for name in ("source_vocabulary", "target_vocabulary", "decoder")),
        *((name, c_double) for name in ("amplitude", "norm_epsilon")),
    )


class TensorStruct(ctypes.Structure):
    """`Tensor` of model.h."""

    _fields_ = (
        ("name", c_char_p),
        ("data", c_void_p),
        ("bytes", c_int64),
        ("type", c_int32),
        ("rank", c_int32),
        ("shape", c_int64 * 2),
    )


class NativeModel:
    """The packed weights of a model, which any number of networks share.

    tensors: by their names in the model, a tied one under its first name at least; they are not
    needed afterwards. ValueError names the tensor that is wrong, or the setting that is unknown.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        settings: Model,
        vocabularies: tuple[int, int],
        tensors: Mapping[str, StoredTensor],
        precision: str,
    ):
        if why := explain_settings(settings):
            raise ValueError(why)
        widest = max(settings.d_model, settings.d_ff, settings.heads * settings.width)
        if precision == "int8" and widest > MOST_INPUTS:
            raise ValueError(f"int8 sums of {widest:,} numbers would overflow: use precision=fp32")
        self.library, self.precision, self._handle = library, precision, c_void_p()
        self.budget = choose_budget(settings, vocabularies[1])
        library.model_open.argtypes = (c_void_p, c_void_p, c_int32, c_void_p, c_void_p, c_int32)
        library.model_open.restype = library.network_open.restype = c_int
        library.network_open.argtypes = (c_void_p, c_void_p)
        library.network_close.argtypes = library.model_close.argtypes = (c_void_p,)
        library.network_close.restype = library.model_close.restype = None
        tensors = {**tensors, **_list_scales(tensors)}
        structs = (TensorStruct * len(tensors))(
            *(_describe_tensor(name, each) for name, each in tensors.items())
        )
        values = _describe_settings(settings, vocabularies, precision)
        reason = ctypes.create_string_buffer(300)
        error = library.model_open(
            byref(values), structs, len(structs), byref(self._handle), reason, len(reason)
        )
        if error == OUT_OF_MEMORY:
            raise MemoryError("not enough memory for the model")
        if error:
            raise ValueError(reason.value.decode("utf-8", "replace"))

    def list_outputs(self) -> None:
        """Prepare for short-lists; int8 only."""
        self.library.model_list_outputs.argtypes = (c_void_p,)
        self.library.model_list_outputs.restype = c_int
        if self.library.model_list_outputs(self._handle):
            raise MemoryError("not enough memory for the outputs of a short-list")

    def open_network(self, network: NetworkStruct) -> None:
        """Fill in `Network` of network.h; whoever calls this also calls `close_network`."""
        if self.library.network_open(self._handle, byref(network)):
            raise MemoryError("not enough memory for a network")

    def close_network(self, network: NetworkStruct) -> None:
        self.library.network_close(byref(network))

    def close(self) -> None:
        """Free the weights; all networks must be closed before."""
        self.library.model_close(self._handle)
        self._handle = c_void_p()


class NativeEnsemble:
    """Packed models with one vocabulary as one: the mean of their probabilities (`ensemble.c`).

    It makes networks as a `NativeModel` does. The members stay those of their engines.
    """

    def __init__(self, members: Sequence[NativeModel]):
        first = members[0]
        self.members, self.library, self.precision = members, first.library, first.precision
        self.budget = min(each.budget for each in members)
        self._parts = dict[int, ctypes.Array[NetworkStruct]]()  # of each network, by its address
        self.library.ensemble_open.argtypes = (c_int32, c_void_p, c_void_p)
        self.library.ensemble_open.restype = c_int
        self.library.ensemble_close.argtypes = (c_void_p,)
        self.library.ensemble_close.restype = None

    def open_network(self, network: NetworkStruct) -> None:
        """Fill in a network of one network of each member; to be closed by `close_network`."""
        parts = (NetworkStruct * len(self.members))()
        try:
            for member, part in zip(self.members, parts, strict=True):
                member.open_network(part)
            if self.library.ensemble_open(len(parts), parts, byref(network)):
                raise MemoryError("not enough memory for a network")
        except MemoryError:
            self._close_parts(parts)
            raise
        self._parts[network.self] = parts

    def close_network(self, network: NetworkStruct) -> None:
        """Free a network; one that was not opened has nothing to free."""
        parts = self._parts.pop(network.self, None)
        self.library.ensemble_close(byref(network))
        if parts is not None:
            self._close_parts(parts)

    def _close_parts(self, parts: ctypes.Array[NetworkStruct]) -> None:
        for member, part in zip(self.members, parts, strict=True):
            member.close_network(part)

    def close(self) -> None:
        """Free nothing: the engines of the members free their weights."""


def explain_settings(settings: Model) -> str:
    """Return why the library does not compute a model with these settings; "" if it does."""
    unknown = settings.list_unknown(KNOWN)
    return f"the engine in C does not compute {unknown[0]}" if unknown else ""


def choose_budget(settings: Model, vocabulary: int) -> int:
    """Return the tokens at work, rows times the longest, with which a search is fastest.

    A step reads the decoder's weights once, and the keys and values of each row. With few rows the
    weights cost more than they must; with many, keys and values leave the processor's cache. Best
    for models from 0.6 to 60 million weights was about one token for 1,600 of them.
    """
    return min(max(_count_decoder_weights(settings, vocabulary) // 1600, 256), 4096)


def choose_workers(settings: Model, vocabulary: int, rows: int, most: int) -> int:
    """Return how many workers, at most `most`, share the rows of all sentences of a search.

    Each worker reads the decoder's weights at every step, which was found to take as long as
    computing one row for 600,000 of them, and no longer than 14 rows. A second worker always pays;
    a further one with less than an eighth of that is not hired: it saves nearly nothing, and takes
    a core from other programs.
    """
    reading = min(_count_decoder_weights(settings, vocabulary) / 600_000, 14)
    return max(1, min(most, rows, max(2, rows // ceil(reading / 8))))


def _count_decoder_weights(settings: Model, vocabulary: int) -> int:
    """Return how many weights a step of the decoder reads."""
    d, inner = settings.d_model, settings.d_ff
    squares = 4 if settings.decoder == "ssru" else 6
    return settings.decoder_layers * (squares * d * d + 2 * d * inner) + d * vocabulary


def _list_scales(tensors: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Return the scales of int8 tensors as tensors, by the names that the library looks for."""
    return {
        f"{name}{SCALE}": each.scale for name, each in tensors.items() if each.scale is not None
    }


def _describe_tensor(name: str, tensor: StoredTensor) -> TensorStruct:
    if tensor.type not in TYPES or not 1 <= len(tensor.shape) <= 2:
        raise ValueError(f"{name}: {tensor.type} {[*tensor.shape]} is no tensor of a model")
    shape, where = (c_int64 * 2)(*tensor.shape), (tensor.address, len(tensor.buffer))
    return TensorStruct(name.encode(), *where, TYPES[tensor.type], len(tensor.shape), shape)


def _describe_settings(
    settings: Model, vocabularies: tuple[int, int], precision: str
) -> ModelSettingsStruct:
    positions = settings.positions
    return ModelSettingsStruct(
        precision=PRECISION_CODES[precision],
        d_model=settings.d_model,
        d_ff=settings.d_ff,
        heads=settings.heads,
        head_width=settings.width,
        encoder_layers=settings.encoder_layers,
        decoder_layers=settings.decoder_layers,
        is_pre_norm=_place("norm", settings.norm),
        activation=_place("activation", settings.activation),
        tie=_place("tie", settings.tie),
        output_bias=settings.output_bias,
        positions=_place("positions.layout", positions.layout),
        grid=_place("positions.grid", positions.grid),
        offset=positions.offset,
        max_positions=positions.max_positions,
        source_vocabulary=vocabularies[0],
        target_vocabulary=vocabularies[1],
        decoder=_place("decoder", settings.decoder),
        amplitude=positions.amplitude,
        norm_epsilon=settings.norm_epsilon,
    )


def _place(name: str, value: str) -> int:
    """Return the number that stands for the value of a setting in the library."""
    return (KNOWN[name] or ()).index(value)
