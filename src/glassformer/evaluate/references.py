"""The references of a test set. No torch."""

from collections.abc import Sequence

from ..foundation.validation_errors import check_list
from ..text.spacing import is_unspaced, name_base
from ..text.unicode import clean

References = Sequence[Sequence[str | None]]  # sets of them; None: the sentence has none there

# No spaces between words: Burmese, Dzongkha, Khmer, Lao, Shan, Thai, Tibetan.
UNSPACED = {"my", "dz", "km", "lo", "shn", "th", "bo"}
INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))  # some put them between words


def has_no_spaces(language: str | None) -> bool:
    """Return whether a language is written without spaces between words."""
    return is_unspaced(language) or name_base(language) in UNSPACED


def clean_lines(
    hypotheses: Sequence[str], references: References, language: str | None = None
) -> tuple[list[str], References]:
    """Return all in NFC, which models write; ValueError unless each line has a reference."""
    check_list("hypotheses", hypotheses)
    check_list("references", references)
    if not hypotheses or not references:
        raise ValueError("nothing to score: give at least one translation and one reference set")
    for number, lines in enumerate(references, start=1):
        if isinstance(lines, str):
            raise ValueError("references are a list of reference sets, not a list of sentences")
        if len(lines) != len(hypotheses):
            raise ValueError(
                f"the numbers of lines differ: {len(hypotheses)} in the translations, "
                f"{len(lines)} in reference set {number}"
            )
    for number, lines in enumerate(zip(*references, strict=True), start=1):
        if all(line is None for line in lines):
            raise ValueError(f"line {number} has no reference")
    dropped = INVISIBLE if has_no_spaces(language) else {}
    sets = [
        [None if line is None else clean(line.translate(dropped)) for line in lines]
        for lines in references
    ]
    return [clean(line.translate(dropped)) for line in hypotheses], sets
