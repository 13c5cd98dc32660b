"""Codes of languages as BCP 47 spells them: zh-Hant-TW, not zh_hant_tw."""

from __future__ import annotations

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
