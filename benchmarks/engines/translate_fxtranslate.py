"""Mozilla's engine of Firefox, `fxtranslate`: one sentence at a time, greedy, text to text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fxtranslate

from .translating import Rows, imported, read_sentences, serve
from .turns import Turns


def main() -> None:
    turns, bare = Turns(), imported()
    folder, sentences, _ = read_sentences()
    vocabularies = sorted(folder.glob("*.spm"))
    files = [next(folder.glob("model.*.bin")), vocabularies[0], vocabularies[-1]]
    files += folder.glob("lex.*.bin")
    engine = fxtranslate.Translator(*(file.read_bytes() for file in files))

    def translate(rows: Sequence[int], _: dict[str, Any]) -> Rows:
        """Return each translation as one piece of text, for the engine shows no tokens."""
        return [[engine.translate(sentences.texts[row])] for row in rows]

    serve(turns, sentences, translate, {**bare, "backend": engine.backend()})


if __name__ == "__main__":
    main()
