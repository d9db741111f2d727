"""Records of two words that are sorted, merged and paired: the kernels of the external join."""

from libc.stdint cimport uint8_t, uint64_t

from lshfast.kernels.guards cimport WORK, aligned_rows, check_out, pause

cdef extern from "runs/runs.h":
    struct runs_record:
        uint64_t first, second
    struct runs_walk:
        size_t i, j
    void runs_sort(runs_record*, size_t, runs_record*) nogil
    bint runs_are_sorted(const runs_record*, size_t) nogil
    size_t runs_count_until(const runs_record*, size_t, runs_record) nogil
    size_t runs_of_band(const uint64_t*, size_t, size_t, size_t, uint64_t, const uint8_t*, runs_record*) nogil
    size_t runs_pairs(const runs_record*, size_t, runs_walk*, runs_record*, size_t, size_t) nogil

# A record is two words.
WORDS = 2


cdef inline const runs_record* records_of(const uint64_t[:, ::1] records) except? NULL:
    """Return the records of an aligned array (n, 2), NULL if there are none."""
    if records.shape[1] != 2:
        raise ValueError(f"records must be (n, 2), not ({records.shape[0]}, {records.shape[1]})")
    return <const runs_record*>&records[0, 0] if records.shape[0] else NULL


cdef inline runs_record* room_of(uint64_t[:, ::1] out) except? NULL:
    """Return the records of an array (n, 2) to be written, NULL if there are none."""
    if out.shape[1] != 2:
        raise ValueError(f"out must be (n, 2), not ({out.shape[0]}, {out.shape[1]})")
    if out.shape[0] == 0:
        return NULL
    check_out(&out[0, 0], sizeof(uint64_t))
    return <runs_record*>&out[0, 0]


def sort_records(uint64_t[:, ::1] records not None, uint64_t[:, ::1] scratch not None):
    """Sort records, uint64 (n, 2), in place by both words; scratch has at least as many, and overlaps them nowhere."""
    cdef runs_record* sorted_ = room_of(records)
    cdef runs_record* other = room_of(scratch)
    cdef size_t n = records.shape[0]
    if <size_t>scratch.shape[0] < n:
        raise ValueError(f"scratch must hold {n} records, not {scratch.shape[0]}")
    if n and sorted_ < other + n and other < sorted_ + n:
        raise ValueError("scratch must not overlap the records")
    if n:
        with nogil:
            runs_sort(sorted_, n, other)


def are_sorted(const uint64_t[:, ::1] records not None):
    """Return whether records, uint64 (n, 2), are sorted by both words."""
    records = aligned_rows(records)
    cdef const runs_record* first = records_of(records)
    cdef size_t n = records.shape[0]
    cdef bint sorted_ = True
    if n:
        with nogil:
            sorted_ = runs_are_sorted(first, n)
    return sorted_


def count_until(const uint64_t[:, ::1] records not None, uint64_t first, uint64_t second):
    """Return how many of some sorted records do not come after (first, second)."""
    records = aligned_rows(records)
    cdef const runs_record* start = records_of(records)
    cdef runs_record last
    last.first, last.second = first, second
    return runs_count_until(start, records.shape[0], last) if start else 0


def records_of_band(const uint64_t[:, ::1] keys not None, size_t band, uint64_t first_row, uint64_t[:, ::1] out not None,
                    const uint8_t[::1] chosen=None):
    """Write (mixed key, row) of each row that has a key in a band and is chosen; return how many were written.

    keys, (n, bands), are those of the rows first_row, first_row + 1, ... A row is chosen if its byte is not 0. out is
    (n, 2) at least.
    """
    keys = aligned_rows(keys)
    cdef size_t n = keys.shape[0], bands = keys.shape[1], made = 0
    cdef runs_record* room = room_of(out)
    cdef const uint8_t* marks = NULL
    cdef const uint64_t* first = &keys[0, 0] if n and bands else NULL
    if band >= bands:
        raise ValueError(f"band must be below {bands}, the number of bands, not {band}")
    if <size_t>out.shape[0] < n:
        raise ValueError(f"out must hold {n} records, not {out.shape[0]}")
    if chosen is not None:
        if <size_t>chosen.shape[0] != n:
            raise ValueError(f"chosen must be {n} bytes, not {chosen.shape[0]}")
        marks = &chosen[0] if n else NULL
    if n:
        with nogil:
            made = runs_of_band(first, n, bands, band, first_row, marks, room)
    return made


def pairs_of_records(const uint64_t[:, ::1] records not None, size_t i, size_t j, uint64_t[:, ::1] out not None):
    """Write pairs of second words whose first words are equal, from the pair of the records i and j on.

    records are sorted, and a word is not paired with itself. Returns how many were written to out, (capacity, 2), and
    the next i and j; once i is the number of records, all have been written.
    """
    records = aligned_rows(records)
    cdef const runs_record* first = records_of(records)
    cdef runs_record* room = room_of(out)
    cdef size_t n = records.shape[0], capacity = out.shape[0], made = 0
    cdef uint64_t last_pause = 0
    cdef runs_walk walk
    walk.i, walk.j = i, j
    if i < n and j <= i:
        raise ValueError(f"j must be above i, {i}, not {j}")
    if n and capacity == 0:
        raise ValueError("out must have room for a record")
    with nogil:
        while walk.i < n and made < capacity:
            made += runs_pairs(first, n, &walk, room + made, capacity - made, WORK)
            pause(&last_pause)
    return made, walk.i, walk.j
