# For the tables module of this package. `tables` points to a struct band_tables.
from libc.stdint cimport uint64_t

# Return the answers to `signatures`, (m, k): rows with at least `least` equal slots, or all candidates if it is None. At
# least one signature is answered, and further ones until the answers have `room` rows.
cdef tuple answers_of(const void* tables, const uint64_t[:, ::1] signatures, object least, size_t room)

# Append the names in the answer to one `signature` of k slots to `names`, and their equal slots to `agreements` unless it
# is None. `least` is as above; `answers` points to a struct band_tables_answers, which may grow.
cdef int answer_one(
    const void* tables, void* answers, const uint64_t* signature, object least, list names, list agreements
) except -1
