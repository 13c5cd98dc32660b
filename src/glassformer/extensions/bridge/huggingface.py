"""Read checkpoints of Hugging Face: MarianMT (OPUS-MT), M2M-100, NLLB and mBART-50."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.config import BOS, EOS, PAD
from glassformer.extensions.foreign_tokenizers.imported import UNKNOWN
from glassformer.extensions.foreign_tokenizers.sentencepiece import Sentencepiece
from glassformer.extensions.foreign_tokenizers.subwords import Cut
from glassformer.foundation.typed_json import read_typed
from glassformer.model.files.tensors import load_tensors
from glassformer.text import Tokenizer
from glassformer.text.kinds import parse_tokenizer
from glassformer.text.layout import CONTROLS, is_tag

from .foreign import Foreign, ForeignSide, Weights, check_values, read_toolkits
from .other_folders import KINDS, is_pointer, recognise, tell_pointer
from .pickles import check_weights, read_pickle

GRIDS = {"transformers": "paper", "marian": "tensor2tensor"}
LANGUAGE = re.compile(r"__[a-z]{2,3}__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}")
SINUSOIDS = {"layout": "concatenated", "grid": "tensor2tensor", "offset": 2}
# Two-letter codes where the code of the model has three: of languages without spaces.
SHORTER = {"zho": "zh", "yue": "zh", "jpn": "ja"}


def read_huggingface(path: Path, *, grid: str = "transformers", languages: str = "") -> Foreign:
    """Return the model. grid: see `GRIDS`. languages: "en-fr", which a multilingual model needs.

    ValueError, in one sentence, for what cannot be imported.
    """
    folder = path if path.is_dir() else path.parent
    file = folder / "config.json"
    raw = read_typed(file, dict[str, Any]) if file.is_file() else {}
    kind = raw.get("model_type")
    if (folder / "model.bin").is_file() or kind not in KINDS:
        known = ", ".join(KINDS.values())
        message = f"{folder} is no checkpoint of {known}: see its config.json"
        raise ValueError(recognise(folder) or message)
    for name in ("attention_heads", "ffn_dim"):
        expected = {f"decoder_{name}": [raw.get(f"encoder_{name}")]}
        check_values(file, raw, expected)
    if kind in ("marian", "pegasus"):
        return _read_marian(folder, raw, grid)
    return _read_multilingual(folder, raw, languages)


def read_weights(folder: Path) -> tuple[Path, Weights]:
    """Return the file that has the weights, and the weights by name.

    Large models have them in several files, which an index lists. A pickle is read as data only.
    ValueError if it is anything else, or if there is no file.
    """
    names = ("model.safetensors", "pytorch_model.bin")
    for path in (folder / name for name in names):
        index = path.with_name(f"{path.name}.index.json")
        parts = [path]
        if index.is_file() and not path.is_file():
            parts = _list_parts(index)
        for pointer in filter(is_pointer, parts):
            raise ValueError(tell_pointer(pointer))
        if parts != [path] or path.is_file():
            return path, {k: v for part in parts for k, v in _read_part(part).items()}
    raise ValueError(f"{folder} has no weights: neither {names[0]} nor {names[1]}")


def _list_parts(index: Path) -> list[Path]:
    """Return the files that an index lists. ValueError if one is missing."""
    entry = read_typed(index, dict[str, Any]).get("weight_map")
    names = sorted(set(entry.values())) if isinstance(entry, dict) else []
    parts = [index.parent / Path(str(name)).name for name in names]
    if missing := [part for part in parts if not part.is_file()] or (not parts and [index]):
        raise ValueError(f"{index.parent}: its weights are not complete: see {missing[0].name}")
    return parts


def _read_part(path: Path) -> Weights:
    if path.suffix == ".safetensors":
        return load_tensors(path)
    return check_weights(path, read_pickle(path))


def _read_marian(folder: Path, raw: Mapping[str, Any], grid: str) -> Foreign:
    if raw["model_type"] == "pegasus" and not _is_own(folder):
        raise ValueError(f"{folder} is a Pegasus, but none that glassformer export wrote")
    expected = {
        "normalize_before": [False],
        "normalize_embedding": [False],
        "add_final_layer_norm": [False],
        "static_position_embeddings": [True],
        "scale_embedding": [True],
    }
    check_values(folder / "config.json", raw, expected)
    file, weights = read_weights(folder)
    positions = {"layout": "concatenated", "grid": GRIDS[grid]}
    return Foreign(
        "huggingface",
        file,
        weights,
        raw,
        _read_marian_sides(folder, raw),
        model={"positions": {**positions, "max_positions": raw["max_position_embeddings"]}},
        data=_read_languages(folder / "tokenizer_config.json") | _read_tag(folder),
        decode=_read_search(folder, raw),
    )


def _is_own(folder: Path) -> bool:
    """Return whether a folder has tokenizers of ours, as an export writes them."""
    return (folder / "tokenizer.json").is_file() and not (folder / "vocab.json").is_file()


def _read_tag(folder: Path) -> dict[str, str]:
    """Return the tag that the tokenizer of a model that we exported puts before a source."""
    raw = read_typed(folder / "tokenizer.json", dict[str, Any]) if _is_own(folder) else {}
    special = (raw.get("post_processor") or {}).get("special_tokens", {})
    return {"tag": tag} if (tag := next(filter(is_tag, special), "")) else {}


def _read_own_sides(folder: Path) -> list[ForeignSide]:
    """Return the sides of a model that we exported: our tokenizers, which end sources now."""
    files = [folder / "tokenizer.json", folder / "target_tokenizer" / "tokenizer.json"]
    sides = []
    for file in (files[0], files[1] if files[1].is_file() else files[0]):
        results = {**read_typed(file, dict[str, Any]), "post_processor": None}
        tokenizer = parse_tokenizer(results, file)
        names = tokenizer.vocabulary
        unknown = names.index(UNKNOWN) if UNKNOWN in names else None
        sides.append(ForeignSide(names, PAD, BOS, EOS, unknown, _take_as_it_is(tokenizer)))
    return sides


def _take_as_it_is(tokenizer: Tokenizer) -> Cut:
    return lambda vocabulary: tokenizer


def _read_marian_sides(folder: Path, raw: Mapping[str, Any]) -> list[ForeignSide]:
    if _is_own(folder):
        return _read_own_sides(folder)
    names = ["vocab.json", "vocab.json"]
    if (folder / "target_vocab.json").is_file():
        names[1] = "target_vocab.json"
    start = raw.get("decoder_start_token_id", raw.get("pad_token_id"))
    sides = []
    for side, name in zip(("source", "target"), names, strict=True):
        ids = read_typed(folder / name, dict[str, Any])
        if sorted(ids.values()) != list(range(len(ids))) or start not in ids.values():
            raise ValueError(f"{folder / name}: its ids are not the numbers from 0 on")
        for token in (CONTROLS[0], CONTROLS[2], UNKNOWN):
            if token not in ids:
                raise ValueError(f"{folder / name}: it has no {token}")
        tokens = sorted(ids, key=ids.__getitem__)
        cut = Sentencepiece.read(folder / f"{side}.spm").to_tokenizer
        pad, end = ids[CONTROLS[0]], ids[CONTROLS[2]]
        sides.append(ForeignSide(tokens, pad, start, end, ids[UNKNOWN], cut))
    return sides


def _read_languages(path: Path) -> dict[str, str]:
    """Return the languages that are codes; a multilingual model has names like "ROMANCE"."""
    raw = read_typed(path, dict[str, Any]) if path.is_file() else {}
    languages = {side: raw.get(side) for side in ("source_lang", "target_lang")}
    return {
        side: code
        for side, code in languages.items()
        if isinstance(code, str) and re.fullmatch("[a-z]{2,3}", code)
    }


def _read_search(folder: Path, raw: Mapping[str, Any]) -> dict[str, Any]:
    search = raw
    if (folder / "generation_config.json").is_file():
        search = {**raw, **read_typed(folder / "generation_config.json", dict[str, Any])}
    beam, alpha = search.get("num_beams") or 1, search.get("length_penalty")
    penalty = {"alpha": 1.0 if alpha is None else alpha} if alpha != 0 else {}
    kind = "power" if penalty else "none"
    return {"search": "beam", "beam": beam, "length_penalty": kind, **penalty}


def _read_multilingual(folder: Path, raw: Mapping[str, Any], languages: str) -> Foreign:
    """Return a model for one of its pairs: sources and translations begin with their languages."""
    tokens = _read_tokens(folder)
    tags = {token: f"<{token.strip('_')}>" for token in tokens if LANGUAGE.fullmatch(token)}
    pair = _choose_pair(folder, tags, languages)
    cut = _find_model(folder).to_tokenizer
    pad, end, unknown = (tokens.index(name) for name in (CONTROLS[0], CONTROLS[2], UNKNOWN))
    start = raw.get("decoder_start_token_id", end)
    is_mbart = raw["model_type"] == "mbart"
    if is_mbart and start != end:
        raise ValueError(
            f"{folder} is an mBART of 25 languages, which end its sources: only mBART-50 can be "
            "imported, whose sources begin with them"
        )
    side = ForeignSide(tokens, pad, start, end, unknown, cut, tags)
    file, weights = read_weights(folder)
    reach = {"max_positions": raw.get("max_position_embeddings", 1024)}
    codes = (tag[1:-1].split("_")[0] for tag in pair)
    source, target = (SHORTER.get(code, code) for code in codes)
    return Foreign(
        "huggingface",
        file,
        weights,
        raw,
        [side, side],
        model={"positions": {**({"layout": "learned"} if is_mbart else SINUSOIDS), **reach}},
        is_scaled=bool(raw.get("scale_embedding")),
        skipped=2 if is_mbart else 0,
        data={"source_lang": source, "target_lang": target, "tag": pair[0], "target_tag": pair[1]},
        decode=_read_search(folder, raw),
    )


def _find_model(folder: Path) -> Sentencepiece:
    """Return what cuts the text: SentencePiece's own file, or what was made of it."""
    return Sentencepiece.read(
        next(iter(sorted(folder.glob("sentencepiece*.model"))), folder / "tokenizer.json")
    )


def _read_tokens(folder: Path) -> list[str]:
    """Return the vocabulary in the order of its ids: listed, then languages.

    It is in tokenizer.json; or in vocab.json (M2M-100); or it is that of SentencePiece's model,
    after fairseq's four, with the languages that another file names.
    """
    whole, vocab = folder / "tokenizer.json", folder / "vocab.json"
    more = _read_further(folder) or _list_languages(folder)
    if whole.is_file():
        result = read_typed(whole, dict[str, Any])
        own = result["model"]["vocab"]
        listed = [token for token, _ in own] if isinstance(own, list) else sorted(own, key=own.get)
        ids = {token: id for id, token in enumerate(listed)}
        ids |= {each["content"]: each["id"] for each in result.get("added_tokens", ())}
    elif vocab.is_file():
        ids = read_typed(vocab, dict[str, Any])
        missing = [token for token in more if token not in ids]
        ids |= {token: len(ids) + place for place, token in enumerate(missing)}
    else:
        if not more:
            raise ValueError(f"{folder}: it has no tokenizer.json, and no list of its languages")
        listed = [*CONTROLS[1:2], CONTROLS[0], CONTROLS[2], UNKNOWN]
        listed += _find_model(folder).scores
        languages = [token for token in more if LANGUAGE.fullmatch(token)]
        ids = {token: id for id, token in enumerate([*listed, *languages, "<mask>"])}
    tokens = [""] * (max(ids.values()) + 1)
    for token, id in ids.items():
        tokens[id] = token
    for token in (CONTROLS[0], CONTROLS[2], UNKNOWN):
        if token not in ids:
            raise ValueError(f"{folder}: its vocabulary has no {token}")
    return tokens


def _read_further(folder: Path) -> list[str]:
    """Return the tokens that the settings of the tokenizer add, languages among them."""
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        raw = read_typed(folder / name, dict[str, Any]) if (folder / name).is_file() else {}
        for key in ("additional_special_tokens", "extra_special_tokens"):
            if isinstance(raw.get(key), list):
                return [x if isinstance(x, str) else x["content"] for x in raw[key]]
    return []


def _list_languages(folder: Path) -> list[str]:
    """Return the language tokens of M2M-100, which transformers 5 knows and does not write."""
    path = folder / "tokenizer_config.json"
    raw = read_typed(path, dict[str, Any]) if path.is_file() else {}
    if raw.get("tokenizer_class") != "M2M100Tokenizer":
        return []
    lists = read_toolkits()["huggingface"]["languages"]
    name = raw.get("language_codes", "m2m100")
    if name not in lists:
        raise ValueError(f"{path}: language_codes={name}: known are {', '.join(lists)}")
    return [f"__{code}__" for code in lists[name].split()]


def _choose_pair(folder: Path, tags: Mapping[str, str], languages: str) -> tuple[str, str]:
    """Return the tags of two languages. ValueError, which lists those known, without them."""
    known = {tag[1:-1]: tag for tag in tags.values()}
    short = {name.split("_")[0]: name for name in known}
    both = [short.get(each, each) for each in languages.split("-")]
    if len(both) == 2 and both[0] in known and both[1] in known:
        return known[both[0]], known[both[1]]
    names = ", ".join([*known][:12]) + (", ..." if len(known) > 12 else "")
    first = "-".join([*known, "en", "fr"][:2])
    wrong = f"{languages} is no pair of its" if languages else "name two of its"
    raise ValueError(f"{folder}: {wrong} {len(known)} languages, as --languages {first}: {names}")
