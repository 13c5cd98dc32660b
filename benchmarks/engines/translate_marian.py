"""Marian's translator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pymarian

from .translating import Rows, imported, read_sentences, serve
from .turns import Turns

BATCHES = (16, 32, 64, 128)


def main() -> None:
    turns, bare = Turns(), imported()
    folder, sentences, precision = read_sentences()
    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    engines: dict[tuple[tuple[str, Any], ...], pymarian.Translator] = {}

    def open_engine(**options: Any) -> pymarian.Translator:
        """Return a translator with these options, which Marian cannot change afterwards."""
        key = tuple(options.items())
        if key not in engines:
            engines.clear()
            engines[key] = pymarian.Translator(
                models=[str(folder / "model.npz")],
                vocabs=[str(folder / "words.yml")] * 2,
                gemm_type=precision,
                optimize=precision != "float32",
                maxi_batch_sort="src",
                maxi_batch=100,
                max_length_factor=10,
                quiet="",
                **options,
            )
        return engines[key]

    def translate(rows: Sequence[int], settings: dict[str, Any]) -> Rows:
        is_alone = len(rows) == 1
        engine = open_engine(
            cpu_threads=1 if is_alone else settings.get("workers", 1),
            mini_batch=1 if is_alone else settings.get("batch", 32),
            beam_size=settings["beam"],
            normalize=settings["alpha"],
        )
        text = "\n".join(" ".join(map(str, sentences.ids[row][:-1])) for row in rows)
        found: str = engine.translate(text)
        return [[sentences.vocabulary[int(x)] for x in line.split()] for line in found.split("\n")]

    choices = [
        {"workers": workers, "batch": batch}
        for workers in sorted({1, threads})
        for batch in BATCHES
    ]
    serve(turns, sentences, translate, bare, choices)


if __name__ == "__main__":
    main()
