"""The command line: each verb parses its options, calls the package, and prints the result.

A user's mistake is one sentence on stderr and exit code 2; any other failure is a defect of
glassformer and exits with 70.
"""

import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence

from ..foundation.machine.extras import explain_missing
from ..foundation.machine.out_of_memory import is_out_of_memory
from ..foundation.version import __version__
from .terminal import INTERRUPTED, VERSION

EXPECTED, DEFECT = 2, 70
OUT_OF_MEMORY = (
    "there is not enough memory for this, even in small parts: a smaller model, or a machine with "
    "more of it, would do"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; `argv` is `sys.argv[1:]` if not given."""
    _replace_closed()
    _speak_utf8()
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1  # the code that Typer gives, if it sees the error first
    except (ValueError, OSError) as error:
        if os.environ.get("GLASSFORMER_DEBUG"):
            traceback.print_exc()
        print(f"glassformer: {_tell(error)}", file=sys.stderr)
        return EXPECTED
    except ModuleNotFoundError as error:
        if message := explain_missing(error):
            print(f"glassformer: {message}", file=sys.stderr)
            return EXPECTED
        _report(error)
        return DEFECT
    except Exception as error:
        if is_out_of_memory(error):
            if os.environ.get("GLASSFORMER_DEBUG"):
                traceback.print_exc()
            print(f"glassformer: {OUT_OF_MEMORY}", file=sys.stderr)
            return EXPECTED
        _report(error)
        return DEFECT


def _run(argv: Sequence[str] | None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if list(arguments[:1]) == [VERSION]:
        print(f"glassformer {__version__}")
        return 0
    from .verbs import app

    try:
        app(arguments, prog_name="glassformer")
    except SystemExit as end:  # Typer ends so, after success or a usage error
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _replace_closed() -> None:
    """Replace standard streams that the parent process closed; `sys.__stdin__` etc. stay None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _speak_utf8() -> None:
    r"""Write text as UTF-8 with "\n" at the end of lines, whatever the machine's default is."""
    for stream, odd in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):  # names of files may be no UTF-8
            stream.reconfigure(encoding="utf-8", errors=odd, newline="\n")


def _tell(error: ValueError | OSError) -> str:
    """Return an error in one sentence; of a copy that found no room, it names the new file."""
    if isinstance(error, OSError) and error.filename is not None:
        has_no_room = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        name = error.filename2 if has_no_room and error.filename2 else error.filename
        return f"{name}: {error.strerror}"
    return getattr(error, "strerror", None) or str(error)


def _report(error: Exception) -> None:
    """Print an unexpected error in one line; with GLASSFORMER_DEBUG=1, also its traceback."""
    if os.environ.get("GLASSFORMER_DEBUG"):
        traceback.print_exception(error)
    message = " ".join(traceback.format_exception_only(error)[-1].split())
    print(
        f"glassformer: internal error: {message}\n"
        "This is a defect of glassformer, not of your input: please report it in its issue "
        "tracker,\nwith your command and what it prints when GLASSFORMER_DEBUG=1 is set.",
        file=sys.stderr,
    )
