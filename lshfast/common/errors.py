"""Errors that several packages raise."""

from __future__ import annotations


class FormatError(ValueError):
    """A file or store is damaged, or lshfast did not write it."""
