"""``python -m lshfast`` and the ``lshfast`` command."""

from __future__ import annotations

import signal
import sys
import time

from lshfast import startup

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

# Seconds after a signal in which others are ignored, so that a second Ctrl-C does not interrupt the removal of files.
GRACE = 1.0
_stopped = -GRACE


def main() -> None:
    """Run the command line, or say which extra it needs.

    Ctrl-C, SIGTERM and SIGHUP end a run: hidden files are removed, and one line says what happened.
    """
    try:
        for number in SIGNALS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, startup.leave):
                signal.signal(number, _stop)
        try:
            from lshfast.cli.main import app
        except ModuleNotFoundError as error:
            if error.name and error.name.partition(".")[0] == "lshfast":
                raise
            sys.exit(f"lshfast: error: the command line needs {error.name}: install lshfast[cli]")
        app(prog_name="lshfast")
    except (KeyboardInterrupt, SystemError) as error:  # outside of all commands
        from lshfast.cli.console import interruption

        line, status = interruption(error)
        print(f"lshfast: error: {line}", file=sys.stderr)
        sys.exit(status)
    finally:
        for number in SIGNALS:  # from here on they end the process without a traceback
            if signal.getsignal(number) is _stop:
                signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _: object) -> None:
    global _stopped
    before, _stopped = _stopped, time.monotonic()
    if _stopped - before >= GRACE:
        raise KeyboardInterrupt(number)


if __name__ == "__main__":
    main()
