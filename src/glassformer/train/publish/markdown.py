"""Names in Markdown: what somebody called a file is text, not mark-up."""

import re
import shlex

MARKS = re.compile(r"([\\`*\[\]<>|&#~])")
CONTROLS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")


def escape_markdown(text: str) -> str:
    """Return a text of one line as Markdown that shows these characters and nothing else."""
    return MARKS.sub(r"\\\1", CONTROLS.sub(" ", text))


def quote_for_shell(name: str) -> str:
    """Return a name as one word of a shell's command, on one line."""
    return shlex.quote(CONTROLS.sub(" ", name))
