"""Language detection among the languages of the models, by py3langid. Imports no torch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

MOST = 2000  # characters of a text that are used


@cache
def load_identifier() -> LanguageIdentifier:
    """Return the identifier; it takes half a second and 76 MiB, so not before it is needed."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def detect_language(text: str, codes: Sequence[str]) -> list[tuple[str, float]]:
    """Return the codes with confidences, 0 to 1, the likeliest first; 0 without letters.

    A language that py3langid does not know is as likely as the likeliest that is not in `codes`.
    All confidences are small if the text is in another language.
    """
    text = text[:MOST]
    if not any(map(str.isalpha, text)):
        return [(code, 0.0) for code in codes]
    known = dict(load_identifier().rank(text))
    bases = {code: re.split("[-_]", code)[0].lower() for code in codes}
    others = max((p for label, p in known.items() if label not in bases.values()), default=0.0)
    shares = {code: known.get(base, others) for code, base in bases.items()}
    best, total = max(shares.values()), sum(shares.values())
    sure = best / max(best, others)
    ranked = sorted(shares.items(), key=lambda pair: -pair[1])
    return [(code, sure * share / total if total else 0.0) for code, share in ranked]
