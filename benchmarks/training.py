"""The training table: ours beside other engines, the same model on the same batches.

    python benchmarks/training.py tiny --langs en-de --data DIR/train --work CACHE \\
        --output training-tiny.json

DIR/train is DIR/train.en and DIR/train.de. Everything else is as in `glassformer bench train`.
"""

from __future__ import annotations

import sys

from glassformer.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", "train", *sys.argv[1:]]))
