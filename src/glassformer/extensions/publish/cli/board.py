"""The command `glassformer board`: a table of many models."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, arg, opt
from glassformer.cli.terminal import open_output, to_json


def board(
    folder: Path = arg("FOLDER", "A folder with models in it, also deeper.", default=...),
    output: Path | None = opt("FILE", "Write a page, FILE.html, instead.", "--output", "-o"),
    as_json: bool = AS_JSON,
) -> None:
    """Put many models in one table: languages, size, scores, looks at the test text, data.

    It reads their cards and loads no model. For a fair comparison of some on one text, use
    evaluate.

    \b
    glassformer board my-models
    glassformer board my-models -o board.html
    """
    from ..board import make_board, render_board

    result = make_board(folder)
    if output:
        with open_output(output) as out:
            out.write(render_board(result, f"Models in {folder.resolve().name}"))
    elif as_json:
        print(to_json(result.to_json()))
    else:
        print(result)
