"""``python -m lshfast`` and the ``lshfast`` command."""

from __future__ import annotations

import _thread
import atexit
import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from lshfast._common import startup
from lshfast._common.version import VERSION

SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]

# Seconds after a signal in which others are ignored, so that a second Ctrl-C does not interrupt the
# removal of files.
GRACE = 1.0
_stopped = -GRACE

# Seconds after which a signal is repeated that could not interrupt the run.
REPEAT_AFTER = 0.01

# The name of the file of the import system, as its frames have it.
IMPORT_SYSTEM = "<frozen importlib._bootstrap>"


def main() -> None:
    """Run the command line, or say which extra it needs.

    Ctrl-C, SIGTERM and SIGHUP end a run: hidden files are removed, and one line says what happened.
    """
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        for number in SIGNALS:
            if signal.getsignal(number) in (
                signal.SIG_DFL,
                signal.default_int_handler,
                startup.leave,
            ):
                signal.signal(number, _stop)
        sys.unraisablehook = _stop_again
        # Answered at once, without the modules of the commands.
        if sys.argv[1:] == ["--version"]:
            print(f"lshfast {VERSION}")
            return
        _commands()(prog_name="lshfast")
    except (
        KeyboardInterrupt,
        SystemError,
        RuntimeError,
    ) as error:  # outside of all commands
        from lshfast._cli.console import interruption

        ended = interruption(error)
        if ended is None:
            raise
        print(f"lshfast: error: {ended[0]}", file=sys.stderr)
        sys.exit(ended[1])
    finally:
        for number in SIGNALS:  # from here on they end the process without a traceback
            if signal.getsignal(number) is _stop:
                signal.signal(number, signal.SIG_DFL)
        sys.unraisablehook = sys.__unraisablehook__


def process() -> None:
    """Run `main` as a process of its own, and end it without taking its modules apart, which takes
    30 ms.
    """
    status: list[int] = []

    def leave() -> None:
        if not status:  # of an error that the interpreter reports
            return
        # The interpreter flushes again, and reports what fails.
        with suppress(OSError, ValueError):
            try:
                for stream in (sys.stdout, sys.stderr):
                    if stream is not None:
                        stream.flush()
            except BrokenPipeError:  # whoever read the output has closed it
                os._exit(startup.CLOSED_PIPE)
            os._exit(status[0])

    atexit.register(leave)  # the first to be registered is the last to be called
    try:
        main()
        status.append(0)
    except SystemExit as error:
        if error.code is None or type(error.code) is int:
            status.append((error.code or 0) & 0xFF)
        raise


def _commands() -> Callable[..., object]:
    """Import the commands; the garbage collector leaves out what is imported, which lives as long
    as the process.
    """
    # No command uses these threads, and they wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    collects = gc.isenabled()
    gc.disable()
    try:
        from lshfast._cli.main import app_for

        # Help needs none of this.
        if len(sys.argv) > 2 and not {"-h", "--help"}.intersection(sys.argv):
            import lshfast._engine.inputs  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] == "lshfast":
            raise
        sys.exit(
            f'lshfast: error: the command line needs {error.name}: pip install "lshfast[cli]"'
        )
    finally:
        if collects:
            gc.enable()
    gc.freeze()
    return app_for(sys.argv[1:])


def _stop(number: int, frame: FrameType | None) -> None:
    """Interrupt the run, unless a signal before this one does so.

    The import system takes its lock by a Python function. An interrupt between that and the `try`
    after it would leave the lock taken, and the next import of another thread would wait forever,
    so the signal is repeated later.
    """
    global _stopped
    if frame is not None and frame.f_code.co_filename == IMPORT_SYSTEM:
        _repeat(number)
        return
    before = _stopped
    _stopped = time.monotonic()
    if _stopped - before >= GRACE:
        raise KeyboardInterrupt(number)


def _stop_again(unraisable: Any) -> None:
    """Repeat a signal that came in a finalizer or a weak reference's callback, whose exceptions
    Python ignores; report other exceptions as usual.
    """
    error = unraisable.exc_value
    if not (type(error) is KeyboardInterrupt and error.args):
        sys.__unraisablehook__(unraisable)
        return
    global _stopped
    _stopped = -GRACE
    _repeat(error.args[0])


def _repeat(number: int) -> None:
    """Send a signal to the main thread in a moment.

    Nothing is imported here, where the import system may be at work, and may hold its locks.
    """
    main_thread = _thread.get_ident()

    def send() -> None:
        time.sleep(REPEAT_AFTER)
        if os.name == "posix":  # also ends what the main thread waits for
            signal.pthread_kill(main_thread, number)
        else:
            signal.raise_signal(number)

    _thread.start_new_thread(send, ())


if __name__ == "__main__":
    process()
