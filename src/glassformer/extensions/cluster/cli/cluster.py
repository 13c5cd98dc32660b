"""The option `--engine ray` of `glassformer translate`: a corpus on many processes or machines."""

import functools
from pathlib import Path
from typing import Any

from glassformer.cli.decoding import choose_search
from glassformer.cli.terminal import count_if_file, show_progress, warn
from glassformer.data.files import STANDARD


def translate_on_cluster(given: dict[str, Any]) -> None:
    """Translate a file with Ray, as the other options say."""
    from glassformer.cli.translate import show_line
    from glassformer.config import Config
    from glassformer.model.files.directory import CONFIG, locate

    from ..ray_job import ShardJob, translate_shards

    file, out = given["file"], given["output"]
    if file == STANDARD or not file.is_file() or out is None or out == STANDARD:
        raise ValueError("--engine ray translates a FILE into a file: name both, with --output")
    for name, option in (("ensemble", "model"), ("lm", "lm"), ("glossary", "glossary")):
        if given[name]:
            raise ValueError(f"--{option} does not go with --engine ray: it deals out one model")
    folder = locate(given["model"])
    config = Config.load(folder / CONFIG)
    if config.data.context:
        raise ValueError(
            f"--engine ray does not go with data.context={config.data.context}: a shard does not "
            "know the lines before it"
        )
    decode = choose_search(config, given)
    job = ShardJob(
        model=str(folder.resolve()),
        source=str(file.resolve()),
        decode=decode.model_dump(),
        n_best=given["n_best"] or 1,
        split=not given["no_split"],
        again=not (given["no_guard"] or given["n_best"]),
        seed=given["seed"] or 0,
        precision=given["precision"],
        device=given["device"],
    )
    render = functools.partial(show_line, n_best=given["n_best"], as_json=given["as_json"])
    with show_progress("translating", count_if_file(file)) as tell:
        found = translate_shards(
            job,
            Path(out),
            render,
            workers=given["workers"] or 1,
            threads=given["threads"] or 1,
            shard_lines=given["shard_lines"] or 10_000,
            address=given["ray_address"],
            overwrite=given["overwrite"],
            progress=tell,
        )
    if found:
        warn(f"{found:,} shards were there already")
