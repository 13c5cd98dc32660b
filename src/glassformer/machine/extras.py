"""The packages that only some verbs need, and which extra of this package brings each."""

from __future__ import annotations

EXTRAS = {"torch": "train", "matplotlib": "see", "lxml": "documents"}
EXTRAS |= dict.fromkeys(("anyio", "fastapi", "prometheus_client", "starlette", "uvicorn"), "serve")


def explain_missing(error: ModuleNotFoundError) -> str:
    """Return in one sentence what to install; "" if no extra brings what is missing."""
    if extra := EXTRAS.get((error.name or "").partition(".")[0]):
        command = f"pip install 'glassformer[{extra}]'"
        return f"this needs {error.name}, which is not installed: {command}"
    return ""
