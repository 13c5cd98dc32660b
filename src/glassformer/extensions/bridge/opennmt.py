"""Read models of OpenNMT-py (`NAME_step_N.pt`) and of its successor Eole (a folder)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.extensions.foreign_tokenizers.subwords import choose_subwords
from glassformer.foundation.typed_json import read_typed
from glassformer.model.files.tensors import load_tensors

from .foreign import Foreign, ForeignSide, Weights, find_entry
from .pickles import check_weights, read_pickle, unwrap_settings

EOLE = ("config.json", "vocab.json", "model.00.safetensors")
REACH = 5000  # positions in their tables
LAYOUTS = {
    "SinusoidalInterleaved": {"layout": "interleaved"},
    "SinusoidalConcat": {"layout": "concatenated", "grid": "tensor2tensor"},
}


def read_opennmt(path: Path, subwords: Sequence[str] = ()) -> Foreign:
    """Return the model of OpenNMT-py 3. ValueError, in one sentence, for what cannot be read."""
    folder = path if path.is_dir() else path.parent
    file = path if path.is_file() else _find(folder)
    result = read_pickle(file)
    weights = check_weights(file, result.get("model"))
    generator = check_weights(file, result.get("generator") or {})
    weights |= {f"generator.{name}": weight for name, weight in generator.items()}
    settings, vocabularies = (
        unwrap_settings(result.get("opt")),
        unwrap_settings(result.get("vocab")),
    )
    if not settings or not isinstance(vocabularies.get("src"), list):
        raise ValueError(f"{file}: no checkpoint of OpenNMT-py 3: convert it with its tools first")
    return _gather("opennmt", folder, file, weights, settings, vocabularies, subwords)


def read_eole(path: Path, subwords: Sequence[str] = ()) -> Foreign:
    """Return the model of Eole. ValueError, in one sentence, for what cannot be read."""
    folder = path if path.is_dir() else path.parent
    for name in EOLE:
        if not (folder / name).is_file():
            raise ValueError(f"{folder} is no model of Eole: it has no {name}")
    if (folder / "model.01.safetensors").is_file():
        raise ValueError(f"{folder}: weights in several files, which is not supported")
    settings = find_entry(read_typed(folder / EOLE[0], dict[str, Any]), "model") or {}
    vocabularies = read_typed(folder / EOLE[1], dict[str, Any])
    weights = load_tensors(folder / EOLE[2])
    encoder = settings.get("encoder") or {}
    return _gather(
        "eole", folder, folder / EOLE[2], weights, {**encoder, **settings}, vocabularies, subwords
    )


def _find(folder: Path) -> Path:
    """Return the checkpoint of the last step."""
    files = sorted(
        folder.glob("*_step_*.pt"), key=lambda path: int(path.stem.rsplit("_", 1)[-1] or 0)
    )
    if not files:
        raise ValueError(f"{folder} has no checkpoint of OpenNMT-py, like model_step_10000.pt")
    return files[-1]


def _gather(
    toolkit: str,
    folder: Path,
    file: Path,
    weights: Weights,
    settings: Mapping[str, Any],
    vocabularies: Mapping[str, Any],
    subwords: Sequence[str],
) -> Foreign:
    kind = settings.get("position_encoding_type") or find_entry(
        settings, "embeddings.position_encoding_type"
    )
    texts = [
        find_entry(settings, f"{side}_subword_model") or find_entry(settings, f"{side}_subword_bpe")
        for side in ("src", "tgt")
    ]
    sides = [
        _read_side(file, vocabularies, short, choose_subwords(folder, side, subwords, name))
        for side, short, name in zip(("source", "target"), ("src", "tgt"), texts, strict=True)
    ]
    return Foreign(
        toolkit,
        file,
        weights,
        settings,
        sides,
        model={
            "norm_epsilon": settings.get("norm_eps") or 1e-6,
            "positions": {
                **LAYOUTS.get(str(kind), LAYOUTS["SinusoidalInterleaved"]),
                "max_positions": REACH,
            },
        },
        text={"source_eos": False},
        ignored=("layer_scalar",),
    )


def _read_side(file: Path, vocabularies: Mapping[str, Any], short: str, cut: Any) -> ForeignSide:
    tokens = vocabularies[short]
    specials = {"pad_token": "<blank>", "eos_token": "</s>", "unk_token": "<unk>"}
    specials |= vocabularies.get("specials") or {}
    names = [specials[name] for name in ("pad_token", "eos_token", "unk_token")]
    start = vocabularies.get("decoder_start_token") or "<s>"
    for token in [*names, start][: 4 if short == "tgt" else 3]:
        if token not in tokens and not (short == "src" and token == names[1]):
            raise ValueError(f"{file}: its {short} vocabulary has no {token}")
    pad, end, unknown = (tokens.index(name) if name in tokens else None for name in names)
    begin = tokens.index(start) if start in tokens else None
    return ForeignSide(tokens, pad, begin, end, unknown, cut)
