"""The main job: texts in, near-duplicates named."""

from lshfast.dedup.pipeline import dedup, pairs
from lshfast.dedup.report import DedupResult, Removal, Summary

__all__ = ["DedupResult", "Removal", "Summary", "dedup", "pairs"]
