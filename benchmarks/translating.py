"""The translating table: ours beside other engines, the same weights on the same sentences.

    python benchmarks/translating.py MODEL --source test.en --reference test.de --beam 5 \
        --precision auto,fp32,bf16 --work CACHE --output translating.json

Everything is as in `glassformer bench translate`.
"""

from __future__ import annotations

import sys

from glassformer.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", "translate", *sys.argv[1:]]))
