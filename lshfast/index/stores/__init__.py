"""Stores of the entries of an index: in memory, in a file, in LMDB, or on a Redis server.

Files:

- base.py, values.py: the interface of a store, and the values that pass through it.
- segment.py, segments.py: one segment, and several as one.
- searching.py: the search of neighbours in stores without tables.
- memory.py: the store in memory, and the base class of stores with segments.
- file.py, file_sections.py, file_format.py: the store in one mapped file; its bytes; its directory.
- lmdb.py, redis.py: the stores in LMDB and on a Redis server.
- redis_client.py, redis_connection.py, redis_forms.py, redis_scripts.py: clients of a server; the
  connection to the keys of an index, with its errors; what is stored, as bytes; what the server
  runs.
"""
