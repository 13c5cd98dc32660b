"""A copy of a model whose decoder begins with a vector of zeros, as Marian's does.

    python benchmarks/zero_start.py MODEL OUT

So that `glassformer bench translate OUT --against marian` can compare the two; MODEL has
model.norm = "post", and model.positions has layout = "concatenated" and grid = "tensor2tensor".
What it says changes a little, and its scores with it: the copy is for speed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from glassformer.config import BOS
from glassformer.directory import load_model, save_model


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    config, tokenizers, network = load_model(options.model)
    weights = network.state_dict()
    weights["target_embedding.table.weight"][BOS] = 0  # shared tables are one tensor
    save_model(options.out, config, tokenizers, weights)


if __name__ == "__main__":
    main()
