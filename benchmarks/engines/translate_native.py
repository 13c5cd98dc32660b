"""Our engine in C, called with tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassformer.config import Decode
from glassformer.engine.native_engine import NativeEngine
from glassformer.model.files.directory import open_model

from .translating import Rows, imported, read_sentences, serve
from .turns import Turns


def main() -> None:
    turns, bare = Turns(), imported()
    folder, sentences, precision = read_sentences()
    config, _, weights = open_model(folder)
    engine = NativeEngine.open(config.model, weights.tensors, precision)
    weights.release()

    def translate(rows: Sequence[int], settings: dict[str, Any]) -> Rows:
        decode = Decode(
            search="greedy" if settings["beam"] == 1 else "beam",
            beam=settings["beam"],
            length_penalty="power",
            stop="first",
            alpha=settings["alpha"],
            min_length=max(0, settings.get("shortest", 0) - 1),  # the last step may give EOS
            max_ratio=0,
            max_extra=settings["longest"],
        )
        found = engine.search([sentences.ids[row] for row in rows], decode)
        return [[sentences.vocabulary[token] for token in best[0].tokens] for best in found]

    serve(turns, sentences, translate, bare)


if __name__ == "__main__":
    main()
