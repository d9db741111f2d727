"""Tests of jobs on files."""
