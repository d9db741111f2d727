"""Sparse vectors of texts, the weights of their terms: products of pairs, and the rows with the greatest products."""

cimport cython
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from lshfast.kernels.guards cimport WORK, aligned, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "terms/terms.h":
    const double TERMS_LEAST, TERMS_MOST
    struct terms_rows:
        const int64_t* offsets
        const int32_t* terms
        const double* weights
    struct terms_index:
        const int64_t* starts
        const int32_t* places
        const double* weights
    struct terms_search:
        size_t k
        double* sums
        int32_t* touched
        double* best
    size_t terms_products(terms_rows, const int64_t*, const int64_t*, size_t, double*, int64_t*, size_t, double*) nogil
    void terms_count(terms_rows, const int64_t*, size_t, const uint8_t*, int64_t*) nogil
    void terms_post(terms_rows, const int64_t*, size_t, size_t, const uint8_t*, int64_t*, int32_t*, double*) nogil
    size_t terms_nearest(terms_rows, terms_index, const int64_t*, const int32_t*, size_t, terms_search, size_t, int32_t*,
                         int64_t*) nogil

cdef enum:
    ROWS = 1 << 14  # that are posted between two calls of pause()


@cython.final
@cython.auto_pickle(False)
cdef class TermRows:
    """Rows of terms, int32 (m,), ascending in each row, with weights, float64 (m,), in 1e-100..1e100.

    The terms are below `terms_count`. The arrays must not change.
    """

    cdef terms_rows rows
    cdef readonly size_t n
    cdef readonly size_t terms_count
    cdef object _held

    def __cinit__(self, const int64_t[::1] offsets not None, const int32_t[::1] terms not None,
                 const double[::1] weights not None, size_t terms_count):
        cdef size_t i, n, m = len(terms), at
        cdef int wrong = 0
        offsets, terms, weights = aligned(offsets), aligned(terms), aligned(weights)
        if <size_t>len(weights) != m:
            raise ValueError(f"as many weights as terms are needed, not {len(weights)} and {m}")
        if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, m):
            raise ValueError(f"offsets must rise from 0 to at most {m}, the number of terms")
        n = len(offsets) - 1
        if terms_count > INT32_MAX:
            raise ValueError(f"terms_count must be at most 2**31 - 1, not {terms_count}")
        with nogil:
            for at in range(m):
                if terms[at] < 0 or <size_t>terms[at] >= terms_count:
                    wrong = 1
                    break
                if not TERMS_LEAST <= weights[at] <= TERMS_MOST:
                    wrong = 2
                    break
            for i in range(n):
                if wrong:
                    break
                for at in range(<size_t>offsets[i] + 1, <size_t>offsets[i + 1]):
                    if terms[at - 1] >= terms[at]:
                        wrong = 3
                        break
        if wrong == 1:
            raise ValueError(f"terms must be in 0..{<Py_ssize_t>terms_count - 1}, not {terms[at]}")
        if wrong == 2:
            raise ValueError(f"weights must be in {TERMS_LEAST}..{TERMS_MOST}, not {weights[at]}")
        if wrong == 3:
            raise ValueError(f"terms of a row must rise, unlike {terms[at - 1]} and {terms[at]} at place {at}")
        self.n, self.terms_count, self._held = n, terms_count, (offsets, terms, weights)
        self.rows.offsets = &offsets[0]
        if m:
            self.rows.terms, self.rows.weights = &terms[0], &weights[0]

    def products(self, const int64_t[::1] left not None, const int64_t[::1] right not None):
        """Return the products of pairs of rows, float64 (pairs,); faster if the pairs are sorted by `left`."""
        cdef size_t pairs = len(left), done = 0
        cdef int64_t held = -1
        left, right = aligned(left), aligned(right)
        if <size_t>len(right) != pairs:
            raise ValueError(f"as many lefts as rights are needed, not {pairs} and {len(right)}")
        out = np.empty(pairs, np.float64)
        if not pairs:
            return out
        if not (are_below(&left[0], pairs, self.n) and are_below(&right[0], pairs, self.n)):
            raise ValueError(f"rows of pairs must be below {self.n}")
        cdef double[::1] dense = np.zeros(max(1, self.terms_count), np.float64), found = out
        cdef uint64_t last_pause = 0
        with nogil:
            while done < pairs:
                done += terms_products(self.rows, &left[done], &right[done], pairs - done, &dense[0], &held, WORK,
                                       &found[done])
                pause(&last_pause)
        return out


@cython.final
@cython.auto_pickle(False)
cdef class TermIndex:
    """For each term that is not 0 in `kept`, uint8 (terms_count,), those of some rows that have it, with their weights."""

    cdef terms_index index
    cdef readonly size_t n
    cdef size_t _terms_count
    cdef object _held

    def __cinit__(self, TermRows vectors not None, const int64_t[::1] rows not None, const uint8_t[::1] kept not None):
        cdef size_t n = len(rows), at = 0, some, count = vectors.terms_count
        cdef uint64_t last_pause = 0
        rows = aligned(rows)
        if <size_t>len(kept) != count:
            raise ValueError(f"kept must have {count} elements, one for each term, not {len(kept)}")
        if n >= INT32_MAX:
            raise ValueError(f"rows must be fewer than 2**31 - 1, not {n}")
        if n and not are_below(&rows[0], n, vectors.n):
            raise ValueError(f"rows must be below {vectors.n}")
        starts_array = np.zeros(count + 1, np.int64)
        cdef int64_t[::1] starts = starts_array, ends
        if n and count:
            while at < n:
                some = min(n - at, <size_t>ROWS)
                with nogil:
                    terms_count(vectors.rows, &rows[at], some, &kept[0], &starts[0])
                    pause(&last_pause)
                at += some
            np.cumsum(starts_array, dtype=np.int64, out=starts_array)
        ends = starts_array.copy()
        places_array, weights_array = np.empty(starts_array[count], np.int32), np.empty(starts_array[count], np.float64)
        cdef int32_t[::1] places = places_array
        cdef double[::1] weights = weights_array
        self.n, self._terms_count, self._held = n, count, (starts_array, places_array, weights_array)
        self.index.starts = &starts[0]
        if len(places):
            self.index.places, self.index.weights = &places[0], &weights[0]
        at = 0
        while at < n and len(places):
            some = min(n - at, <size_t>ROWS)
            with nogil:
                terms_post(vectors.rows, &rows[at], some, at, &kept[0], &ends[0], &places[0], &weights[0])
                pause(&last_pause)
            at += some

    def nearest(self, TermRows vectors not None, const int64_t[::1] rows not None, const int32_t[::1] own not None,
                size_t neighbors):
        """Return the places of the indexed rows with the greatest products, and how many there are for each row.

        The places, int32 (rows, k) with k = min(neighbors, n), are in any order. Of equal products, the smaller places
        are taken; the place own[i] is left out, unless it is -1.
        """
        cdef size_t n = len(rows), k = min(neighbors, self.n), done = 0, i
        rows, own = aligned(rows), aligned(own)
        if vectors.terms_count != self._terms_count:
            raise ValueError(f"vectors must have {self._terms_count} terms, not {vectors.terms_count}")
        if <size_t>len(own) != n:
            raise ValueError(f"own must have {n} elements, one for each row, not {len(own)}")
        for i in range(n):
            if own[i] < -1 or own[i] >= <int32_t>self.n:
                raise ValueError(f"own must be in -1..{<Py_ssize_t>self.n - 1}, not {own[i]}")
        out, counts = np.empty((n, k), np.int32), np.zeros(n, np.int64)
        if not n or not k:
            return out, counts
        if not are_below(&rows[0], n, vectors.n):
            raise ValueError(f"rows must be below {vectors.n}")
        cdef int32_t[:, ::1] found = out
        cdef int64_t[::1] made = counts
        cdef double[::1] sums = np.zeros(self.n, np.float64), best = np.empty(k, np.float64)
        cdef int32_t[::1] touched = np.empty(self.n + 1, np.int32)
        cdef terms_search search
        cdef uint64_t last_pause = 0
        search.k, search.sums, search.touched, search.best = k, &sums[0], &touched[0], &best[0]
        with nogil:
            while done < n:
                done += terms_nearest(vectors.rows, self.index, &rows[done], &own[done], n - done, search, WORK,
                                      &found[done, 0], &made[done])
                pause(&last_pause)
        return out, counts
