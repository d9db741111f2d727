"""Jobs over files: deduplication, creating and changing indexes, queries."""

from lshfast.jobs.api import dedup_files

__all__ = ["dedup_files"]
