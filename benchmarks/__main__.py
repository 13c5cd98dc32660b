"""Run one of the programs here: `python -m benchmarks VERB ...`; without a verb, list them."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

# Each verb is a module here with `add_options(parser)` and `main(options)`.
VERBS = {
    "Speed": ("train", "translate", "sizes", "learning", "quality", "gpu", "precision", "cpu"),
    "Details of speed": (
        "taps",
        "busy",
        "workers",
        "attention-cost",
        "layer-time",
        "local-attention",
    ),
    "Quality": (
        "race",
        "recipe",
        "shipped",
        "shipped-language",
        "everyday",
        "auto",
        "parent",
        "many-to-one",
        "ensembles",
        "pretraining",
        "diversify",
        "lengths",
        "long-sentences",
        "four-bit",
        "pronoun",
        "context",
        "ssru",
        "with-options",
    ),
    "Questions": ("questions", "extrapolation"),
    "Checks of translations": ("guards", "dropped", "familiarity", "names"),
    "Reading": ("sentences",),
    "Looking inside": ("cuts", "circuits", "methods", "taught"),
    "Changes of the code": ("fingerprints",),
    "Pages": ("gallery", "notebook"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb that `argv` names and return the exit code."""
    verb, *rest = [*(sys.argv[1:] if argv is None else argv)] or [""]
    if verb not in (name for names in VERBS.values() for name in names):
        print(list_verbs(), end="")
        return 2 * (verb not in ("", "-h", "--help"))
    module = import_module(f"benchmarks.{verb.replace('-', '_')}")
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {verb}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_options(parser)
    try:
        module.main(parser.parse_args(rest))
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    return 0


def list_verbs() -> str:
    """Return the verbs with the first lines of their modules, which are not imported for that."""
    lines = ["python -m benchmarks VERB --help"]
    for title, names in VERBS.items():
        lines += ["", f"{title}:"]
        for name in names:
            path = Path(__file__).with_name(f"{name.replace('-', '_')}.py")
            said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            lines.append(f"  {name:<20}{said.splitlines()[0]}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
