"""What works on files: deduplication, indexes made and changed, queries."""

from lshfast.jobs.api import dedup_files

__all__ = ["dedup_files"]
