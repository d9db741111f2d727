"""``python -m lshfast`` and the ``lshfast`` command."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from lshfast.console import interruption

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main() -> None:
    """Run the command line, or say which extra it needs.

    SIGTERM and SIGHUP end a run as Ctrl-C does: hidden files are removed, and one line names the signal.
    """
    try:
        for number in SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _stop)
        try:
            from lshfast.cli import app
        except ModuleNotFoundError as error:
            if error.name and error.name.partition(".")[0] == "lshfast":
                raise
            sys.exit(f"lshfast: error: the command line needs {error.name}: install lshfast[cli]")
        app(prog_name="lshfast")
    except KeyboardInterrupt as error:  # outside of all commands
        line, status = interruption(error)
        print(f"lshfast: error: {line}", file=sys.stderr)
        sys.exit(status)
    finally:
        for number in (signal.SIGINT, *SIGNALS):  # from here on they end the process without a traceback
            if signal.getsignal(number) in (signal.default_int_handler, _stop):
                signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    main()
