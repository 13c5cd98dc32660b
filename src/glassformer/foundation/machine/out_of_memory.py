"""A test that tells running out of memory from other errors. It does not import torch."""

# What torch, its allocators, oneDNN, the C++ library and the system say when memory runs out.
SIGNS = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "cannot allocate memory",
    "bad_alloc",
    "can't start new thread",
    "could not create a memory",
    "failed to map segment",
    "cudnn_status_alloc_failed",
    "cublas_status_alloc_failed",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out.

    On a GPU torch has an error class for it, on a CPU it raises a plain RuntimeError. An import
    fails to map a library. C code that cannot allocate even its error raises a SystemError.
    """
    if isinstance(error, MemoryError):
        return True
    message = str(error).lower()
    if isinstance(error, SystemError):
        return "without setting an exception" in message or "without exception set" in message
    if not isinstance(error, RuntimeError | OSError | ImportError):
        return False
    return any(sign in message for sign in SIGNS)
