"""Recordings as single files: the folder of a recording, zipped without compression."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

from ..see import Trace
from ..see.document import LEVELS
from ..see.files import HEAD, PARAMETERS, VOCABULARY
from .api_error import ApiError

FILES = {HEAD, PARAMETERS, VOCABULARY, *(f"{level}.safetensors" for level in LEVELS)}


def write_archive(trace: Trace, compact: bool, parameters: bool) -> bytes:
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "trace"
        trace.save(folder, compact=compact, parameters=parameters)
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
    return buffer.getvalue()


def read_archive(data: bytes, most: int) -> Trace:
    """Return the recording in a zip; other files in it are ignored.

    Raises ApiError if it is no recording, or has more than `most` bytes.
    """
    with tempfile.TemporaryDirectory() as place:
        try:
            _unpack(data, Path(place), most)
            return Trace.load(place)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            raise ApiError(400, f"this is no zip of a recording: {error}") from None
        except (ValueError, OSError) as error:
            raise ApiError(400, str(error).replace(f"{place}/", "").replace(place, "it")) from None


def _unpack(data: bytes, folder: Path, most: int) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            name = Path(entry.filename).name
            if name not in FILES or entry.is_dir():
                continue
            most -= entry.file_size
            if most < 0:
                raise ApiError(413, "the recording is too large")
            with archive.open(entry) as packed:
                (folder / name).write_bytes(packed.read(entry.file_size))
