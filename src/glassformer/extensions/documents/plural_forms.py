"""The plural forms of languages, written into a file of gettext that was made without any language.

Such a file has `nplurals=INTEGER; plural=EXPRESSION;`, or no such line, and two forms of each
message, for one and for more. gettext's programs refuse it until it has the rule of its language
and as many forms as that one counts.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Mapping

from glassformer.text.spacing import name_base
from glassformer.text.verbatim import find_verbatim

RULE = re.compile(r"plural\s*=\s*([^;]{1,400})")
USUAL, TRIED = "n != 1", range(200)  # the rule if none is there; numbers that it is tried with
# As gettext's manual has them.
_FEW = "n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20)"
_RUSSIAN = f"n%10==1 && n%100!=11 ? 0 : {_FEW} ? 1 : 2"
_RULES = {
    **dict.fromkeys(("id", "ja", "ko", "lo", "ms", "my", "th", "vi", "zh"), "0"),
    **dict.fromkeys(("fr", "pt_BR", "ak", "am", "ln", "mg", "oc", "ti", "wa"), "n > 1"),
    **dict.fromkeys(("ru", "uk", "be", "sr", "hr", "bs"), _RUSSIAN),
    **dict.fromkeys(("cs", "sk"), "n==1 ? 0 : n>=2 && n<=4 ? 1 : 2"),
    "pl": f"n==1 ? 0 : {_FEW} ? 1 : 2",
    "lt": "n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2",
    "lv": "n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2",
    "ro": "n==1 ? 0 : n==0 || (n%100 > 0 && n%100 < 20) ? 1 : 2",
    "ga": "n==1 ? 0 : n==2 ? 1 : 2",
    "sl": "n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3",
    "ar": "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5",
}
_UNSET = re.compile(rb"(?<=Plural-Forms:)[ \t]*+nplurals=INTEGER;\s?plural=EXPRESSION;?")
_CHARSET = re.compile(rb'^"Content-Type:[^"\n]{0,200}\\n"(?P<newline>\r?\n)', re.MULTILINE)
_STRINGS = rb'(?:\s*+"(?:[^"\\\n]|\\.)*+")++'
_FORMS = re.compile(
    rb"^msgstr\[0\](?P<one>"
    + _STRINGS
    + rb")(?P<newline>\r?\n)msgstr\[1\](?P<more>"
    + _STRINGS
    + rb")",
    re.MULTILINE,
)


def list_served(rule: str) -> Mapping[int, set[int]]:
    """Return the numbers that each plural form serves, of those that are tried."""
    try:
        choose = gettext.c2py(rule)
        forms = [choose(number) for number in TRIED]
    except (ValueError, ZeroDivisionError, RecursionError):
        return list_served(USUAL)
    served: dict[int, set[int]] = {}
    for number, form in zip(TRIED, forms, strict=True):
        served.setdefault(form, set()).add(number)
    return served


def is_for_one(numbers: set[int], singular: str, plural: str) -> bool:
    """Return whether the form of some numbers is translated from the singular of a message.

    So is none that serves greater numbers, too, if only the plural has the place of the number.
    """
    if 1 not in numbers or max(numbers) == 1:
        return 1 in numbers
    one, more = (
        {text[each.start : each.end] for each in find_verbatim(text) if each.kind == "placeholder"}
        for text in (singular, plural)
    )
    return more <= one


def name_rule(language: str) -> str:
    """Return the rule of a language's plural forms."""
    return _RULES.get(language.replace("-", "_")) or _RULES.get(name_base(language) or "", USUAL)


def write_plural_forms(data: bytes, language: str) -> bytes:
    """Return a translated file of gettext with the plural forms of its language, if it has none."""
    rule = name_rule(language)
    served = list_served(rule)
    line = f" nplurals={len(served)}; plural=({rule});".encode()
    if b"Plural-Forms:" in data:
        declared, count = _UNSET.subn(line, data, count=1)
    elif b"\nmsgid_plural" in data:
        own = rb'\g<0>"Plural-Forms:' + line + rb'\\n"\g<newline>'
        declared, count = _CHARSET.subn(own, data, count=1)
    else:
        return data
    return _FORMS.sub(lambda forms: _spell(forms, served), declared) if count else data


def _spell(forms: re.Match[bytes], served: Mapping[int, set[int]]) -> bytes:
    """Return the translations of a message for one and more as those of all plural forms."""
    one, more = (forms[each].decode(errors="replace") for each in ("one", "more"))
    lines = (
        f"msgstr[{form}]".encode() + forms["one" if is_for_one(served[form], one, more) else "more"]
        for form in sorted(served)
    )
    return forms["newline"].join(lines)
