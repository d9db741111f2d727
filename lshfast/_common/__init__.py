"""Threads, progress callbacks, secret keys of a run, and errors: modules that every other package
may import.
"""
