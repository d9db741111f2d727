"""Errors that several parts raise."""

from __future__ import annotations


class FormatError(ValueError):
    """A file or store holds what this library did not write, or damaged content."""
