# For the tables module of this package. `tables` points to a struct band_tables, `answers` to a band_tables_answers.
from libc.stdint cimport uint64_t

cdef tuple answers_of(const void* tables, const uint64_t[:, ::1] signatures, object least, size_t room)
cdef int answer_one(
    const void* tables, void* answers, const uint64_t* signature, object least, list names, list agreements
) except -1
