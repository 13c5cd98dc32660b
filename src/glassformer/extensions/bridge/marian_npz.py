"""Read a model in Marian's own files: NAME.npz or NAME.bin, with its settings, and vocabularies."""

import math
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from glassformer.extensions.foreign_tokenizers.imported import UNKNOWN
from glassformer.extensions.foreign_tokenizers.sentencepiece import Sentencepiece
from glassformer.extensions.foreign_tokenizers.subwords import Cut, choose_subwords
from glassformer.foundation.typed_json import read_typed

from .foreign import Foreign, ForeignSide, Weights, check_values, read_toolkits
from .huggingface import GRIDS
from .marian_bin import is_marian_bin, read_marian_bin
from .yaml_files import parse_yaml, read_yaml

SETTINGS = "special:model.yml"
NOT_A_MODEL = ("optimizer", "decoder.yml", "ema")
DENSEST = 20  # bytes of weights from one byte: numbers like these can hardly be packed
SMALL = 64 << 20  # bytes that may come from any number
# RuntimeError: of a kind of zip that Python does not read, or with a password.
UNREADABLE = (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error)
PAIR = re.compile(r"\.([a-z]{2})([a-z]{2})\.")  # as in model.enpt.intgemm.alphas.bin
REACH = 1024  # positions: Marian computes as many as it needs


def read_marian_npz(
    path: Path, subwords: Sequence[str] = (), grid: str = "marian", languages: str = ""
) -> Foreign:
    """Return the model. ValueError, in one sentence, for what cannot be imported.

    languages: like "en-pt"; if not given, as the names of the model and its vocabularies say them.
    """
    folder = path if path.is_dir() else path.parent
    file = path if path.is_file() else _find(folder)
    weights, settings, multipliers = _read_model(file)
    check_values(file, settings, read_toolkits()["marian"]["must"])
    run = _read_run(folder, file)
    files = _find_vocabularies(folder, run, languages)
    sides = [
        _read_side(folder, file, side, name, subwords)
        for side, name in zip(("source", "target"), files, strict=True)
    ]
    if files[0] == files[1] and files[0].suffix == ".spm":
        sides[1] = sides[0]
    tied = bool(settings.get("tied-embeddings-all") or settings.get("tied-embeddings"))
    if not tied and "decoder_ff_logit_out_W" not in weights:
        raise ValueError(f"{file}: decoder_ff_logit_out_W is missing")
    positions = {"layout": "concatenated", "grid": GRIDS[grid], "max_positions": REACH}
    model = {"positions": positions, "norm_epsilon": 1e-9}
    if settings.get("transformer-decoder-autoreg") == "rnn":
        check_values(file, settings, read_toolkits()["marian"]["must_rnn"])
        model["decoder"] = "ssru"
    search: dict[str, Any] = {"search": "beam", "length_penalty": "power", "alpha": 1.0}
    if isinstance(alpha := run.get("normalize"), int | float):  # true is 1
        search |= {"alpha": float(alpha)} if alpha > 0 else {"length_penalty": "none"}
    if isinstance(beam := run.get("beam-size"), int) and beam > 0:
        search |= {"search": "greedy"} if beam == 1 else {"beam": beam}
    return Foreign(
        "marian",
        file,
        weights,
        settings,
        sides,
        model=model,
        data=_name_languages([file, *files], languages),
        decode=search,
        steps={name: 1 / multiplier for name, multiplier in multipliers.items()},
        shortlist=next(iter(sorted(folder.glob("lex*.bin"))), None),
    )


def _find(folder: Path) -> Path:
    results = [p for p in sorted(folder.glob("*.npz")) if not any(x in p.name for x in NOT_A_MODEL)]
    results += (path for path in sorted(folder.glob("*.bin")) if is_marian_bin(path))
    if len(results) != 1:
        there = ", ".join(path.name for path in results) or "none"
        raise ValueError(f"{folder}: name the one file that is the model: {there}")
    return results[0]


def _read_npz(file: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file. NumPy reads no pickle that may be in it."""
    try:
        with zipfile.ZipFile(file) as archive:
            _check_sizes(archive, file.stat().st_size)
        with np.load(file) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except UNREADABLE as error:
        raise ValueError(f"{file}: damaged, or more than weights: {error}") from None


def _check_sizes(archive: zipfile.ZipFile, packed: int) -> None:
    """Raise ValueError before memory is taken for what a file of `packed` bytes cannot hold."""
    unpacked = sum(each.file_size for each in archive.infolist())
    if unpacked > max(SMALL, DENSEST * packed):
        raise ValueError(f"{unpacked:,} bytes were packed into {packed:,}: these are no weights")
    for each in archive.infolist():
        with archive.open(each) as entry:
            if np.lib.format.read_magic(entry) == (1, 0):
                shape, _, kind = np.lib.format.read_array_header_1_0(entry)
            else:
                shape, _, kind = np.lib.format.read_array_header_2_0(entry)
            size = math.prod(shape) * kind.itemsize
            if size > each.file_size:
                raise ValueError(
                    f"{each.filename} has {each.file_size:,} bytes, and needs {size:,}"
                )


def _read_model(file: Path) -> tuple[Weights, dict[str, Any], dict[str, float]]:
    """Return weights, settings, and by what matrices of int8 numbers were multiplied."""
    multipliers = dict[str, float]()
    if is_marian_bin(file):
        model = read_marian_bin(file)
        multipliers = {
            name: each.multiplier
            for name, each in model.quantized.items()
            if each.values.dtype == np.int8
        }
        dequantized = {name: each.to_fp32() for name, each in model.quantized.items()}
        arrays = {**model.plain, **dequantized}
    elif file.suffix == ".npz":
        arrays = _read_npz(file)
    else:
        raise ValueError(f"{file}: neither a .npz nor a binary model of Marian: name the model")
    if SETTINGS not in arrays:
        raise ValueError(f"{file}: it has no {SETTINGS}, so it is no model of Marian")
    text = arrays.pop(SETTINGS).tobytes().rstrip(b"\0").decode("utf-8", "replace")
    weights = {name: torch.from_numpy(values) for name, values in arrays.items()}
    return weights, parse_yaml(text, f"{file}: {SETTINGS}"), multipliers


def _read_run(folder: Path, file: Path) -> dict[str, Any]:
    """Return the vocabularies and the settings with which the model is run, as far as told.

    Beside a model there may also be the settings of its training, whose beam is for validation.
    """
    trained = folder / f"{file.name}.yml"
    names = folder / f"{file.name}.decoder.yml", folder / "decoder.yml", trained
    for path in (*names, *sorted(folder.glob("config*.yml"))):
        if path.is_file() and (run := read_yaml(path)).get("vocabs"):
            return run if path != trained else {"vocabs": run["vocabs"]}
    return {}


def _name_languages(files: Sequence[Path], languages: str) -> dict[str, str]:
    """Return the languages that the user says, or else the names of all files of the model."""
    pairs = {match.groups() if (match := PAIR.search(file.name)) else () for file in files}
    if languages:
        pairs = {tuple(languages.split("-"))}
    (pair, *others) = pairs
    if languages and (len(pair) != 2 or not all(pair)):
        raise ValueError(f"--languages {languages}: two codes, as en-pt")
    return {} if others or not pair else {"source_lang": pair[0], "target_lang": pair[1]}


def _find_vocabularies(folder: Path, run: Mapping[str, Any], languages: str) -> list[Path]:
    """Return both vocabularies: as the settings of a run say, or the only one in the folder.

    The names of two say which is of the source: by their languages, or src and trg.
    """
    if entry := run.get("vocabs"):
        vocabularies = [folder / Path(str(each)).name for each in entry]
        return [vocabularies[0], vocabularies[-1]]
    vocabularies = sorted([*folder.glob("*vocab*.yml"), *folder.glob("*vocab*.spm")])
    if not vocabularies or len(vocabularies) > 2:
        raise ValueError(f"{folder}: no decoder.yml that names the vocabularies")
    if len(vocabularies) == 1:
        return vocabularies * 2
    for codes in (languages.split("-"), ("src", "trg"), ("source", "target")):
        for source, target in (vocabularies, vocabularies[::-1]):
            if _is_of(source, codes[0]) and _is_of(target, codes[-1]):
                return [source, target]
    raise ValueError(
        f"{folder}: nothing tells which of {vocabularies[0].name} and {vocabularies[1].name} is of "
        "the source: a decoder.yml does, or --languages with the codes in their names"
    )


def _is_of(vocabulary: Path, side: str) -> bool:
    """Return whether the name of a vocabulary has a code, or begins with the name of a side."""
    is_code = side in re.split(r"\W", vocabulary.name)
    return bool(side) and (is_code or (len(side) > 2 and vocabulary.name.startswith(side)))


def _read_side(
    folder: Path, file: Path, side: str, vocabulary: Path, subwords: Sequence[str]
) -> ForeignSide:
    """Return one side; its vocabulary has no padding, and its decoder begins with zeros.

    A row of the tables belongs to the token of the same id in the file, whatever ids it gives to
    the end mark and to what is unknown.
    """
    cut: Cut
    if vocabulary.suffix == ".spm":
        read = Sentencepiece.read(vocabulary)
        tokens, cut = [token.text for token in read.tokens], read.to_tokenizer
        end, unknown = read.find_eos(), read.find_unknown()
    else:
        is_json = vocabulary.suffix == ".json"
        ids = read_typed(vocabulary, dict[str, Any]) if is_json else read_yaml(vocabulary)
        tokens = sorted(ids, key=ids.__getitem__)
        if [ids[token] for token in tokens] != list(range(len(ids))):
            raise ValueError(f"{vocabulary}: its ids are not the numbers from 0 on")
        cut = choose_subwords(folder, side, subwords)
        end, unknown = ids.get("</s>"), ids.get(UNKNOWN)
    for id, token in ((end, "</s>"), (unknown, UNKNOWN)):
        if id is None:
            raise ValueError(f"{vocabulary}: it has no {token}")
    return ForeignSide([str(token) for token in tokens], None, None, end, unknown, cut)
