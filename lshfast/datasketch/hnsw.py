"""Not there: importing this module raises the ImportError that says what to use in place of HNSW."""

from lshfast.datasketch.advice import missing

raise missing("HNSW")
