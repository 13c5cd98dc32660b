"""Names with backslashes in a text, of the network, the registry, and commands of LaTeX.

Without them, the \n of DOMAIN\name would be read as a line break.
"""

from __future__ import annotations

import re

from glassformer.text.unicode import Span
from glassformer.text.verbatim import find_verbatim

_TOKEN = re.compile(r"\S+")
# \\server\x, DOMAIN\x, %TEMP%\x, .\x, $\theta$, \textbf{, or HKLM\Software with no break's letter
_NAME = re.compile(
    r"[\"'`(\[{<“‘«]*+(?:\\\\\w|[A-Z][A-Z\d_.-]{2,}\\[a-z]|%[A-Z]\w*%\\|(?:~|\.\.?)\\"
    r"|\$[^$]*\\[^$]*\$|\\[nrt][a-z]+\{|.*?[\w%}~.$]\\[^\W\d_nrtu])"
)
_BREAK = re.compile(r"\\[nrt](?=[a-z])")


def find_paths(text: str) -> list[Span]:
    """Return the spans in which a mark like one of a line break is none, in order."""
    spans = [(each.start, each.end) for each in find_verbatim(text) if each.kind == "path"]
    for token in _TOKEN.finditer(text):
        if _NAME.match(token[0]):
            spans += [each.span() for each in _BREAK.finditer(text, *token.span())]
    return sorted(spans)
