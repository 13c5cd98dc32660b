"""Routes /api/figures and /api/traces/{id}/figures: pictures of a recording."""

import tempfile
import warnings
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Request, Response

from ..api_error import ApiError
from ..service.service import Service, TheService, TheTrace
from .runs import find_run

router = APIRouter(tags=["pictures"])
ALLOWED = "default-src 'none'; style-src 'unsafe-inline'; font-src data:; frame-ancestors 'none'"
TYPES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf", "gif": "image/gif"}


@router.get("/figures")
def list_figures() -> dict[str, Any]:
    """List all pictures that can be drawn."""
    from glassformer.extensions.pictures import PICTURES

    return {"figures": [_describe_picture(each) for each in PICTURES.values()]}


@router.get("/traces/{id}/figures/{figure}", response_class=Response)
def draw_figure(
    figure: str,
    trace: TheTrace,
    request: Request,
    service: TheService,
    format: Literal["svg", "png", "pdf", "gif"] = "svg",
    lang: Literal["en", "zh"] = "en",
) -> Response:
    """Draw a picture of the recording; the query has its options, such as layer, head, query."""
    from glassformer.extensions.pictures.parts.render import save_scene
    from glassformer.extensions.pictures.pictures import find_picture, make_scene

    try:
        picture = find_picture(figure, trace.settings.network)
    except ValueError as error:
        raise ApiError(404, str(error)) from None
    fields = {k: v for k, v in request.query_params.items() if k not in ("format", "lang")}
    options = {name: _read(picture, name, value, service) for name, value in fields.items()}
    options["lang"] = lang
    with (
        service.drawing,
        warnings.catch_warnings(action="ignore"),
        tempfile.TemporaryDirectory() as place,
    ):
        path = Path(place) / f"{picture.id}.{format}"
        scene = make_scene(trace, picture.id, **options)
        if format == "gif" and not scene.captions:
            raise ApiError(400, f"{picture.id} does not move: format is svg, png or pdf")
        save_scene(scene, path)
        headers = {"Cache-Control": "private, max-age=3600", "Content-Security-Policy": ALLOWED}
        return Response(path.read_bytes(), media_type=TYPES[format], headers=headers)


def _describe_picture(picture: Any) -> dict[str, Any]:
    names = ("id", "en", "zh", "kind", "needs", "network")
    shown = {name: getattr(picture, name) for name in names}
    return {**shown, "options": list(picture.options)}


def _read(picture: Any, name: str, value: str, service: Service) -> Any:
    """Return the value of an option; the id of a run or a recording becomes that object."""
    from glassformer.extensions.pictures.parts.options import read_option

    if name not in picture.options:
        others = ", ".join(picture.options)
        raise ApiError(400, f"{picture.id} has no option {name}; it has {others}")
    if name == "watch":
        return find_run(service, value)
    if name == "other":
        return service.recordings.find(value).trace
    return read_option(picture.id, name, value)
