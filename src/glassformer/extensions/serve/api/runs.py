"""Routes /api/runs: training runs on disk, running or finished."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from glassformer.foundation.disk import read_json
from glassformer.foundation.typed_json import read_typed
from glassformer.model.files.directory import RUN

from ..api_error import ApiError, refuse_missing
from ..service.arrays import cut_slice, pack_array
from ..service.own_trainings import METRICS
from ..service.service import Service, TheService
from ..service.streams import EVENTS, HEADERS, Json, format_event

router = APIRouter(prefix="/runs", tags=["runs"])
WATCH = "watch"
EXAMPLE = Path(__file__).parents[1] / "example"  # a run that everybody has: tools/example_run.py
EVERY = 1.0  # seconds between two reads of a running training


@router.get("")
def list_runs(service: TheService) -> dict[str, Any]:
    """List the training runs, the newest first, and at the end the example."""
    runs = [_summarise(id, folder) for id, folder in find_runs(service).items()]
    return {"runs": sorted(runs, key=lambda run: (run["example"], -run["updated"]))}


@router.get("/{id}", response_class=Json)
def get_run(id: str, service: TheService, after: int = -1) -> Response:
    """Return curves, gradients and sample translations of the steps after `after`."""
    folder = find_run(service, id)
    return Json(
        {
            "metrics": _read_lines(folder / METRICS, after),
            "gradients": _read_lines(folder / WATCH / "gradients.jsonl", after),
            "sentences": [*_number(folder)],
            "snapshots": [*_read_snapshots(_list_snapshots(folder), after)],
        }
    )


@router.get("/{id}/events", response_class=Response)
async def follow_run(
    id: str, request: Request, service: TheService, after: int = -1
) -> StreamingResponse:
    """Stream the lines of a training as it writes them; the stream stays open."""
    folder = find_run(service, id)
    return StreamingResponse(_follow(folder, after, service), media_type=EVENTS, headers=HEADERS)


@router.get("/{id}/snapshots/{step}")
def list_snapshot(id: str, step: int, service: TheService) -> dict[str, Any]:
    """Return the names and shapes of the tensors recorded at a step."""
    from safetensors import safe_open

    with safe_open(_find_snapshot(find_run(service, id), step), "np") as file:
        names = list(file.keys())
        return {"tensors": {name: file.get_slice(name).get_shape() for name in names}}


@router.get("/{id}/snapshots/{step}/tensors/{name}", response_class=Response)
def get_snapshot(id: str, step: int, name: str, service: TheService, slice: str = "") -> Response:
    """Return one tensor of a snapshot, or a slice of it, as little-endian float32."""
    from safetensors import safe_open

    with safe_open(_find_snapshot(find_run(service, id), step), "np") as file:
        if name not in file.keys():  # noqa: SIM118
            raise refuse_missing("tensor", name, list(file.keys()))
        return pack_array(cut_slice(file.get_tensor(name), slice), name)


def find_runs(service: Service) -> dict[str, Path]:
    """Return the run folders by an id that is safe in a path.

    They are those of trainings that were begun in the app, those below the server's folder, and
    the example that comes with the package.
    """
    runs = dict[str, Path]()
    for folder in _list_folders(service):
        home = folder.parent if folder.name == RUN else folder
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", home.resolve().name).strip("-") or "run"
        if (folder / METRICS).is_file() and folder not in runs.values():
            runs[stem if stem not in runs else f"{stem}-{len(runs)}"] = folder
    return runs


def _list_folders(service: Service) -> Iterator[Path]:
    if service.own_trainings:  # first, so that their ids are those of their folders
        yield from sorted(service.own_trainings.folder.glob(f"*/{RUN}"))
    if top := service.runs:
        yield from (top, top / RUN, *sorted(top.glob(f"*/{RUN}")), *sorted(top.glob("*/")))
    yield EXAMPLE


def find_run(service: Service, id: str) -> Path:
    runs = find_runs(service)
    if id not in runs:
        raise refuse_missing("run", id, [*runs])
    return runs[id]


def _summarise(id: str, folder: Path) -> dict[str, Any]:
    metrics, path = _read_lines(folder / METRICS), folder / METRICS
    home = folder.parent if folder.name == RUN else folder
    return {
        "id": id,
        "name": home.resolve().name,
        "step": max((line["step"] for line in metrics), default=0),
        "updated": path.stat().st_mtime,
        "example": folder == EXAMPLE,
        "has_watch": (folder / WATCH / "sentences.json").is_file(),
    }


def _find_snapshot(folder: Path, step: int) -> Path:
    files = sorted((folder / WATCH).glob("*.safetensors"))
    paths = {int(path.stem): path for path in files if path.stem.isdecimal()}
    if step not in paths:
        near = min(paths, key=lambda other: abs(other - step), default=None)
        hint = "" if near is None else f"; the nearest is {near}"
        raise ApiError(404, f"nothing was recorded at step {step}{hint}")
    return paths[step]


def _list_snapshots(folder: Path) -> list[Path]:
    paths = sorted((folder / WATCH).glob("????????.json"))
    return [path for path in paths if path.stem.isdecimal()]


def _read_snapshots(paths: Iterable[Path], after: int) -> Iterator[dict[str, Any]]:
    for path in paths:
        if int(path.stem) > after:
            from glassformer.train.run.watch import SnapshotFacts

            with suppress(OSError, ValueError):  # the training may be writing it
                yield asdict(read_typed(path, SnapshotFacts))


def _number(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the sample sentences, with the ids of their references if there is a tokenizer."""
    from glassformer.extensions.pictures.runs import RunSentence
    from glassformer.text.kinds import load_tokenizer

    homes = (folder, folder.parent) if folder.name == RUN else (folder,)
    names = ("tokenizer.target.json", "tokenizer.json")
    path = next((home / n for home in homes for n in names if (home / n).is_file()), None)
    ids = {} if path is None else {t: n for n, t in enumerate(load_tokenizer(path).vocabulary)}
    with suppress(OSError, ValueError):
        path = folder / WATCH / "sentences.json"
        for each, raw in zip(read_typed(path, list[RunSentence]), read_json(path), strict=True):
            known = [ids.get(text) for text in each.reference_tokens]
            yield asdict(each) | {"reference_ids": raw.get("reference_ids", known)}


def _read_lines(path: Path, after: int = -1) -> list[dict[str, Any]]:
    """Return the complete lines after a step; the training may be writing the last line."""
    return [*_parse(_split_lines(path), after)]


def _split_lines(path: Path) -> list[str]:
    if not path.is_file():
        return []
    return path.read_text(encoding="utf-8", errors="replace").split("\n")


def _parse(lines: list[str], after: int) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            payload = json.loads(line)
            if isinstance(payload["step"], int) and payload["step"] > after:
                yield payload
        except (ValueError, KeyError, TypeError, RecursionError):
            continue


async def _follow(folder: Path, after: int, service: Service) -> AsyncIterator[bytes]:
    """Yield new lines and snapshots once a second, until the client leaves or the server ends."""
    from anyio.to_thread import run_sync

    sent = set[str]()
    yield b": following\n\n"
    while not service.closing.is_set():
        for event in await run_sync(_read_events, folder, sent, after):
            yield event
        after = -1  # from now on whatever is new: a training may go back to an earlier step
        if not int(asyncio.get_running_loop().time()) % 10:
            yield b": still at work\n\n"
        await asyncio.sleep(EVERY)


def _read_events(folder: Path, sent: set[str], after: int) -> list[bytes]:
    """Return the lines and snapshots after a step that are not in `sent` as events.

    After that, `sent` has all that there are now.
    """
    lines = _split_lines(folder / METRICS)
    versions = {_name_version(path): path for path in _list_snapshots(folder)}
    new_lines = [line for line in lines if line not in sent]
    new_paths = [path for version, path in versions.items() if version not in sent]
    sent.clear()
    sent.update(lines, versions)
    return [
        *(format_event("metrics", each) for each in _parse(new_lines, after)),
        *(format_event("snapshot", each) for each in _read_snapshots(new_paths, after)),
    ]


def _name_version(path: Path) -> str:
    with suppress(OSError):  # removed in between
        return f"{path} {path.stat().st_mtime_ns}"
    return str(path)
