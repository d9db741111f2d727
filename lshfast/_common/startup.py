"""Code that runs before all other imports of the package: a check for the compiled modules, and a
handler for Ctrl-C.

The ``lshfast`` command reports a missing module and Ctrl-C in one line. The package is imported
before the first line of the command runs, so this must happen here.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

INTERRUPTED = "interrupted; no output was left half-written"
CLOSED_PIPE = 128 + 13  # the exit status of a program that SIGPIPE ends


def is_command() -> bool:
    """Return whether this process is ``lshfast`` or ``python -m lshfast``."""
    arguments = getattr(sys, "argv", [])
    # Python is still finding the module; its name is before the arguments.
    if arguments[:1] == ["-m"]:
        module = sys.orig_argv[-len(arguments)]
        return module == "lshfast" or (
            module.startswith("-") and module.endswith("mlshfast")
        )
    return os.path.basename("".join(arguments[:1])) in ("lshfast", "lshfast.exe")


def leave(number: int, _: object) -> None:
    """Handle Ctrl-C until the command installs its own handler; there is nothing to clean
    up yet.
    """
    print(f"lshfast: error: {INTERRUPTED}", file=sys.stderr, flush=True)
    os._exit(130)


if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, leave)

try:
    import lshfast.kernels  # noqa: F401
except ImportError as error:
    if is_command():
        sys.exit(f"lshfast: error: {error}")
    raise
