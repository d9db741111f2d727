"""Questions that a person answers by one key."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Container
from typing import TextIO

from lshfast._cli.console import say

# The size of a screen without a terminal, and the most columns of one.
WIDTH = 80
HEIGHT = 40
MOST_COLUMNS = 120


def ask_key(
    screen: Callable[[int, int], str], prompt: str, keys: Container[str]
) -> str:
    """Show a screen on standard error, and return the key that is typed; "" at the end.

    Keys that mean nothing are asked for again.
    """
    columns, lines = WIDTH, HEIGHT
    if sys.stderr.isatty():
        columns, lines = shutil.get_terminal_size((WIDTH, HEIGHT))
    say(screen(min(columns, MOST_COLUMNS), lines), sys.stderr)
    while True:
        key = read_key(sys.stdin, prompt, keys)
        if not key or key in keys:
            return key


def read_key(stream: TextIO, prompt: str, keys: Container[str]) -> str:
    """Ask for one key from a terminal, or for the first character of a line; "" at the end.

    What was typed before the question is shown is discarded.
    """
    if not stream.isatty() or sys.platform == "win32":
        print(prompt, end="", file=sys.stderr, flush=True)
        line = stream.readline()
        return line and (line.strip().lower()[:1] or "\n")
    import termios
    import tty

    number = stream.fileno()
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number)
        print(prompt, end="", file=sys.stderr, flush=True)
        key = os.read(number, 1).decode("utf-8", "replace").lower()
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
    print(key if key in keys and key.isprintable() else "", file=sys.stderr)
    return key
