"""Stores, which hold the entries of an index: in memory, in a file, in LMDB, or on a Redis
server.
"""
