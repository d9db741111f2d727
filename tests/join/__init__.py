"""Tests of joins and groups."""
