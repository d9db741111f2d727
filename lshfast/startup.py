"""What runs before all other imports of the package: the check of the compiled modules, and Ctrl-C during the imports.

The ``lshfast`` command reports both in one line. It imports this package before its own first line runs, so that
nothing later than this module could do it.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

INTERRUPTED = "interrupted; no output was left half-written"


def is_command() -> bool:
    """Tell whether this process is ``lshfast`` or ``python -m lshfast``."""
    arguments = getattr(sys, "argv", [])
    if arguments[:1] == ["-m"]:  # Python looks for the module, which is named just before the arguments
        module = sys.orig_argv[-len(arguments)]
        return module == "lshfast" or (module.startswith("-") and module.endswith("mlshfast"))
    return os.path.basename("".join(arguments[:1])) in ("lshfast", "lshfast.exe")


def leave(number: int, _: object) -> None:
    """Handle Ctrl-C until the command handles it itself: there is nothing to clean up yet."""
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
