"""A model directory: all that raw text in, raw text out needs, and no pickle anywhere.

model.safetensors   the weights, each once however often it is tied; fp32, or fp16 to be small
config.toml         every setting
tokenizer.json      or tokenizer.source.json and tokenizer.target.json
card.md             what it was made from, and how good it is
golden.json         a few inputs with what they must give
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from .config import Config
from .disk import read_json as read_json
from .disk import write_bytes
from .disk import write_json as write_json
from .disk import write_text as write_text
from .model import Transformer
from .text import Tokenizer

WEIGHTS, CONFIG, CARD, GOLDEN = "model.safetensors", "config.toml", "card.md", "golden.json"
SHIPPED = Path(__file__).parent / "models"  # those that come with the package, found by name
FLOATS = ("F32", "F16", "BF16")  # as safetensors names them
NOTES, ALIASES, ORIGIN = "notes", "aliases", "origin"  # what is written beside the weights
FREE = ("dropout", "attention_dropout", "hidden_dropout")  # of [model]: they have no weights
SHARED, SEPARATE = "tokenizer.json", ("tokenizer.source.json", "tokenizer.target.json")


@dataclass(frozen=True)
class Tokenizers:
    """The source's and the target's; one and the same where the vocabulary is shared."""

    source: Tokenizer
    target: Tokenizer

    def save(self, folder: Path) -> None:
        if self.source is self.target:
            self.source.save(folder / SHARED)
        else:
            for name, tokenizer in zip(SEPARATE, (self.source, self.target), strict=True):
                tokenizer.save(folder / name)

    @classmethod
    def load(cls, folder: Path) -> Tokenizers:
        if (folder / SEPARATE[0]).is_file():
            return cls(*(Tokenizer.load(folder / name) for name in SEPARATE))
        shared = Tokenizer.load(folder / SHARED)
        return cls(shared, shared)


def build(config: Config, tokenizers: Tokenizers) -> Transformer:
    """A network with fresh weights, as wide as the settings and the vocabularies say."""
    return Transformer(config.model, len(tokenizers.source), len(tokenizers.target))


def locate(model: Path | str) -> Path:
    """The folder of a model: a path, or the name of one that comes with the package.

    A model of that name in the working directory goes first.
    """
    folder, shipped = Path(model), SHIPPED / model
    is_here = any((folder / name).exists() for name in (CONFIG, WEIGHTS))
    is_name = len(folder.parts) == 1 and (shipped / WEIGHTS).is_file()
    return shipped if is_name and not is_here else folder


def save_model(
    folder: Path,
    config: Config,
    tokenizers: Tokenizers,
    weights: Mapping[str, Tensor],
    *,
    half: bool = False,
) -> None:
    """Write all that translating needs; each file is whole or not there. `half`: in fp16."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizers.save(folder)
    write_text(folder / CONFIG, config.to_toml())
    origin, dtype = _tell_origin(config, tokenizers), torch.float16 if half else None
    save_tensors(folder / WEIGHTS, weights, dtype=dtype, notes={ORIGIN: origin})


def open_model(model: Path | str) -> tuple[Config, Tokenizers, dict[str, torch.Size]]:
    """Read all but the weights, and see that these are there, with the names and shapes returned.

    ValueError, in one sentence, if it is no model directory or not whole.
    """
    folder = locate(model)
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            raise ValueError(f"{folder} is no model directory: it has no {name}{_suggest(folder)}")
    config = Config.load(folder / CONFIG)
    if not config.model_fields_set >= set(Config.model_fields) - {"size"}:
        raise ValueError(f"{folder / CONFIG}: cut short, or not written by a training")
    tokenizers = Tokenizers.load(folder)
    layers = config.model.encoder_layers + config.model.decoder_layers
    held = len(tensors_in(folder))
    if layers > held:  # before so many are built, if only in thought
        raise ValueError(f"{folder / CONFIG}: {layers} layers, but {WEIGHTS} has {held} tensors")
    with torch.device("meta"):
        shapes = {k: v.shape for k, v in build(config, tokenizers).state_dict().items()}
    check_tensors(folder / WEIGHTS, shapes)
    _check_origin(folder, config, tokenizers)
    return config, tokenizers, shapes


def _check_origin(folder: Path, config: Config, tokenizers: Tokenizers) -> None:
    """ValueError if pieces or settings are not those of the weights, as far as these tell."""
    with _opened(folder / WEIGHTS) as (file, _):
        then = _read_notes(file).get(ORIGIN, {})
        for name, value in _tell_origin(config, tokenizers).items():
            if then.get(name, value) != value:
                made = f"but the weights were made with {then[name]}"
                raise ValueError(f"{folder}: {name} is {value}, {made}")


def _tell_origin(config: Config, tokenizers: Tokenizers) -> dict[str, Any]:
    """What the weights mean nothing without, though no shape may tell."""
    both = [tokenizers.source.vocabulary, tokenizers.target.vocabulary]
    model = config.model.model_dump(exclude={*FREE, "positions"})
    model |= config.model.positions.model_dump(exclude={"longest"})
    return {"tokenizer": sha256(json.dumps(both).encode()).hexdigest()[:16], **model}


def load_model(model: Path | str) -> tuple[Config, Tokenizers, Transformer]:
    """Read a model directory, into fp32. ValueError, in one sentence, if it is not one or whole."""
    config, tokenizers, shapes = open_model(model)
    weights = load_tensors(locate(model) / WEIGHTS, shapes)
    network = build(config, tokenizers)
    network.load_state_dict(weights)
    return config, tokenizers, network.eval()


def read_tensors(folder: Path) -> Callable[[str], Tensor]:
    """What gives each of the weights, in fp32. The file is mapped into memory once for all."""
    path = folder / WEIGHTS
    with _explained(path):
        file: Any = safe_open(path, "pt")
        aliases = _read_notes(file)[ALIASES]

    def read(name: str) -> Tensor:
        with _explained(path):
            tensor: Tensor = file.get_tensor(aliases.get(name, name))
        return tensor.float()

    return read


def _suggest(folder: Path) -> str:
    """For a folder that is not there: the shipped model that may be meant."""
    names = sorted(path.name for path in SHIPPED.glob("*"))
    near = [] if folder.exists() else get_close_matches(str(folder), names, 1)
    return f" (did you mean {near[0]}?)" if near else ""


def save_tensors(
    path: Path, tensors: Mapping[str, Tensor], *, dtype: torch.dtype | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """As safetensors; a tensor under several names is written once and the names are noted.

    Further `notes` go into one entry with them: several would be written in any order.
    """
    first: dict[tuple[int, torch.Size], str] = {}
    aliases: dict[str, str] = {}
    unique: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape)
        if tensor.numel() and key in first:
            aliases[name] = first[key]
        else:
            first[key] = name
            unique[name] = tensor.detach().to("cpu", dtype).contiguous()
    noted = {NOTES: json.dumps({ALIASES: aliases, **notes})} if notes else {}
    write_bytes(path, save(unique, noted or {ALIASES: json.dumps(aliases)}))


def load_tensors(path: Path, shapes: Mapping[str, torch.Size] | None = None) -> dict[str, Tensor]:
    """Read what `save_tensors` wrote. With `shapes`, names and shapes must be just those, and
    nothing is read before they are."""
    if shapes is not None:
        check_tensors(path, shapes)
    with _opened(path) as (file, aliases):
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors | {name: tensors[other] for name, other in aliases.items()}


def check_tensors(path: Path, shapes: Mapping[str, torch.Size]) -> None:
    """ValueError unless the file has tensors of just these names and shapes, all of floats."""
    with _opened(path) as (file, aliases):
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        found = {name: torch.Size(each.get_shape()) for name, each in slices.items()}
        found |= {name: found[other] for name, other in aliases.items()}
        if found != shapes:
            raise ValueError(f"{path}: {_difference(found, shapes)}")
        for name, each in slices.items():
            if each.get_dtype() not in FLOATS:
                raise ValueError(f"{path}: {name} is of {each.get_dtype()}, not fp32 or fp16")


def tensors_in(folder: Path) -> list[str]:
    """The names of the weights of a model, tied ones under each of their names."""
    with _opened(folder / WEIGHTS) as (file, aliases):
        return [*file.keys(), *aliases]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """A safetensors file, and which of its tensors have further names. ValueError if damaged."""
    with _explained(path), safe_open(path, "pt") as file:
        yield file, _read_notes(file)[ALIASES]


def _read_notes(file: Any) -> dict[str, Any]:
    written = file.metadata() or {}
    aliases = {ALIASES: json.loads(written.get(ALIASES, "{}"))}
    return aliases | json.loads(written.get(NOTES, "{}"))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: damaged, or no safetensors file ({error})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: damaged (what it says of itself is no JSON: {error})") from None


def _difference(found: Mapping[str, torch.Size], wanted: Mapping[str, torch.Size]) -> str:
    """The first thing in which the weights do not fit the settings."""
    name = sorted(k for k in {*found, *wanted} if found.get(k) != wanted.get(k))[0]
    if name not in wanted:
        return f"{name} is no weight of a model with these settings"
    if name not in found:
        return f"{name} is missing"
    return f"{name} is {list(found[name])}, but settings and tokenizer say {list(wanted[name])}"
