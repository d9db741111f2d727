"""Deduplication of files on one machine, with or without a cap of memory."""
