"""Deduplication as tasks of separate processes."""
