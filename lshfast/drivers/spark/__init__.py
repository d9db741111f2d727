"""Deduplication on a cluster."""
