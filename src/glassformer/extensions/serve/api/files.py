"""LibreTranslate's translation of documents: /translate_file and /download_file."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.datastructures import UploadFile

from glassformer.extensions.documents.nothing import NOTHING_TO_TRANSLATE

from ..api_error import ApiError
from ..limits import wait_for
from ..proxies import name_own_address
from ..request_log import LogEntry, TheLogEntry
from ..service.service import Service, TheService
from .bodies import read_form
from .openapi import TRANSLATE_FILE
from .requests import check_characters
from .translate_request import check_access

router = APIRouter(tags=["LibreTranslate"])
SNIFFED = 20_000  # characters by which the language is detected


@router.post("/translate_file", openapi_extra=TRANSLATE_FILE)
async def translate_file(
    request: Request, service: TheService, entry: TheLogEntry
) -> dict[str, str]:
    """Translate a document with its layout and markup; the answer says where it can be fetched."""
    async with read_form(request) as form:
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        owner = check_access(service, fields, request, entry)
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise ApiError(400, "Invalid request: missing file parameter")
        for field in ("source", "target"):
            if not fields.get(field):
                raise ApiError(400, f"Invalid request: missing {field} parameter")
        name = PurePath(file.filename).name
        work = _translate(service, FileOrder(name, file, owner, fields), entry)
        written, notes = await wait_for(work, request, service.limits.document_seconds)
    kept = service.files.add(written, name)
    remark = {"note": "; ".join(notes)} if notes else {}
    return {
        "translatedFileUrl": f"{name_own_address(request)}download_file/{quote(kept)}",
        **remark,
    }


class FileOrder(NamedTuple):
    """A document to translate, and who asks for it."""

    name: str
    file: UploadFile
    owner: str
    fields: Mapping[str, str]  # source and target, as the form has them


async def _translate(
    service: Service, order: FileOrder, entry: LogEntry
) -> tuple[bytes, list[str]]:
    """Return the translated document, and what its owner should know.

    It is open in a process that ends with the request.
    """
    async with service.documents.open(order.file, order.name) as document:
        characters = sum(map(len, document.readable))
        entry.note(texts=len(document.texts), characters=characters)
        check_characters(characters, service.limits.document)
        sample = "\n".join(document.readable)[:SNIFFED]
        languages = order.fields["source"], order.fields["target"]
        with service.access.charge(order.owner, characters):
            routes = await service.languages.choose_routes([sample], *languages)
            entry.note(models=routes.names)
            (route,) = routes.models.values()
            translate = service.translation_service.translate_document
            translations = await translate(document, route)
            written = await document.fill(translations, (route[0].source, route[-1].target))
    notes = document.failures.list_first()
    if not notes and not any(map(str.isalnum, sample)):
        notes = [NOTHING_TO_TRANSLATE]
    return written, notes


@router.get("/download_file/{name}", response_class=Response)
def download_file(name: str, service: TheService) -> Response:
    """Return a translated document."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    data = service.files.find(name)
    return Response(data, media_type="application/octet-stream", headers=headers)
