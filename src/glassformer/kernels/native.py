"""The kernels in C for training: one library for each source in `native/`.

Every caller has a twin in PyTorch for machines without the library.
"""

import torch  # noqa: F401  its OpenMP is to be in the process first: two would each keep threads

from ..shared_library import explain_library as explain_library
from ..shared_library import load_library as load_library
