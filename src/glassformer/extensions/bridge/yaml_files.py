"""Read YAML, in which JoeyNMT and Marian keep settings and vocabularies."""

from pathlib import Path
from typing import Any

from glassformer.foundation.disk import read_text
from glassformer.foundation.machine.extras import need
from glassformer.foundation.typed_json import check_type


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a file. ValueError if there is none, or PyYAML is not installed."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """Return the mapping in a text. ValueError, which begins with `where`, if there is none."""
    yaml = need("yaml")
    try:
        result = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        message = " ".join(str(error).split())
        raise ValueError(f"{where}: damaged (no YAML: {message})") from None
    return check_type(result, dict[str, Any], where)
