"""A wheel with a model in it: `pip install my-language`, and three lines of Python translate.

A wheel is a zip archive (PEP 427): the package, with the model directory in it as data, and a
folder of metadata whose RECORD lists each file with its SHA-256. It needs no build tool, and runs
no code when it is installed.
"""

from __future__ import annotations

import keyword
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from glassformer.config import Config
from glassformer.foundation.disk import PARTIAL, check_new
from glassformer.foundation.version import __version__
from glassformer.model.files.directory import open_model
from glassformer.train.publish.card import read_facts

from .hub_readme import README, tell_pair

NAME = re.compile(r"[a-z0-9]+(?:[-_.]+[a-z0-9]+)*", re.IGNORECASE)  # of PyPI
VERSION = re.compile(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?")  # of PEP 440, the usual ones
FIRST = "1.0.0"
TAG = "py3-none-any"
MOMENT = (1980, 1, 1, 0, 0, 0)  # of each file: the same model makes the same wheel
TAKEN = {"glassformer", "torch", "numpy", "tokenizers"}

CODE = '''"""Translates {pair}.

    import {module}

    print({module}.translate("..."))

`translate` takes a text or a list of texts; `load()` is the translator of glassformer itself.
"""

from functools import cache
from pathlib import Path

MODEL = Path(__file__).with_name("model")


@cache
def load():
    """Return the translator, which is loaded once."""
    from glassformer.translator import Translator

    return Translator.load(MODEL)


def translate(text):
    """Return the translation of a text, or of each of a list of texts."""
    return load().translate(text)
'''


class WheelName(NamedTuple):
    """The name of a package on PyPI, its version, and the name that it is imported by."""

    name: str
    version: str
    module: str

    @property
    def file(self) -> str:
        return f"{self.module}-{self.version}-{TAG}.whl"


def read_wheel_name(asked: str) -> WheelName:
    """Return what NAME or NAME==VERSION means. ValueError if no package can be called so."""
    name, _, version = asked.partition("==")
    version = version or FIRST
    if not NAME.fullmatch(name):
        raise ValueError(f"--wheel {asked}: a name is of letters, digits and -, like my-language")
    if not VERSION.fullmatch(version):
        raise ValueError(f"--wheel {asked}: a version is like 1.0.0, as in {name}==1.0.0")
    module = re.sub(r"[-_.]+", "_", name).lower()
    if not module.isidentifier() or keyword.iskeyword(module) or module in TAKEN:
        raise ValueError(f"--wheel {asked}: Python cannot import {module}; choose another name")
    return WheelName(name, version, module)


def write_wheel(model: Path, asked: WheelName, out: Path, licence: str | None = None) -> Path:
    """Write a wheel with a published model into the folder `out`, and return its path.

    ValueError if it is there already.
    """
    path = out / asked.file
    check_new(path, "version")
    config, facts = open_model(model)[0], read_facts(model)
    files = dict(_list_files(model, asked, config, facts, licence))
    info = f"{asked.module}-{asked.version}.dist-info"
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    partial = path.with_name(path.name + PARTIAL)
    with ZipFile(partial, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = ZipInfo(name, MOMENT)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, ZIP_DEFLATED)
    partial.replace(path)
    return path


def _list_files(
    model: Path, asked: WheelName, config: Config, facts: Mapping[str, Any], licence: str | None
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file but RECORD."""
    pair = re.sub(r"[^\w ,-]", "?", tell_pair(config))  # it stands in code
    code = CODE.format(pair=pair, module=asked.module)
    yield f"{asked.module}/__init__.py", code.encode()
    for path in sorted(model.iterdir()):
        if path.is_file():
            yield f"{asked.module}/model/{path.name}", path.read_bytes()
    info = f"{asked.module}-{asked.version}.dist-info"
    message = licence or facts.get("licence")
    head = {
        "Metadata-Version": "2.1",
        "Name": asked.name,
        "Version": asked.version,
        "Summary": f"Translates {pair}, with a model of its own, offline",
        **({"License": " ".join(message.split())} if message else {}),
        "Requires-Python": ">=3.11",
        "Requires-Dist": f"glassformer>={__version__}",
        "Description-Content-Type": "text/markdown",
    }
    lines = "".join(f"{key}: {value}\n" for key, value in head.items())
    use = f'```python\nimport {asked.module}\n\nprint({asked.module}.translate("..."))\n```\n'
    readme = (model / README).read_text(encoding="utf-8").partition("\n---\n")[2]
    yield f"{info}/METADATA", f"{lines}\n{use}\n{readme}".encode()
    kind = "Wheel-Version: 1.0\nGenerator: glassformer\nRoot-Is-Purelib: true\n"
    yield f"{info}/WHEEL", f"{kind}Tag: {TAG}\n".encode()


def _digest(data: bytes) -> str:
    return urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
