"""Importing this module raises an ImportError that names the location of AsyncMinHashLSH."""

raise ImportError(
    "lshfast.datasketch has no experimental: AsyncMinHashLSH is in lshfast.datasketch.aio, as in "
    "datasketch 2.0"
)
