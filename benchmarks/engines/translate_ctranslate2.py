"""CTranslate2's translator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import ctranslate2

from .translating import Rows, imported, read_sentences, serve
from .turns import Turns

BATCHES = (16, 32, 64, 128)


def main() -> None:
    turns, bare = Turns(), imported()
    folder, sentences, precision = read_sentences()
    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    engines: dict[tuple[int, int], ctranslate2.Translator] = {}

    def open_engine(workers: int, each: int) -> ctranslate2.Translator:
        if (workers, each) not in engines:
            engines.clear()
            engines[workers, each] = ctranslate2.Translator(
                str(folder), compute_type=precision, inter_threads=workers, intra_threads=each
            )
        return engines[workers, each]

    def translate(rows: Sequence[int], settings: dict[str, Any]) -> Rows:
        is_alone = len(rows) == 1
        workers = 1 if is_alone else settings.get("workers", 1)
        found = open_engine(workers, max(1, threads // workers)).translate_batch(
            [sentences.tokens[row] for row in rows],
            beam_size=settings["beam"],
            length_penalty=settings["alpha"],
            max_batch_size=settings.get("batch", 32),
            max_input_length=0,
            max_decoding_length=settings["longest"],
            min_decoding_length=settings.get("shortest", 1),
        )
        return [result.hypotheses[0] for result in found]

    open_engine(1, threads)  # loading counts as part of the start
    choices = [
        {"workers": workers, "batch": batch}
        for workers in sorted({1, threads})
        for batch in BATCHES
    ]
    serve(turns, sentences, translate, bare, choices)


if __name__ == "__main__":
    main()
