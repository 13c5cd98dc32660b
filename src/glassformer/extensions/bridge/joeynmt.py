"""Read a model of JoeyNMT: a folder with config.yaml, checkpoints and vocabularies."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.extensions.foreign_tokenizers.subwords import Cut, choose_subwords, cut_at_spaces
from glassformer.foundation.disk import read_text

from .foreign import Foreign, ForeignSide, find_entry
from .pickles import check_weights, read_pickle
from .yaml_files import read_yaml

NAMES = ("best.ckpt", "latest.ckpt")
SPECIALS = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>"}


def read_joeynmt(path: Path, subwords: Sequence[str] = ()) -> Foreign:
    """Return the model. ValueError, in one sentence, for what cannot be imported."""
    folder = path if path.is_dir() else path.parent
    file = path if path.is_file() else _find(folder)
    config = read_yaml(folder / "config.yaml")
    settings = find_entry(config, "model") or {}
    for name in ("layer_norm", "num_heads", "ff_size", "activation", "embeddings.scale"):
        both = [find_entry(settings, f"{side}.{name}") for side in ("encoder", "decoder")]
        if both[0] != both[1]:
            raise ValueError(f"{folder / 'config.yaml'}: encoder and decoder differ: {name}={both}")
    sides = [_read_side(folder, config, *names, subwords) for names in _SIDES]
    languages = {f"{side}_lang": find_entry(config, f"data.{short}.lang") for side, short in _SIDES}
    beam = find_entry(config, "testing.beam_size") or 1
    alpha = find_entry(config, "testing.beam_alpha")
    penalty = "gnmt" if isinstance(alpha, float | int) and alpha > 0 else "none"
    decode = {"search": "beam", "beam": beam, "length_penalty": penalty}
    return Foreign(
        "joeynmt",
        file,
        check_weights(file, read_pickle(file).get("model_state")),
        settings,
        sides,
        model={"norm_epsilon": 1e-6, "positions": {"layout": "interleaved", "max_positions": 5000}},
        is_scaled=bool(find_entry(settings, "encoder.embeddings.scale")),
        data={name: code for name, code in languages.items() if code},
        decode={**decode, **({"alpha": alpha} if penalty == "gnmt" else {})},
    )


_SIDES = (("source", "src"), ("target", "trg"))


def _find(folder: Path) -> Path:
    files = [folder / name for name in NAMES if (folder / name).is_file()]
    if not (files := files or sorted(folder.glob("*.ckpt"))):
        raise ValueError(f"{folder} has no checkpoint of JoeyNMT, like {NAMES[0]}")
    return files[0]


def _read_side(
    folder: Path, config: Mapping[str, Any], side: str, short: str, subwords: Sequence[str]
) -> ForeignSide:
    file = folder / f"{short}_vocab.txt"
    tokens = read_text(file).removesuffix("\n").split("\n")
    symbols = find_entry(config, "data.special_symbols") or {}
    ids = {}
    for name, usual in SPECIALS.items():
        token = symbols.get(f"{name}_token", usual)
        if token not in tokens:
            raise ValueError(f"{file}: it has no {token}")
        ids[name] = tokens.index(token)
    cut = _choose(folder, find_entry(config, f"data.{short}") or {}, side, subwords)
    return ForeignSide(tokens, ids["pad"], ids["bos"], ids["eos"], ids["unk"], cut)


def _choose(folder: Path, facts: Mapping[str, Any], side: str, subwords: Sequence[str]) -> Cut:
    if not subwords and facts.get("level") == "word":
        return cut_at_spaces
    if not subwords and facts.get("level", "bpe") != "bpe":
        raise ValueError(f"{folder}: level={facts['level']}: only word and bpe can be imported")
    files = find_entry(facts, "tokenizer_cfg.model_file") or find_entry(
        facts, "tokenizer_cfg.codes"
    )
    return choose_subwords(folder, side, subwords, files)
