"""Languages in what is published: codes as BCP 47 spells them (zh-Hant-TW), and what BLEU is of."""

from __future__ import annotations

from glassformer.evaluate.quality import choose_tokenizer
from glassformer.text.spacing import name_base


def spell_language(code: str) -> str:
    """Return a code with hyphens, its script with a capital and its region in capitals.

    So RFC 5646, section 2.1.1, recommends; what is no such code stays as it is. A language with a
    code of two letters has that (section 2.2.1): ig, not ibo.
    """
    first, *others = code.replace("_", "-").split("-")
    if not (first.isalpha() and 2 <= len(first) <= 8):
        return code
    return "-".join([name_base(first), *map(_spell_part, others)])


def _spell_part(part: str) -> str:
    if len(part) == 4 and part.isalpha():
        return part.title()
    if len(part) == 2 and part.isalpha():
        return part.upper()
    return part.lower()


def counts_characters(target_lang: str | None) -> bool:
    """Return whether BLEU of a language is that of its characters, which is far higher."""
    return choose_tokenizer(target_lang) == "char"


def name_score(metric: str, by_characters: bool) -> str:
    """Return the name of a score, which says so if it is BLEU of characters."""
    return f"{metric} of characters" if by_characters and metric == "BLEU" else metric
