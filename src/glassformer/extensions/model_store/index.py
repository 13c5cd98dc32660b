"""The index of a place that has models: a folder, or the address of one on a web server.

`models.json` names each model with the zip file that holds it, the SHA-256 and the size of that
file, the size of what it holds, and the two languages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
)

from glassformer.foundation.disk import read_toml, write_json

INDEX = "models.json"
MOST_INDEX = 1 << 20  # bytes
PATIENCE = 30  # seconds without an answer
NAME = re.compile(r"\w[\w.-]{0,99}")
SHA256 = re.compile(r"[0-9a-f]{64}")
Read = Callable[[int], bytes]  # the next bytes of a file, at most so many


class ListedModel(NamedTuple):
    """A model that a place has."""

    name: str
    file: str  # beside the index
    sha256: str  # of the file
    bytes: int  # of the file
    unpacked: int  # bytes of what it holds
    languages: str = ""  # like "en-fr"


def is_address(place: str) -> bool:
    return urlsplit(place).scheme in ("http", "https")


def read_index(place: str) -> dict[str, ListedModel]:
    """Return the models of a place by name; ValueError, which names it, if it has no index."""
    where = f"{place.rstrip('/')}/{INDEX}" if is_address(place) else str(Path(place) / INDEX)
    with open_file(place, INDEX) as read:
        data = read(MOST_INDEX + 1)
    try:
        if len(data) > MOST_INDEX:
            raise ValueError("it is too large")
        return {each.name: each for each in map(_parse, json.loads(data)["models"])}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{where}: no list of models ({error})") from None


def _parse(entry: dict[str, object]) -> ListedModel:
    """Return an entry of the index. ValueError if it could name anything else than a zip file."""
    listed = ListedModel(**{name: entry[name] for name in ListedModel._fields if name in entry})  # type: ignore[arg-type]
    names = [*(isinstance(each, str) and NAME.fullmatch(each) for each in listed[:2])]
    sizes = [isinstance(each, int) and each > 0 for each in (listed.bytes, listed.unpacked)]
    is_sum = isinstance(listed.sha256, str) and SHA256.fullmatch(listed.sha256)
    if not (all(names) and all(sizes) and is_sum and isinstance(listed.languages, str)):
        raise ValueError(f"an entry is damaged: {str(entry)[:80]}")
    return listed


def write_index(folder: Path, added: ListedModel) -> None:
    """Add a model to the index of a folder, in the place of one of the same name."""
    path = folder / INDEX
    listed = read_index(str(folder)) if path.is_file() else {}
    listed[added.name] = added
    write_json(path, {"models": [listed[name]._asdict() for name in sorted(listed)]})


@contextmanager
def open_file(place: str, name: str) -> Iterator[Read]:
    """Open a file of a place. ValueError, in one sentence, if it cannot be opened or read."""
    if not is_address(place):
        path = Path(place) / name
        if not path.is_file():
            raise ValueError(f"{path} is not there: --from names a folder or a web address")
        with path.open("rb") as file:
            yield file.read
        return
    address = f"{place.rstrip('/')}/{quote(name)}"
    with _explain(address):
        answer = _make_opener().open(address, timeout=PATIENCE)

    def read(size: int) -> bytes:
        with _explain(address):
            data: bytes = answer.read(size)
        return data

    with answer:
        yield read


@contextmanager
def _explain(address: str) -> Iterator[None]:
    """Raise ValueError, in one sentence, for the errors of a web server."""
    try:
        yield
    except HTTPError as error:
        raise ValueError(f"{address}: the server answers {error.code} ({error.reason})") from None
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise ValueError(
            f"{address} cannot be reached ({reason}); `glassformer models` lists what is here"
        ) from None


def _make_opener() -> OpenerDirector:
    """Return what opens web addresses, and nothing else that a server might redirect to."""
    opener = OpenerDirector()
    handlers = (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPRedirectHandler)
    for handler in (*handlers, HTTPDefaultErrorHandler, HTTPErrorProcessor):
        opener.add_handler(handler())
    return opener


def read_languages(folder: Path) -> str:
    """Return the languages of a model directory, like "en-fr"; "" if they are not said."""
    from glassformer.model.files.directory import CONFIG

    data = read_toml(folder / CONFIG).get("data", {})
    return "-".join(filter(None, (data.get("source_lang"), data.get("target_lang"))))
