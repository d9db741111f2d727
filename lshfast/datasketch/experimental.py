"""Importing this module raises an ImportError that names the location of AsyncMinHashLSH."""

from lshfast.datasketch.advice import missing

raise missing("experimental")
