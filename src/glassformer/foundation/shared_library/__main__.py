"""Build all libraries now, so that the first translation need not wait: `make install` does so."""

import sys

from .loading import prepare_libraries

if __name__ == "__main__" and (why := prepare_libraries()):
    print(f"glassformer: {why}; PyTorch computes without, slower", file=sys.stderr)
