"""An index in a folder of shards: index files that are opened, searched and changed as one.

The entries are distributed by a hash of their keys. Each shard is the file of an index, so a folder
has the answers of one file, and outgrows the memory and the disk of one writer.

Files:

- folder.py: the names and records in a folder, and the shard of a key.
- store.py: the store of a folder on local disks.
- places.py: opens the store at any place: a file, a folder or a URL.
- spool.py, build.py: the rows that tasks put into a build; the shards that are built from them.
- blocks.py, range_tables.py, range_store.py: blocks of a remote file and their cache; tables that
  are read by ranges; the store of a remote folder or file.
"""
