"""Tests of lshfast, one file per room; run pytest from the repository root."""
