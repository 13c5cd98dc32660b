"""Messages for a folder that is not a model directory: which toolkit wrote it, and what to do.

Only file names, the beginnings of small files and JSON are read; nothing is loaded.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]*[\w-]")
SMALL = 1 << 20  # bytes of a file that is read here
POINTER = b"version https://git-lfs.github.com/"  # git's placeholder for a large file begins so
NOT_READ = "Its weights cannot be imported"
TRAIN = "train a model here on the same text (glassformer train)"
KINDS = {
    "marian": "MarianMT (OPUS-MT)",
    "m2m_100": "M2M-100 and NLLB",
    "mbart": "mBART-50",
    "pegasus": "Pegasus, as export writes it",
}  # of checkpoints of Hugging Face that can be imported, by `model_type`

Names = set[str]


def recognise(path: Path) -> str | None:
    """Return what a path is and what to do with it, in one or two sentences; None if unknown."""
    if not path.exists():
        return _recognise_name(path)
    folder = path if path.is_dir() else path.parent
    try:
        names = {each.name for each in folder.iterdir()}
    except OSError:
        return None
    if path.is_file():
        return _recognise_file(path, names)
    return next((message for message in (look(path, names) for look in LOOKS) if message), None)


def find_toolkit(path: Path) -> str | None:
    """Return the toolkit whose model a folder or a file is, if it can be imported; else None."""
    folder = path if path.is_dir() else path.parent
    try:
        names = {each.name for each in folder.iterdir()}
    except OSError:
        return None
    if path.is_file():
        names = {path.name, *(n for n in names if not n.endswith((".npz", ".ckpt", ".pt")))}
    elif _is_ours(path, names) or _is_ctranslate2(path, names) or _is_argos(path, names):
        return None
    return next((name for name, look in TOOLKITS.items() if look(path, names)), None)


def _recognise_name(path: Path) -> str | None:
    """Return advice if the path looks like a name of the Hugging Face hub; else None.

    Such a name has one slash, and the part before it is no folder here.
    """
    name = path.as_posix()
    if not HUB_NAME.fullmatch(name) or path.parent.exists():
        return None
    return (
        f"there is no folder {name}. If that is a name of the Hugging Face hub, fetch it first "
        f"(hf download {name} --local-dir {path.name}), then: glassformer import {path.name} --out "
        f"my-{path.name}"
    )


def _recognise_file(path: Path, names: Names) -> str | None:
    """Return advice if the path is one file of a model, given instead of its folder."""
    if path.name in ("model.safetensors", "config.toml", "config.json", "pytorch_model.bin"):
        return f"{path} is one file of a model: name its folder, {path.parent}"
    if path.suffix == ".argosmodel":
        return _tell(path, "a package of Argos Translate", "a CTranslate2 model is in it")
    for look in (_is_marian, _is_joeynmt, _is_fairseq, _is_opennmt_py):
        if path.suffix in (".npz", ".ckpt", ".pt") and (message := look(path, {*names, path.name})):
            return message
    return None


def _is_ours(folder: Path, names: Names) -> str | None:
    if {"config.toml", "model.safetensors"} <= names:
        return f"{folder} is a model of glassformer already: translate with it as it is"
    if {"config.toml", "model.bin"} <= names:
        return f"{folder} is an export for CTranslate2: use the model that it was made from"
    if not {"config.toml", "model.safetensors"} & names and (folder / "run" / "run.json").is_file():
        goes_on = f"glassformer train --resume {folder} goes on"
        return f"{folder} is a training without a model yet: {goes_on}"
    if "run.json" in names:
        return f"{folder} is what a training of glassformer needs: the model is {folder.parent}"
    if {"progress.json", "weights.safetensors"} <= names:
        return (
            f"{folder} is a checkpoint of a training of glassformer: glassformer average makes a "
            "model of several"
        )
    return None


def _is_ctranslate2(folder: Path, names: Names) -> str | None:
    vocabularies = {"shared_vocabulary", "source_vocabulary", "vocabulary"}
    if "model.bin" not in names or not any(Path(name).stem in vocabularies for name in names):
        return None
    return _tell(folder, "a CTranslate2 model", "it no longer has the weights as they were trained")


def _is_argos(folder: Path, names: Names) -> str | None:
    if {"metadata.json", "model"} <= names:
        return _tell(folder, "a package of Argos Translate", "a CTranslate2 model is in it")
    return None


def _is_eole(folder: Path, names: Names) -> str | None:
    return _tell_import(folder, "a model of Eole") if "model.00.safetensors" in names else None


def _is_huggingface(folder: Path, names: Names) -> str | None:
    if "config.json" not in names:
        return None
    raw = _read_json(folder / "config.json")
    kind = raw.get("model_type")
    if not isinstance(kind, str):
        return None
    for name in sorted(names & {"model.safetensors", "pytorch_model.bin"}):
        if is_pointer(folder / name):
            return tell_pointer(folder / name)
    what = f"a checkpoint of Hugging Face of the kind {kind}"
    if kind not in KINDS:
        return f"{folder} is {what}: only {', '.join(KINDS.values())} can be imported"
    more = "" if kind in ("marian", "pegasus") else " --languages en-fr"
    return _tell_import(folder, what, more)


def _is_marian(folder: Path, names: Names) -> str | None:
    if any(_begins_as_marian(folder, name) for name in names if name.endswith(".bin")):
        return _tell_import(folder, "a model in Marian's own files")
    if not any(name.endswith(".npz") for name in names):
        return None
    known = "decoder.yml" in names or any(
        name.endswith((".npz.yml", ".npz.decoder.yml", ".vocab.yml", ".spm")) for name in names
    )
    if not (known or folder.suffix == ".npz"):
        return None
    return _tell_import(folder, "a model in Marian's own files")


def _begins_as_marian(path: Path, name: str) -> bool:
    """Return whether a file is one of Marian's binary ones, of version 1."""
    file = path / name if path.is_dir() else path.with_name(name)
    try:
        with file.open("rb") as opened:
            return opened.read(8) == bytes([1, *[0] * 7])
    except OSError:
        return False


def _is_joeynmt(folder: Path, names: Names) -> str | None:
    has_vocabulary = any(re.fullmatch(r"(src|trg)_vocab\.txt", name) for name in names)
    is_one = any(name.endswith(".ckpt") for name in names) and (
        has_vocabulary or {"config.yaml", "validations.txt"} & names
    )
    return _tell_import(folder, "a model of JoeyNMT") if is_one else None


def _is_fairseq(folder: Path, names: Names) -> str | None:
    has_dictionary = any(re.fullmatch(r"dict\.[\w-]+\.txt", name) for name in names)
    has_checkpoint = any(re.fullmatch(r"(checkpoint\w*|model\w*)\.pt", name) for name in names)
    is_training = bool({"checkpoint_best.pt", "checkpoint_last.pt"} & names)
    is_one = (has_dictionary and has_checkpoint) or is_training
    return _tell_import(folder, "a model of fairseq") if is_one else None


def _is_opennmt_py(folder: Path, names: Names) -> str | None:
    if any(re.search(r"_step_\d+(\.pt)?$", name) for name in names):
        return _tell_import(folder, "a model of OpenNMT-py")
    return None


def _is_opennmt_tf(folder: Path, names: Names) -> str | None:
    if any(re.fullmatch(r"(model\.)?ckpt-\d+\.index", name) for name in names):
        return _tell(folder, "a model of OpenNMT-tf or tensor2tensor")
    return None


def _is_sockeye(folder: Path, names: Names) -> str | None:
    is_one = "params.best" in names and any(name.startswith("vocab.") for name in names)
    return _tell(folder, "a model of Sockeye") if is_one else None


def _tell_import(folder: Path, what: str, more: str = "") -> str:
    """Return one sentence on what can be imported, with the command that does it."""
    result = "makes a model of it"
    return f"{folder} is {what}: glassformer import {folder} --out my-model{more} {result}"


def _tell(folder: Path, what: str, why: str = "") -> str:
    """Return one sentence on what cannot be imported, and one on what to do."""
    reason = f" ({why})" if why else ""
    return (
        f"{folder} is {what}. {NOT_READ}{reason}: import takes models of Hugging Face (MarianMT, "
        "M2M-100, NLLB, mBART-50), Marian, fairseq, OpenNMT-py, Eole and JoeyNMT; or "
        f"{TRAIN}"
    )


LOOKS: tuple[Callable[[Path, Names], str | None], ...] = (
    _is_ours,
    _is_ctranslate2,
    _is_argos,
    _is_eole,
    _is_huggingface,
    _is_marian,
    _is_joeynmt,
    _is_fairseq,
    _is_opennmt_py,
    _is_opennmt_tf,
    _is_sockeye,
)


# Those that `import` reads. A checkpoint of Hugging Face may be of a kind that it does not.
TOOLKITS: dict[str, Callable[[Path, Names], str | None]] = {
    "eole": _is_eole,
    "huggingface": _is_huggingface,
    "marian": _is_marian,
    "joeynmt": _is_joeynmt,
    "fairseq": _is_fairseq,
    "opennmt": _is_opennmt_py,
}


def _read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a small file; an empty one if there is none."""
    try:
        payload = json.loads(path.read_text(encoding="utf-8")) if _is_small(path) else None
    except (OSError, ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def _is_small(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= SMALL


def is_pointer(path: Path) -> bool:
    """Return whether a file is a Git LFS pointer, the placeholder for a large file."""
    if not _is_small(path):
        return False
    with path.open("rb") as file:
        return file.read(len(POINTER)) == POINTER


def tell_pointer(path: Path) -> str:
    return f"{path} is what git leaves in the place of a large file: git lfs pull fetches the file"
