"""Jobs over files: deduplication, creating and changing indexes, queries."""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.jobs.api import dedup_files

__all__ = ["dedup_files"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "api": "dedup_files",
        },
    )
