"""Weighted sets to signatures: the kernels of lshfast.sketch.weighted and of datasketch's weighted samples."""

from libc.stdint cimport PTRDIFF_MAX, int32_t, int64_t, uint32_t, uint64_t

import numpy as np

from lshfast.kernels.guards import sketch_in_pieces

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, array_of, check_out, pause

cdef extern from "field.h":
    enum domain:
        pass
    uint64_t draw(uint64_t, domain, uint64_t) nogil

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil
    size_t longest_row(const int64_t*, size_t) nogil
    size_t rows_within(const int64_t*, size_t, size_t) nogil

cdef extern from "sketch/sketch.h":
    const size_t SKETCH_MAX_SLOTS

cdef extern from "weighted/weighted.h":
    const domain DOMAIN_WEIGHTED
    const size_t WEIGHTED_SAMPLE_LANES, WEIGHTED_ELEMENT_WORDS
    struct samples:
        const float* r
        const float* ln_c
        const float* beta
        const float* least
        float margin
        bint shifted
    struct weighted_kernels:
        void (*sample)(const samples*, const int64_t*, const int32_t*, const float*, size_t, size_t, size_t,
                       int64_t*) noexcept nogil
    const weighted_kernels** weighted_levels
    bint weighted_are_valid(const double*, size_t, size_t*) nogil
    double weighted_log(double) nogil
    double weighted_exponential(uint64_t) nogil
    void weighted_shells(const uint64_t*, const double*, size_t, uint64_t, double, size_t, uint64_t*) nogil
    void weighted_icws(const uint64_t*, const double*, size_t, uint64_t, const uint64_t*, size_t, uint64_t*) nogil
    void weighted_multiset_tokens(uint64_t, size_t, uint64_t*) nogil
    double weighted_similarity(const uint64_t*, size_t, const uint64_t*, size_t) nogil
    size_t weighted_equal_samples(const int64_t*, const int64_t*, size_t) nogil

cdef const int* in_use = level_in_use()


cdef inline const weighted_kernels* kernels() noexcept nogil:
    return weighted_levels[in_use[0]]


LANES = WEIGHTED_SAMPLE_LANES

cdef enum:
    LONG_TOKENS = WORK  # tokens of a row that is sketched in pieces


def exact_log(double x):
    """Return the natural logarithm of a finite x above 0: the same bits on every machine."""
    if not 0 < x < float("inf"):
        raise ValueError(f"x must be finite and above 0, not {x}")
    return weighted_log(x)


def exact_exponential(uint64_t v):
    """Return -ln(1 - v / 2**63) of an odd v below 2**63."""
    if v % 2 == 0 or v >> 63:
        raise ValueError(f"v must be odd and below 2**63, not {v}")
    return weighted_exponential(v)


cdef _check_slots(size_t k):
    if not 1 <= k <= SKETCH_MAX_SLOTS:
        raise ValueError(f"num_perm must be in 1..{SKETCH_MAX_SLOTS}, not {k}")


def constants(uint64_t seed, size_t k):
    """Return (constant, slots): what tokens are mixed with, and what each slot of `icws` is drawn with."""
    cdef size_t i
    _check_slots(k)
    slots_array = np.empty(k, np.uint64)
    cdef uint64_t[::1] slots = slots_array
    for i in range(k):
        slots[i] = draw(seed, DOMAIN_WEIGHTED, 1 + i)
    return draw(seed, DOMAIN_WEIGHTED, 0), slots_array


cdef _check_rows(const int64_t[::1] offsets, size_t m):
    if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, m):
        raise ValueError(f"offsets must rise from 0 to at most {m}, the number of elements")


cdef _check_weighted(const int64_t[::1] offsets, const uint64_t[::1] tokens, const double[::1] weights,
                     uint64_t[:, ::1] out):
    cdef size_t at = 0
    _check_rows(offsets, len(tokens))
    if len(weights) != len(tokens):
        raise ValueError(f"as many weights as tokens are needed, not {len(weights)} and {len(tokens)}")
    if out.shape[0] != len(offsets) - 1:
        raise ValueError(f"out must have {len(offsets) - 1} rows, not {out.shape[0]}")
    _check_slots(out.shape[1])
    cdef size_t first = offsets[0], last = offsets[len(offsets) - 1]
    if first < last and not weighted_are_valid(&weights[first], last - first, &at):
        raise ValueError(f"weights must be finite and above 0, not {weights[first + at]} at place {first + at}")
    if out.shape[0]:
        check_out(&out[0, 0], sizeof(uint64_t))


def shells(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None,
           const double[::1] weights not None, uint64_t constant, double points, uint64_t[:, ::1] out not None):
    """Write the signatures of weighted rows of different tokens to out, (n, k); points: those looked at at first."""
    offsets, tokens, weights = aligned(offsets), aligned(tokens), aligned(weights)
    cdef Py_ssize_t i, n = out.shape[0]
    cdef size_t k = out.shape[1], count, done = 0
    cdef uint64_t last_pause = 0
    _check_weighted(offsets, tokens, weights, out)
    if not 1 <= points <= 1e9:
        raise ValueError(f"points must be in 1..1e9, not {points}")
    cdef const uint64_t* token = &tokens[0] if len(tokens) else NULL
    cdef const double* weight = &weights[0] if len(weights) else NULL
    with nogil:
        for i in range(n):
            count = offsets[i + 1] - offsets[i]
            if count > LONG_TOKENS:
                continue
            weighted_shells(token + offsets[i], weight + offsets[i], count, constant, points, k, &out[i, 0])
            done += 16 * (count + k)
            if done >= WORK:
                done = 0
                pause(&last_pause)
    if longest_row(&offsets[0], n) > LONG_TOKENS:
        sketch_in_pieces(shells, array_of(offsets), (tokens, weights, constant, points), array_of(out), LONG_TOKENS)


def icws(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None,
         const double[::1] weights not None, uint64_t constant, const uint64_t[::1] slots not None,
         uint64_t[:, ::1] out not None):
    """Write the signatures of weighted rows of different tokens to out, (n, k), with constants(seed, k)."""
    offsets, tokens, weights, slots = aligned(offsets), aligned(tokens), aligned(weights), aligned(slots)
    cdef Py_ssize_t i, n = out.shape[0]
    cdef size_t k = out.shape[1], count, at, some
    cdef uint64_t last_pause = 0
    _check_weighted(offsets, tokens, weights, out)
    if <size_t>len(slots) != k:
        raise ValueError(f"slots must be those of constants(seed, {k})")
    cdef const uint64_t* token = &tokens[0] if len(tokens) else NULL
    cdef const double* weight = &weights[0] if len(weights) else NULL
    with nogil:
        for i in range(n):
            count, at = offsets[i + 1] - offsets[i], 0
            while at < k:  # slots are independent of each other
                some = min(k - at, WORK // 16 // (count + 1) + 1)
                weighted_icws(token + offsets[i], weight + offsets[i], count, constant, &slots[at], some, &out[i, at])
                at += some
                pause(&last_pause)


def multisets(const uint64_t[::1] tokens not None, const int64_t[::1] counts not None):
    """Return the pairs (token, 1) ... (token, count) of each token as tokens, one after the other."""
    tokens, counts = aligned(tokens), aligned(counts)
    cdef Py_ssize_t i, m = len(tokens)
    cdef size_t total = 0, done = 0, most = PTRDIFF_MAX // sizeof(uint64_t)
    cdef uint64_t last_pause = 0
    if len(counts) != m:
        raise ValueError(f"as many counts as tokens are needed, not {len(counts)} and {m}")
    for i in range(m):
        if not 0 <= counts[i] < 2 ** 48:
            raise ValueError(f"counts must be in 0..2**48 - 1, not {counts[i]}")
        total += <size_t>counts[i]
        if total > most:
            raise ValueError(f"counts must add up to at most {most}, unlike the first {i + 1}")
    out_array = np.empty(total, np.uint64)
    cdef uint64_t[::1] out = out_array
    if total == 0:
        return out_array
    cdef uint64_t* to = &out[0]
    with nogil:
        for i in range(m):
            weighted_multiset_tokens(tokens[i], counts[i], to)
            to += counts[i]
            done += counts[i] + 1
            if done >= WORK:
                done = 0
                pause(&last_pause)
    return out_array


def similarities(const int64_t[::1] offsets not None, const uint64_t[:, ::1] elements not None,
                 const uint64_t[::1] pairs not None, double[::1] out not None):
    """Write sum min / sum max of the weights of the rows of each pair, right << 32 | left.

    elements: (m, 3), two hashes and the bits of the weight, different and sorted in each row; row i has those from
    offsets[i] to offsets[i + 1].
    """
    offsets, elements, pairs = aligned(offsets), aligned_rows(elements), aligned(pairs)
    cdef size_t i, left, right, m = len(pairs), n = max(len(offsets), 1) - 1, done = 0
    cdef uint64_t last_pause = 0
    _check_rows(offsets, elements.shape[0])
    if <size_t>elements.shape[1] != WEIGHTED_ELEMENT_WORDS:
        raise ValueError(f"elements must have {WEIGHTED_ELEMENT_WORDS} words, not {elements.shape[1]}")
    if <size_t>len(out) != m:
        raise ValueError(f"out must have {m} elements, one for each pair, not {len(out)}")
    if not m:
        return
    check_out(&out[0], sizeof(double))
    for i in range(m):
        if pairs[i] >> 32 >= n or <uint32_t>pairs[i] >= n:
            raise ValueError(f"rows of pairs must be below {n}, the number of sets, unlike those of pair {i}")
    if not elements.shape[0]:
        out[:] = 0
        return
    cdef const uint64_t* first = &elements[0, 0]
    with nogil:
        for i in range(m):
            left, right = <uint32_t>pairs[i], pairs[i] >> 32
            out[i] = weighted_similarity(
                first + offsets[left] * WEIGHTED_ELEMENT_WORDS, offsets[left + 1] - offsets[left],
                first + offsets[right] * WEIGHTED_ELEMENT_WORDS, offsets[right + 1] - offsets[right])
            done += WEIGHTED_ELEMENT_WORDS * (offsets[left + 1] - offsets[left] + offsets[right + 1] - offsets[right])
            if done >= WORK:
                done = 0
                pause(&last_pause)


def samples_of(const int64_t[::1] offsets not None, const int32_t[::1] columns not None,
               const float[::1] logs not None, const float[:, :, :, ::1] tables not None, float margin, bint shifted,
               int64_t[:, :, ::1] out not None):
    """Write the consistent samples of rows of (offsets, columns, logs) to out, (n, k, 2): the column and the t of each.

    tables: r, ln c, beta and ln c - r, each (blocks, dim, LANES), float32.
    """
    offsets, columns, logs = aligned(offsets), aligned(columns), aligned(logs)
    cdef size_t b, n = out.shape[0], k = out.shape[1], dim = tables.shape[2], e, at, some, first
    cdef uint64_t last_pause = 0
    cdef samples block
    cdef const weighted_kernels* level = kernels()
    _check_rows(offsets, len(columns))
    if len(logs) != len(columns):
        raise ValueError(f"as many logs as columns are needed, not {len(logs)} and {len(columns)}")
    if <size_t>len(offsets) - 1 != n or out.shape[2] != 2 or k < 1:
        raise ValueError(f"out must be of shape ({len(offsets) - 1}, k, 2), not {(n, k, out.shape[2])}")
    if (tables.shape[0] != 4 or <size_t>tables.shape[1] * WEIGHTED_SAMPLE_LANES < k
            or tables.shape[3] != WEIGHTED_SAMPLE_LANES):
        raise ValueError(f"tables must be of shape (4, blocks of {k} samples, dim, {WEIGHTED_SAMPLE_LANES})")
    for e in range(<size_t>offsets[0], <size_t>offsets[n]):
        if not 0 <= columns[e] < <int64_t>dim:
            raise ValueError(f"columns must be in 0..{dim - 1}, not {columns[e]} at place {e}")
    if n == 0:
        return
    check_out(&out[0, 0, 0], sizeof(int64_t))
    if offsets[0] == offsets[n]:
        out[:] = 0
        return
    if <size_t>&tables[0, 0, 0, 0] % sizeof(float):
        tables = tables.copy()
    block.margin, block.shifted = margin, shifted
    with nogil:
        for b in range((k + WEIGHTED_SAMPLE_LANES - 1) // WEIGHTED_SAMPLE_LANES):
            block.r, block.ln_c = &tables[0, b, 0, 0], &tables[1, b, 0, 0]
            block.beta, block.least = &tables[2, b, 0, 0], &tables[3, b, 0, 0]
            at, first = 0, b * WEIGHTED_SAMPLE_LANES
            while at < n:
                some = rows_within(&offsets[at], n - at, WORK)
                level.sample(&block, &offsets[at], &columns[0], &logs[0], some,
                             min(WEIGHTED_SAMPLE_LANES, k - first), k, &out[at, first, 0])
                at += some
                pause(&last_pause)


def agreement(const int64_t[:, ::1] a not None, const int64_t[:, ::1] b not None):
    """Return the number of equal samples of two (k, 2)."""
    a, b = aligned_rows(a), aligned_rows(b)
    if a.shape[0] != b.shape[0] or a.shape[1] != 2 or b.shape[1] != 2:
        raise ValueError("samples must be of one shape (k, 2)")
    return weighted_equal_samples(&a[0, 0], &b[0, 0], a.shape[0]) if a.shape[0] else 0


def agreements(const int64_t[:, :, ::1] a not None, const int64_t[:, :, ::1] b not None):
    """Return the numbers of equal samples of each of a, (n, k, 2), with each of b, (m, k, 2): int64 (n, m)."""
    cdef size_t i, j, n = a.shape[0], m = b.shape[0], k = a.shape[1]
    if a.shape[1] != b.shape[1] or a.shape[2] != 2 or b.shape[2] != 2:
        raise ValueError("samples must be of shapes (n, k, 2) and (m, k, 2)")
    out_array = np.zeros((n, m), np.int64)
    cdef int64_t[:, ::1] out = out_array
    cdef size_t done = 0
    cdef uint64_t last_pause = 0
    if n and m and k:
        if <size_t>&a[0, 0, 0] % sizeof(int64_t):
            a = a.copy()
        if <size_t>&b[0, 0, 0] % sizeof(int64_t):
            b = b.copy()
        with nogil:
            for i in range(n):
                for j in range(m):
                    out[i, j] = <int64_t>weighted_equal_samples(&a[i, 0, 0], &b[j, 0, 0], k)
                    done += k
                    if done >= WORK:
                        done = 0
                        pause(&last_pause)
    return out_array


cdef double log_of(double x) noexcept nogil:
    return weighted_log(x)


cdef uint64_t draw_shells(uint64_t seed) noexcept nogil:
    return draw(seed, DOMAIN_WEIGHTED, 0)


cdef void sketch_shells(const uint64_t* tokens, const double* weights, size_t n, uint64_t constant, size_t k,
                        uint64_t* out) noexcept nogil:
    weighted_shells(tokens, weights, n, constant, 8.0 * k, k, out)


cdef void number_tokens(uint64_t token, size_t count, uint64_t* out) noexcept nogil:
    weighted_multiset_tokens(token, count, out)
