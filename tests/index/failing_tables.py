"""The module `tables`, built with another source of memory than malloc: one that fails when it is told to."""

import importlib.util
from importlib.machinery import EXTENSION_SUFFIXES

from tests.build_kit import build, part_of_tree

SOURCE = """

from libc.stdlib cimport free

cdef size_t requests_left = 0
cdef bint fails_onwards = False


cdef void* source(size_t nbytes) noexcept nogil:
    global requests_left
    if requests_left > 1:
        requests_left -= 1
    elif requests_left == 1:
        requests_left = fails_onwards
        return NULL
    return malloc(nbytes)


def fail_memory(size_t n, bint onwards):
    '''Let the n-th request for memory fail from now on, and all later ones if told so; 0: none.'''
    global requests_left, fails_onwards
    requests_left, fails_onwards = n, onwards


def request_memory():
    '''Count a request for memory beside those of tables.'''
    cdef void* memory = source(1)
    if not memory:
        raise MemoryError
    free(memory)
"""


def build_failing_tables(folder):
    """Build the module in a folder."""
    part_of_tree(folder, ["tables"])
    pyx = folder / "src" / "tables" / "tables_module.pyx"
    before, given, after = pyx.read_text(encoding="utf-8").partition(
        "&self.c, malloc, "
    )
    assert given
    pyx.write_text(before + "&self.c, source, " + after + SOURCE, encoding="utf-8")
    build(folder)


def import_failing_tables(folder):
    """Return the module that was built in a folder."""
    file = folder / "lshfast" / "kernels" / f"tables{EXTENSION_SUFFIXES[0]}"
    spec = importlib.util.spec_from_file_location("lshfast.kernels.tables", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
