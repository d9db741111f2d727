"""The order of the answers of an index: the kernel of `lshfast.index.matches`."""

from libc.stdint cimport SIZE_MAX, int64_t

from lshfast.kernels.guards cimport aligned, check_out

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil

cdef extern from "matches/matches.h":
    void matches_order(const int64_t*, size_t, int64_t*, int64_t*, size_t) nogil


def order_matches(const int64_t[::1] offsets not None, int64_t[::1] keys not None, int64_t[::1] scores not None,
                  object most=None):
    """Sort each query's matches, keys[offsets[i]:offsets[i + 1]] and their scores, in place: best score, then key.

    With `most`, at least 1, only the first `most` matches of each query are sorted, and the others follow in any order.
    """
    offsets = aligned(offsets)
    cdef size_t n = len(keys), first = SIZE_MAX if most is None else most
    if first < 1:
        raise ValueError("most must be at least 1, not 0")
    if <size_t>len(scores) != n:
        raise ValueError(f"as many scores as keys are needed, not {len(scores)} and {n}")
    if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, n):
        raise ValueError(f"offsets must rise from 0 to at most {n}, the number of keys")
    if n:
        check_out(&keys[0], sizeof(int64_t))
        check_out(&scores[0], sizeof(int64_t))
        with nogil:
            matches_order(&offsets[0], len(offsets) - 1, &keys[0], &scores[0], first)
