"""Translation of large files in shards, by many processes or machines, with Ray Data.

The text is cut into shards of whole lines. Each worker, on this machine or a cluster, translates
one shard at a time and writes it beside the output; when all are there, they are joined in order.
Finished shards are kept: a run that was stopped goes on with those that are missing. On a cluster
all machines need to see the text, the model and the output under the same paths.
"""

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from glassformer.config import Decode
from glassformer.data.files import take_fingerprint
from glassformer.extensions.ideas.shards import (
    MANIFEST,
    Shard,
    begin_parts,
    cut_file,
    join_shards,
    name_shard,
    read_shard,
)
from glassformer.foundation.disk import write_text
from glassformer.foundation.machine.extras import need
from glassformer.model.files.directory import LATER, locate
from glassformer.train.publish.card import hash_files
from glassformer.translate.options import choose_options
from glassformer.translate.sentence import CheckedTranslation

Render = Callable[[int, str, CheckedTranslation, str], str]
STORE = 1 << 28  # bytes of Ray's object store, if Ray is started here: the objects are small


@dataclass(frozen=True)
class ShardJob:
    """The settings that every worker needs; each of them affects what is written."""

    model: str
    source: str
    decode: dict[str, Any]
    n_best: int
    split: bool
    again: bool  # sentences with problems are searched for again
    seed: int
    precision: str
    device: str


def translate_shards(
    job: ShardJob,
    out: Path,
    render: Render,
    *,
    workers: int,
    threads: int = 1,
    shard_lines: int = 10_000,
    address: str | None = None,
    overwrite: bool = False,
    progress: Callable[[int], object] = lambda done: None,
) -> int:
    """Translate the file `job.source` into `out`, and return how many shards were there already.

    address: that of a running Ray cluster; None starts Ray here, and stops it at the end. render:
    makes the output line from its number (from 1), text, translations and precision; the workers
    have to be able to import it. progress: called with the number of further finished lines.
    ValueError if `out` was begun with other settings, or Ray is not installed.
    """
    shards = list(cut_file(Path(job.source), shard_lines))
    parts = out.with_name(f"{out.name}.parts")
    if overwrite and (parts / MANIFEST).is_file():
        shutil.rmtree(parts)
    _begin(parts, job, shard_lines, render)
    missing = [shard for shard in shards if not name_shard(parts, shard).is_file()]
    for shard in shards:
        progress(shard.lines * (shard not in missing))
    if missing:
        for done in _run(job, parts, render, missing, workers, threads, address):
            progress(done)
    join_shards(parts, shards, out)
    return len(shards) - len(missing)


def _begin(parts: Path, job: ShardJob, shard_lines: int, render: Render) -> None:
    """Make the folder; if it is there, raise ValueError unless it was made for the same job."""
    needed = {
        **asdict(job),
        "shard_lines": shard_lines,
        "format": getattr(render, "__name__", None) or str(getattr(render, "keywords", "")),
        "text": take_fingerprint(Path(job.source)).sha256,
        "model files": hash_files(locate(job.model), LATER),
    }
    begin_parts(parts, needed, "give --overwrite")


class Worker:
    """A worker process of Ray: it holds the model and translates one shard at a time."""

    def __init__(self, job: ShardJob, parts: str, render: Render, threads: int):
        from glassformer.translator import Translator

        self.job, self.parts, self.render = job, Path(parts), render
        self.translator = Translator.load(
            job.model, threads=threads, device=job.device, precision=job.precision
        )

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        for values in zip(*(batch[each.name] for each in fields(Shard)), strict=True):
            shard = Shard(*map(int, values))
            if not name_shard(self.parts, shard).is_file():  # Ray may assign a shard twice
                self.translate(shard)
        return {"lines": batch["lines"]}

    def translate(self, shard: Shard) -> None:
        texts = read_shard(Path(self.job.source), shard)
        options = choose_options(
            self.translator.config.decode,
            again=self.job.again,
            decode=Decode(**self.job.decode),
            n_best=self.job.n_best,
            split=self.job.split,
            seed=self.job.seed,
        )
        translated = self.translator.checker.translate_texts(texts, options, first_line=shard.first)
        rows = [
            self.render(shard.first + line, text, checked, self.translator.precision)
            for line, (text, checked) in enumerate(zip(texts, translated, strict=True), 1)
        ]
        write_text(name_shard(self.parts, shard), "".join(f"{row}\n" for row in rows))


def _run(
    job: ShardJob,
    parts: Path,
    render: Render,
    shards: list[Shard],
    workers: int,
    threads: int,
    address: str | None,
) -> Iterator[int]:
    """Translate the shards with Ray; yield the number of lines of each as it is done."""
    ray = start_ray(address, workers * threads)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        rows = [asdict(shard) for shard in shards]
        done = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            Worker,
            fn_constructor_args=(job, str(parts), render, threads),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
            num_cpus=threads,
            runtime_env={"env_vars": {"OMP_NUM_THREADS": str(threads)}},
        )
        for row in done.iter_rows():
            yield int(row["lines"])
    finally:
        ray.shutdown()


def start_ray(address: str | None, cpus: int) -> Any:
    """Return Ray, connected to a cluster, or started here with so many processors (None).

    ValueError if it is not installed, OSError if it does not start.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray sends no usage statistics
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    ray, _ = need("ray"), need("ray.data")
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        quiet |= {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": STORE}
    try:
        with _hush():
            ray.init(address=address, **quiet)
    except Exception as error:  # whatever Ray raises: a timeout is a bare Exception
        raise OSError(f"Ray did not start: {str(error).splitlines()[0]}") from None
    return ray


@contextmanager
def _hush() -> Iterator[None]:
    """Discard what is written to stderr, also by C++: Ray reports the level of its log there."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)
