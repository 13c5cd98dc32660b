"""A pattern of Python finds the same in JavaScript, once it is written in its notation."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess

import pytest

from glassformer.extensions.site import adapting, judging, splitting
from glassformer.extensions.site.regexp import write_for_javascript
from glassformer.text import sentences

SOURCES = adapting.PATTERNS, judging.PATTERNS, splitting.PATTERNS
PATTERNS = [each.pattern for patterns in SOURCES for each in patterns.values()]
PATTERNS += [sentences.MARKS.pattern, sentences.GREEK_MARKS.pattern]
PATTERNS += [
    r"a++b|\bx\d{2,}+\Z",
    r"(?:\w+?\s)+$",
    r"[\]^\\-]|[^\W\d]|[^\W\d_aé-]+",
    r"(?P<n>é)[\U0001f300-\U0001f5ff]",
]
WRITTEN = r"""12 3 2019-05-12 :45 - kg %s %1$d {name} {{x}} ${a} http://a.b/c?d=(e) a@b.co @you #tag
C:\x\y /usr/lib/x.py foo() --opt v1.2.3 x.txt +33 (555) é ß 中 🎉 👩‍👩‍👧 © ' ’ . , ! ? A GB b2 <b>
&amp; [1] `c` € $5 1,234.5 A-12 x_y camelCase ... ¿ “ ” ² ½ ٣ i s's Tom's l'eau J.-P. aab x12 \
] ^"""
BITS = re.split(r"\s+", WRITTEN)
BITS += [" ", " ", "\u00a0", "\u2009", "\x1c", "\ufeff", "\n", "\u0301", "4\u4e07", "\u200d"]
BITS += [
    "\u0939\u0942\u0901",
    "\u0e1a\u0e49\u0e32\u0e19",
    "\u0e40\u0e25",
    "\u1795\u17d2\u1791\u17c7",
    "\u200c",
]
TEXTS, LONGEST = 1_500, 12
SCRIPT = """
const {patterns, texts} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const list = (pattern, text) => [...text.matchAll(new RegExp(pattern, "gu"))].map(([own]) => own);
const find = (pattern) => texts.map((text) => list(pattern, text));
process.stdout.write(JSON.stringify(patterns.map(find)));
"""


def test_both_find_the_same() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    drawn = random.Random(5)
    texts = ["".join(drawn.choices(BITS, k=drawn.randint(1, LONGEST))) for _ in range(TEXTS)]
    asked = {"patterns": [*map(write_for_javascript, PATTERNS)], "texts": texts}
    done = subprocess.run(
        [node, "-e", SCRIPT],
        input=json.dumps(asked),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    found = 0
    for pattern, theirs in zip(PATTERNS, json.loads(done.stdout), strict=True):
        ours = [[each[0] for each in re.finditer(pattern, text)] for text in texts]
        assert ours == theirs, pattern
        found += sum(map(len, ours))
    assert found > TEXTS


@pytest.mark.parametrize("pattern", ["(?i)a", r"(?P=n)", r"\A", "(a", "a)", r"[\B]", "(?>a)"])
def test_what_cannot_be_written_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"JavaScript|bracket"):
        write_for_javascript(pattern)
