"""The command `glassformer flashcards`: the questions as a file for Anki or Logseq."""

from pathlib import Path

from glassformer.cli.options import opt


def flashcards(
    output: Path = opt(
        "FILE", "The file to write: .txt for Anki, .md for Logseq.", "--output", "-o", default=...
    ),
    lang: str = opt("CODE", "The language of the cards: en or zh.", default="en"),
) -> None:
    """Write the flashcards: questions about the Transformer and their answers.

    Anki reads the text file by File > Import. If you import a later version, it replaces cards and
    keeps when they are due. The app asks the same questions under "Recall".

    \b
    glassformer flashcards -o transformer.txt
    glassformer flashcards -o transformer.md --lang zh
    """
    from ..deck import write_flashcards

    print(f"{output}: {write_flashcards(output, lang)} cards")
