"""Importing this module raises an ImportError that names the replacement of HNSW."""

from lshfast.datasketch.advice import missing

raise missing("HNSW")
