"""The packages that only some verbs need, and which extra of this package brings each."""

from importlib import import_module
from typing import Any

EXTRAS = {"torch": "train", "matplotlib": "see", "lxml": "documents", "sacremoses": "moses"}
EXTRAS |= {"ctranslate2": "bridge", "yaml": "bridge", "onnx": "onnx", "onnxruntime": "onnx"}
EXTRAS |= {
    "charset_normalizer": "documents",
    "polib": "documents",
    "ray": "ray",
    "huggingface_hub": "hub",
}
EXTRAS["eflomal"] = "eflomal"
EXTENSIONS = "glassformer.extensions."
EXTRAS |= dict.fromkeys(("anyio", "fastapi", "prometheus_client", "starlette", "uvicorn"), "serve")


def need(package: str) -> Any:
    """Return a package that an extra brings. ValueError, in one sentence, if it is not there."""
    try:
        return import_module(package)
    except ImportError:
        raise ValueError(explain_missing(ModuleNotFoundError(name=package))) from None


def explain_missing(error: ModuleNotFoundError) -> str:
    """Return in one sentence what to install; "" if neither an extra nor an extension is missing.

    An extension that was removed leaves those that import it without it.
    """
    if (name := error.name or "").startswith(EXTENSIONS):
        return f"this needs the extension {name.split('.')[2]} of glassformer, which was removed"
    if extra := EXTRAS.get((error.name or "").partition(".")[0]):
        command = f"pip install 'glassformer[{extra}]'"
        return f"this needs {error.name}, which is not installed: {command}"
    return ""
