"""Our own translator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .translating import Rows, imported, read_sentences, serve
from .turns import Turns


def main() -> None:
    """Translate texts into tokens; unlike the other engines, ours also tokenizes the text."""
    turns, bare = Turns(), imported()
    from glassformer.config import Decode
    from glassformer.translator import Translator

    folder, sentences, precision = read_sentences()
    translator = Translator.load(folder, device="cpu", precision=precision)

    facts: dict[str, Any] = {**bare, "precision": translator.precision}

    def translate(rows: Sequence[int], settings: dict[str, Any]) -> Rows:
        decode = Decode(
            search="greedy" if settings["beam"] == 1 else "beam",
            beam=settings["beam"],
            length_penalty=settings["length_penalty"],
            stop=settings["stop"],
            alpha=settings["alpha"],
            max_ratio=0,
            max_extra=settings["longest"],
            shortlist=settings.get("shortlist", False) and translator.precision == "int8",
        )
        texts = [sentences.texts[row] for row in rows]
        return [best[0].tokens for best in translator.search(texts, decode=decode, split=False)]

    serve(turns, sentences, translate, facts)


if __name__ == "__main__":
    main()
