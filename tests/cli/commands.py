"""What the tests of the command line share: runs in this process and in others, and rows in files."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from functools import cache

from typer import testing
from typer.testing import CliRunner

from lshfast._cli.main import app

testing._get_command = cache(
    testing._get_command
)  # prepares all commands, which takes longer than most of them run

ENDINGS = {
    signal.SIGINT: (
        130,
        "lshfast: error: interrupted; no output was left half-written\n",
    ),
    signal.SIGTERM: (
        128 + signal.SIGTERM,
        "lshfast: error: stopped by SIGTERM; no output was left half-written\n",
    ),
}
if hasattr(signal, "SIGHUP"):
    said = "lshfast: error: stopped by SIGHUP; no output was left half-written\n"
    ENDINGS[signal.SIGHUP] = (128 + signal.SIGHUP, said)


def _heed_signals():
    for number in ENDINGS:
        signal.signal(number, signal.SIG_DFL)


# Options of a child process that heeds the signals which this one may ignore, as under nohup.
HEEDING = {"preexec_fn": _heed_signals} if os.name == "posix" else {}


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(*arguments, **options):
    result = CliRunner().invoke(
        app, [str(argument) for argument in arguments], **options
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def failing(status, *arguments):
    """Run, check the exit status and that the error is one line without a traceback; return the line."""
    result = run(*arguments)
    assert result.exit_code == status, result.output
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("lshfast: error: ")
    return lines[0]


def process(*arguments, **options):
    command = [sys.executable, "-m", "lshfast", *map(str, arguments)]
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    )


def on_terminal(columns, *arguments, escapes=False):
    """Run on a terminal of so many columns; return what it showed, by default without escape sequences."""
    import fcntl
    import pty
    import re
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "LINES")
    }
    command = [sys.executable, "-m", "lshfast", *map(str, arguments)]
    shown = b""
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as child:
        os.close(theirs)
        try:
            while block := os.read(ours, 1 << 16):
                shown += block
        except OSError:  # Linux: the other side is closed
            pass
    os.close(ours)
    assert child.returncode == 0, shown
    text = shown.decode().replace("\r\n", "\n")
    return text if escapes else re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def has_open(pid, path):
    """Tell whether a process has a file open."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(
            os.path.realpath(f"{folder}/{number}") == str(path)
            for number in os.listdir(folder)
        )
    except OSError:
        return False


def write_long(path, text):
    """Write a small .jsonl.gz whose reading takes so long that a run of it cannot end before it is stopped."""
    member = gzip.compress((json.dumps({"text": text * 300}) + "\n").encode() * 20, 9)
    path.write_bytes(member * 1000)
    return path


def stopped(number, path, *arguments):
    """Send a signal to a run that has begun to read a file; return its exit status and what it said."""
    with process(*arguments, **HEEDING) as child:
        deadline = time.monotonic() + 60
        while (
            child.poll() is None
            and time.monotonic() < deadline
            and not has_open(child.pid, path)
        ):
            time.sleep(0.005)
        child.send_signal(number)
        try:
            _, said = child.communicate(timeout=60)
        finally:
            child.kill()
    return child.returncode, said
