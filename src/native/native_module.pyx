"""The table of kernels that C, C++ and Rust import: lshfast/include/lshfast.h describes it.

The functions are those that the modules offer to Cython. Cython keeps the address and the type of each in `__pyx_capi__`;
this module collects the addresses once, so that nobody else depends on how Cython keeps them.
"""

from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from importlib import import_module

cdef extern from "../lshfast/include/lshfast.h":
    const uint32_t LSHFAST_INTERFACE
    struct lshfast_kernels:
        uint32_t interface_version
        uint32_t functions
        void* token_of_bytes  # the first of them

# In the order of the table: append only. tests/kernels/test_native.py compares names and types with the header.
FUNCTIONS = tuple(
    (module, name)
    for module, names in (
        ("text", "token_of_bytes tokens_of_numbers scratch_of_shingles word_tokens character_tokens"),
        ("sketch", "classic_padding draw_classic sketch_classic rounds_of_fast draw_fast sketch_fast"),
        ("bands", "keys_of_bands"),
        ("sets", "equal_slots table_of_set distinct_tokens jaccard_of_sets"),
        ("simhash", "draw_simhash sketch_simhash count_simhash distance_of_codes"),
        ("bits", "constant_of_groups sketch_groups compare_slots words_of_packed pack_slots compare_packed_slots"),
        ("weighted", "log_of draw_shells sketch_shells number_tokens"),
        ("sampling", "sample_bits bands_of_bits hash_masked_bits"),
        ("projections", "draw_gaussian_lines draw_cauchy_lines offsets_of_lines scratch_of_cells cells_of_floats "
                        "cells_of_doubles"),
        ("cardinality", "draw_registers update_registers estimate_registers estimate_classic estimate_fast"),
        ("affine", "sha1_of_bytes lower_affine32 lower_affine64 lower_legacy"),
        ("trees", "codes_of_trees"),
    )
    for name in names.split()
)

cdef lshfast_kernels _table


cdef _fill():
    cdef size_t first = <char*>&_table.token_of_bytes - <char*>&_table, at = 0
    cdef void* address
    if first + len(FUNCTIONS) * sizeof(void*) != sizeof(_table):
        raise ImportError(f"lshfast.h declares another number of functions than {len(FUNCTIONS)}")
    for module, name in FUNCTIONS:
        capsule = import_module(f"lshfast.kernels.{module}").__pyx_capi__[name]
        address = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))
        memcpy(<char*>&_table + first + at * sizeof(void*), &address, sizeof(void*))
        at += 1
    _table.interface_version, _table.functions = LSHFAST_INTERFACE, at


_fill()
TABLE = PyCapsule_New(&_table, "lshfast.kernels.native.TABLE", NULL)
