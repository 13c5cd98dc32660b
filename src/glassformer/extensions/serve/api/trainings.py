"""Routes /api/trainings: upload text, check it, train on it, and take the model."""

import secrets
import zipfile
from pathlib import Path
from typing import Annotated, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import FileResponse, Response
from pydantic import Field
from starlette.background import BackgroundTask
from starlette.convertors import StringConvertor, register_url_convertor

from ..api_error import TrainingError
from ..service.own_trainings import TEXT, OwnTrainings, list_published
from ..service.service import TheService
from ..service.streams import Json
from ..service.uploads import UploadWriter, explain_full, name_part
from .requests import Body


class PartConvertor(StringConvertor):
    """A part of a text in a path, so that `check` or `start` there is none."""

    regex = "source|target|pairs"


register_url_convertor("part", PartConvertor())
router = APIRouter(prefix="/trainings", tags=["trainings"])
CODE = Field(max_length=20, examples=["en"])


def find_trainings(service: TheService) -> OwnTrainings:
    if service.own_trainings is None:
        raise TrainingError("off", 403)
    return service.own_trainings


TheTrainings = Annotated[OwnTrainings, Depends(find_trainings)]


class TrainingRequest(Body):
    """The request for an empty training."""

    name: str = Field("", max_length=80)
    source: str = CODE
    target: str = CODE


class StartRequest(Body):
    """The request to train on the text that was uploaded."""

    minutes: float = Field(5.0, examples=[5])
    size: Literal["auto", "tiny", "small", "base"] = "auto"
    mended: bool = Field(True, description="Without the pairs that check-data leaves out.")


@router.get("", response_class=Json)
def list_trainings(trainings: TheTrainings) -> Response:
    """List the trainings that were begun here, the newest first, and the limits."""
    trainings.offer_models()
    limits = trainings.limits
    return Json(
        {
            "trainings": [trainings.describe(each) for each in trainings.list_all()],
            "limits": {
                "minutes": limits.minutes,
                "upload": limits.upload << 20,  # bytes
                "disk": limits.disk << 20,
            },
        }
    )


@router.post("", status_code=201, response_class=Json)
def create_training(body: TrainingRequest, trainings: TheTrainings) -> Response:
    """Make an empty training: its text is to be uploaded."""
    result = trainings.create(body.name, body.source, body.target)
    return Json(trainings.describe(result), 201)


@router.get("/{id}", response_class=Json)
def get_training(id: str, trainings: TheTrainings) -> Response:
    """Return the state of a training, what check-data found, and how long it still takes."""
    trainings.offer_models()
    return Json(trainings.describe(trainings.find(id)))


@router.put("/{id}/{part:part}", response_class=Json)
async def upload_text(
    id: str,
    part: Literal["source", "target", "pairs"],
    request: Request,
    trainings: TheTrainings,
    name: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Upload one side of the text, or a table of pairs, as the body; `name` is the file's."""
    training = await run_sync(trainings.find, id)
    name = Path(name.replace("\\", "/")).name or part
    announced = request.headers.get("content-length", "0")
    size, most = int(announced) if announced.isdecimal() else 0, trainings.limits.upload << 20
    await run_sync(trainings.check_room, min(size, most))
    writer = UploadWriter(training.folder / TEXT, name_part(part, name), name, most)
    try:
        if size > most:
            raise TrainingError("large", 413, name=name, most=most >> 20)
        async for block in request.stream():
            await run_sync(writer.add, block)
        result = await run_sync(writer.finish)
        await run_sync(trainings.add_file, id, part, result)
    finally:
        await run_sync(writer.close)
    return Json(await run_sync(lambda: trainings.describe(trainings.find(id))))


@router.post("/{id}/check", response_class=Json)
def check_training(id: str, trainings: TheTrainings) -> Response:
    """Start check-data on the text; the training is then "checking", and "checked" at the end."""
    return Json(trainings.describe(trainings.check(id)))


@router.post("/{id}/start", response_class=Json)
def start_training(id: str, body: StartRequest, trainings: TheTrainings) -> Response:
    """Start to train; what is not said is chosen as the recipe auto chooses it."""
    started = trainings.start(id, body.minutes, body.size, body.mended)
    return Json(trainings.describe(started))


@router.post("/{id}/stop", response_class=Json)
def stop_training(id: str, trainings: TheTrainings) -> Response:
    """Ask the training to save itself and end, after its present update."""
    return Json(trainings.describe(trainings.stop(id)))


@router.post("/{id}/resume", response_class=Json)
def resume_training(id: str, trainings: TheTrainings) -> Response:
    """Go on with a training that was stopped, or that was killed."""
    return Json(trainings.describe(trainings.resume(id)))


@router.delete("/{id}", response_class=Json)
def delete_training(id: str, trainings: TheTrainings) -> Response:
    """Delete a training with its text and its model, also while it runs."""
    trainings.delete(id)
    return Json({"deleted": id})


@router.get("/{id}/file", response_class=Response)
def download_model(id: str, trainings: TheTrainings) -> FileResponse:
    """Return the model as a zip of its directory, without the text that it was trained on."""
    files = list_published(trainings.find(id))
    packed = trainings.folder / f"{secrets.token_hex(8)}.zip"
    try:
        with zipfile.ZipFile(packed, "w") as archive:
            for path in files:
                archive.write(path, f"{id}/{path.name}")
    except OSError as error:
        packed.unlink(missing_ok=True)
        raise explain_full(error) from None
    drop = BackgroundTask(packed.unlink, missing_ok=True)
    headers = {"Accept-Ranges": "none"}
    return FileResponse(packed, filename=f"{id}.zip", headers=headers, background=drop)
