"""The option `--engine ray` of `glassformer translate`: a corpus on many processes or machines."""

import functools
from pathlib import Path
from typing import Any

from glassformer.cli.decoding import choose_search
from glassformer.cli.terminal import count_if_file, show_progress, warn
from glassformer.data.files import STANDARD


def translate_on_cluster(options: dict[str, Any]) -> None:
    """Translate a file with Ray, as the other options say."""
    from glassformer.cli.translate import tell_line
    from glassformer.config import Config
    from glassformer.model.files.directory import CONFIG, locate

    from ..ray_job import ShardJob, translate_shards

    file, out = options["file"], options["output"]
    if file == STANDARD or not file.is_file() or out is None or out == STANDARD:
        raise ValueError("--engine ray translates a FILE into a file: name both, with --output")
    for name, option in (("ensemble", "model"), ("lm", "lm"), ("glossary", "glossary")):
        if options[name]:
            raise ValueError(f"--{option} does not go with --engine ray: it deals out one model")
    folder = locate(options["model"])
    config = Config.load(folder / CONFIG)
    if config.data.context:
        raise ValueError(
            f"--engine ray does not go with data.context={config.data.context}: a shard does not "
            "know the lines before it"
        )
    decode = choose_search(config, options)
    job = ShardJob(
        model=str(folder.resolve()),
        source=str(file.resolve()),
        decode=decode.model_dump(),
        n_best=options["n_best"] or 1,
        split=not options["no_split"],
        again=not (options["no_guard"] or options["n_best"]),
        seed=options["seed"] or 0,
        precision=options["precision"],
        device=options["device"],
    )
    render = functools.partial(tell_line, n_best=options["n_best"], as_json=options["as_json"])
    with show_progress("translating", count_if_file(file)) as tell:
        shards = translate_shards(
            job,
            Path(out),
            render,
            workers=options["workers"] or 1,
            threads=options["threads"] or 1,
            shard_lines=options["shard_lines"] or 10_000,
            address=options["ray_address"],
            overwrite=options["overwrite"],
            progress=tell,
        )
    if shards:
        warn(f"{shards:,} shards were there already")
