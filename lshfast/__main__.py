"""``python -m lshfast`` and the ``lshfast`` command."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from lshfast.cli import app
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] == "lshfast":
            raise
        sys.exit(f"lshfast: error: the command line needs {error.name}: install lshfast[cli]")
    for name in ("SIGTERM", "SIGHUP"):  # end as on Ctrl-C: hidden files are removed on the way out
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    app()


if __name__ == "__main__":
    main()
