"""Not there: importing this module raises the ImportError that says where AsyncMinHashLSH is."""

from lshfast.datasketch.advice import missing

raise missing("experimental")
