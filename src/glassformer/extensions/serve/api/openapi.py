"""Additions to FastAPI's OpenAPI document: our errors and LibreTranslate's requests."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import compile_path

from ..service.streams import EVENTS

TEXT = {"type": "string", "minLength": 1}
KEY = {"api_key": {"type": "string", "description": "Where the server asks for one."}}


def _describe(
    fields: dict[str, Any], required: list[str], example: dict[str, Any]
) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields | KEY, "required": required}
    plain = {name: value for name, value in fields.items() if name != "q"} | {"q": TEXT}
    form = {**schema, "properties": plain | KEY}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": schema, "example": example},
                "application/x-www-form-urlencoded": {"schema": form, "example": example},
            },
        }
    }


TRANSLATE = _describe(
    {
        "q": {"oneOf": [TEXT, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
        "source": {"type": "string", "description": "A code of /languages, or auto."},
        "target": {"type": "string", "description": "A code of /languages."},
        "format": {"type": "string", "enum": ["text", "html"], "default": "text"},
        "alternatives": {"type": "integer", "minimum": 0, "default": 0},
        "alignment": {"type": "boolean", "description": "Say which words belong together."},
        "confidence": {"type": "boolean", "description": "Say how sure each sentence is."},
        "stream": {"type": "boolean", "description": "Send each sentence as an event."},
    },
    ["q", "source", "target"],
    {"q": "The cat is on the mat.", "source": "en", "target": "fr"},
)
TRANSLATE_FILE = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "source": {"type": "string", "description": "A code, or auto."},
                        "target": {"type": "string"},
                        **KEY,
                    },
                    "required": ["file", "source", "target"],
                }
            }
        },
    }
}
STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {EVENTS: {}}}}
DETECT = _describe({"q": TEXT}, ["q"], {"q": "Je suis étudiant."})
ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string", "description": "One sentence."}},
    "required": ["error"],
    "example": {"error": "there is no model dem; did you mean demo?"},
}


def describe_api(app: FastAPI) -> dict[str, Any]:
    """Return FastAPI's document, with our errors in place of its own."""
    result = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Error"] = ERROR
    for path in result["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    return result


def list_methods(document: dict[str, Any], path: str) -> list[str]:
    """Return all methods of a path, by the document; a route alone knows only its own.

    As OpenAPI has it, a path without a parameter there is meant before one with it. A path that is
    not there is a page. HEAD goes with GET.
    """
    matching = [each for each in document["paths"] if compile_path(each)[0].match(path)]
    nearest = min(matching, key=lambda template: template.count("{"), default="")
    methods = {method.upper() for method in document["paths"].get(nearest, ("get",))}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))
