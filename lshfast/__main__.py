"""``python -m lshfast`` and the ``lshfast`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from lshfast.cli import app
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] == "lshfast":
            raise
        sys.exit(f"lshfast: error: the command line needs {error.name}: install lshfast[cli]")
    app()


if __name__ == "__main__":
    main()
