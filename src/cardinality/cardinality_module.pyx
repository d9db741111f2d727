"""Counting distinct tokens: registers of HyperLogLog, and the estimates of these and of MinHash signatures."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport ldexp
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, aligned_rows, check_out, pause

cdef extern from "rows.h":
    bint rows_are_valid(const int64_t*, size_t, size_t) nogil

cdef extern from "sketch/sketch.h":
    const size_t SKETCH_MAX_SLOTS

cdef extern from "cardinality/cardinality.h":
    const unsigned CARDINALITY_MIN_PRECISION, CARDINALITY_MAX_PRECISION
    const size_t CARDINALITY_MIN_SLOTS
    enum: CARDINALITY_MAX_REGISTER
    ctypedef void register_kernel(const uint64_t*, size_t, uint64_t, unsigned, uint8_t*) noexcept nogil
    register_kernel** cardinality_levels
    uint64_t cardinality_constant(uint64_t seed) nogil
    void cardinality_registers_by_hashes(const uint64_t*, size_t, unsigned, unsigned, uint8_t*) nogil
    uint8_t cardinality_highest_register(const uint8_t*, size_t) nogil
    void cardinality_count_registers(const uint8_t*, unsigned, uint32_t*) nogil
    double cardinality_of_registers(const uint32_t*, unsigned, unsigned) nogil
    double cardinality_of_classic(const uint64_t*, size_t) nogil
    double cardinality_of_fast(const uint64_t*, size_t) nogil
    double cardinality_variance_of_fast(double, size_t) nogil

cdef const int* in_use = level_in_use()

MIN_P, MAX_P = CARDINALITY_MIN_PRECISION, CARDINALITY_MAX_PRECISION
MIN_NUM_PERM, MAX_NUM_PERM = CARDINALITY_MIN_SLOTS, SKETCH_MAX_SLOTS


cdef inline register_kernel* kernel() noexcept nogil:
    return cardinality_levels[in_use[0]]


# ---- registers ----

cdef unsigned _precision(Py_ssize_t registers) except 0:
    """Return p of 2**p registers."""
    cdef unsigned p
    for p in range(CARDINALITY_MIN_PRECISION, CARDINALITY_MAX_PRECISION + 1):
        if registers == <Py_ssize_t>1 << p:
            return p
    raise ValueError(f"there must be 2**p registers, p in {MIN_P}..{MAX_P}, not {registers}")


cdef _check_width(int width, unsigned p):
    if not <int>p < width <= 64:
        raise ValueError(f"width must be in {p + 1}..64, not {width}")


def constant(uint64_t seed):
    """Return the constant of a seed, which tokens are mixed with."""
    return cardinality_constant(seed)


def update(const uint64_t[::1] tokens not None, uint64_t constant, uint8_t[::1] registers not None):
    """Raise 2**p registers by tokens, with constant(seed)."""
    tokens = aligned(tokens)
    cdef unsigned p = _precision(len(registers))
    cdef size_t at = 0, some, n = len(tokens)
    cdef uint64_t last_pause = 0
    cdef register_kernel* level = kernel()
    cdef bytearray raised  # of many tokens: registers are raised by all of them or, after an interrupt, by none
    cdef uint8_t* to
    if n == 0:
        return
    if n <= WORK:
        with nogil:
            level(&tokens[0], n, constant, p, &registers[0])
        return
    raised = bytearray(registers)
    to = raised
    with nogil:
        while at < n:
            some = min(n - at, <size_t>WORK)
            level(&tokens[at], some, constant, p, to)
            at += some
            pause(&last_pause)
    memcpy(&registers[0], to, len(raised))


def update_rows(const int64_t[::1] offsets not None, const uint64_t[::1] tokens not None, uint64_t constant,
                uint8_t[:, ::1] registers not None):
    """Raise the registers of each row, (n, 2**p), by the row's tokens of (offsets, tokens)."""
    offsets, tokens = aligned(offsets), aligned(tokens)
    cdef Py_ssize_t i, n = registers.shape[0]
    cdef size_t at, some, done = 0
    cdef uint64_t last_pause = 0
    cdef unsigned p = _precision(registers.shape[1])
    cdef const uint64_t* first = &tokens[0] if len(tokens) else NULL
    cdef register_kernel* level = kernel()
    if len(offsets) < 1 or not rows_are_valid(&offsets[0], len(offsets) - 1, len(tokens)):
        raise ValueError(f"offsets must rise from 0 to at most {len(tokens)}, the number of tokens")
    if n != len(offsets) - 1:
        raise ValueError(f"registers must have {len(offsets) - 1} rows, not {n}")
    with nogil:
        for i in range(n):
            at = offsets[i]
            while at < <size_t>offsets[i + 1]:
                some = min(offsets[i + 1] - at, <size_t>WORK)
                level(first + at, some, constant, p, &registers[i, 0])
                at += some
                done += some
                if done >= WORK:
                    done = 0
                    pause(&last_pause)


def update_hashes(const uint64_t[::1] hashes not None, int width, uint8_t[::1] registers not None):
    """Raise 2**p registers by hashes of so many bits, as datasketch reads them; all of them or, on an error, none."""
    hashes = aligned(hashes)
    cdef unsigned p = _precision(len(registers))
    cdef Py_ssize_t i, n = len(hashes)
    _check_width(width, p)
    if width < 64:
        for i in range(n):
            if hashes[i] >> width:
                raise ValueError(f"hash value {hashes[i]} (item {i}) does not fit in {width} bits")
    if n:
        with nogil:
            cardinality_registers_by_hashes(&hashes[0], n, width, p, &registers[0])


def register_estimates(const uint8_t[:, ::1] registers not None, int width, double[::1] out not None):
    """Write the estimate of each row of registers, (n, 2**p), of hashes of so many bits to out, (n,)."""
    cdef Py_ssize_t i, n = registers.shape[0]
    cdef unsigned p = _precision(registers.shape[1])
    cdef uint32_t[CARDINALITY_MAX_REGISTER + 1] counts
    cdef uint8_t highest
    cdef size_t done = 0
    cdef uint64_t last_pause = 0
    _check_width(width, p)
    if len(out) != n:
        raise ValueError(f"out must have {n} entries, not {len(out)}")
    if n == 0:
        return
    check_out(&out[0], sizeof(double))
    with nogil:
        highest = cardinality_highest_register(&registers[0, 0], n << p)
    if highest > width - p + 1:
        raise ValueError(f"a register holds {highest}; with p = {p} they are at most {width - p + 1}")
    with nogil:
        for i in range(n):
            cardinality_count_registers(&registers[i, 0], p, counts)
            out[i] = cardinality_of_registers(counts, width, p)
            done += <size_t>1 << p
            if done >= WORK:
                done = 0
                pause(&last_pause)


# ---- one sketch: its registers are a contiguous buffer of 2**p int8 or uint8, which costs less to open than an array ----

cdef int _count(object registers, int width, uint32_t* counts) except -1:
    """Count how many registers hold each value, and return p; raise ValueError if one is higher than it can be."""
    cdef Py_buffer view
    cdef unsigned p
    cdef uint8_t highest
    cdef uint32_t counted = 0
    cdef int r
    PyObject_GetBuffer(registers, &view, PyBUF_FORMAT | PyBUF_ND)
    try:
        if view.ndim != 1 or view.itemsize != 1 or view.format[0] not in (b"b", b"B"):
            raise TypeError("registers must be int8 or uint8 of one dimension")
        p = _precision(view.len)
        _check_width(width, p)
        if counts != NULL:
            cardinality_count_registers(<const uint8_t*>view.buf, p, counts)
            for r in range(width - p + 2):
                counted += counts[r]
            if counted == <uint32_t>1 << p:
                return p
        highest = cardinality_highest_register(<const uint8_t*>view.buf, view.len)
        if highest > width - p + 1:
            # bytes of numbers with a sign are read as such
            raise ValueError(
                f"registers must be in 0..{width - p + 1}, as p is {p}, not {highest if highest < 128 else highest - 256}"
            )
    finally:
        PyBuffer_Release(&view)
    return p


def check_registers(registers, int width):
    """Return p of 2**p registers of hashes of so many bits; raise ValueError if one is higher than it can be."""
    return _count(registers, width, NULL)


def register_estimate(registers, int width):
    """Return the estimate of 2**p registers of hashes of so many bits, as `register_estimates` does."""
    cdef uint32_t[CARDINALITY_MAX_REGISTER + 1] counts
    cdef unsigned p = _count(registers, width, counts)
    return cardinality_of_registers(counts, width, p)


def register_sum(registers, int width):
    """Return the sum of 2**-r over 2**p registers r of hashes of so many bits, and how many of them are 0."""
    cdef uint32_t[CARDINALITY_MAX_REGISTER + 1] counts
    cdef unsigned p = _count(registers, width, counts)
    cdef double total = 0
    cdef int r
    for r in range(width - p + 1, -1, -1):  # the smallest first
        total += ldexp(counts[r], -r)
    return total, counts[0]


# ---- signatures ----

cdef _check_signatures(const uint64_t[:, ::1] signatures, const double[::1] out):
    if not <Py_ssize_t>CARDINALITY_MIN_SLOTS <= signatures.shape[1] <= <Py_ssize_t>SKETCH_MAX_SLOTS:
        raise ValueError(f"num_perm must be in {MIN_NUM_PERM}..{MAX_NUM_PERM} to count, not {signatures.shape[1]}")
    if len(out) != signatures.shape[0]:
        raise ValueError(f"out must have {signatures.shape[0]} entries, not {len(out)}")
    if len(out):
        check_out(&out[0], sizeof(double))


def classic_estimates(const uint64_t[:, ::1] signatures not None, double[::1] out not None):
    """Write the estimate of each classic signature, (n, k), to out, (n,)."""
    signatures = aligned_rows(signatures)
    cdef Py_ssize_t i
    cdef size_t k = signatures.shape[1], done = 0
    cdef uint64_t last_pause = 0
    _check_signatures(signatures, out)
    with nogil:
        for i in range(signatures.shape[0]):
            out[i] = cardinality_of_classic(&signatures[i, 0], k)
            done += k
            if done >= WORK:
                done = 0
                pause(&last_pause)


def fast_estimates(const uint64_t[:, ::1] signatures not None, double[::1] out not None):
    """Write the estimate of each fast signature, (n, k), to out, (n,)."""
    signatures = aligned_rows(signatures)
    cdef Py_ssize_t i
    cdef size_t k = signatures.shape[1], done = 0
    cdef uint64_t last_pause = 0
    _check_signatures(signatures, out)
    with nogil:
        for i in range(signatures.shape[0]):
            out[i] = cardinality_of_fast(&signatures[i, 0], k)
            done += k
            if done >= WORK:
                done = 0
                pause(&last_pause)


def fast_variance(double n, size_t k):
    """Return k times the squared relative standard error of fast_estimates for n tokens: in [1/2, 1]."""
    if not CARDINALITY_MIN_SLOTS <= k <= SKETCH_MAX_SLOTS:
        raise ValueError(f"num_perm must be in {MIN_NUM_PERM}..{MAX_NUM_PERM} to count, not {k}")
    if not n > 0:
        raise ValueError(f"n must be above 0, not {n}")
    return cardinality_variance_of_fast(n, k)


# ---- for other projects' Cython ----

cdef uint64_t draw_registers(uint64_t seed) noexcept nogil:
    return cardinality_constant(seed)


cdef void update_registers(const uint64_t* tokens, size_t n, uint64_t constant, unsigned p,
                           uint8_t* registers) noexcept nogil:
    kernel()(tokens, n, constant, p, registers)


cdef double estimate_registers(const uint8_t* registers, unsigned p) noexcept nogil:
    cdef uint32_t[CARDINALITY_MAX_REGISTER + 1] counts
    cardinality_count_registers(registers, p, counts)
    return cardinality_of_registers(counts, 64, p)


cdef double estimate_classic(const uint64_t* signature, size_t k) noexcept nogil:
    return cardinality_of_classic(signature, k)


cdef double estimate_fast(const uint64_t* signature, size_t k) noexcept nogil:
    return cardinality_of_fast(signature, k)
