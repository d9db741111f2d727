# For the other modules of this package: what kernels check before they compute, and how long ones can be interrupted.
from libc.stdint cimport PTRDIFF_MAX, int32_t, int64_t, uint32_t, uint64_t

# Whether there is no interpreter lock: then other threads run between any two steps, also of code that does not release it.
cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define LSHFAST_FREE_THREADED 1
    #else
    #define LSHFAST_FREE_THREADED 0
    #endif
    """
    const bint FREE_THREADED "LSHFAST_FREE_THREADED"

cdef enum:
    WORK = 1 << 20  # simple steps between two calls of pause(): 1 to 100 ms

# Checks every 50 ms: raises what a signal handler raises, or Stopped in a worker thread whose run is over. `last` points to
# a number that the caller initialises to 0.
cdef int pause(uint64_t* last) except -1 nogil

# The array over the memory of a view. numpy's own functions read one item after another if they get no memory for the view:
# then the array is another one, of another type.
cdef object array_of(object view)

# A sum or product of sizes `a` and `b`; MemoryError where it is more than memory can hold.
cdef inline size_t sum_of(size_t a, size_t b) except? 0:
    if a > <size_t>PTRDIFF_MAX or b > <size_t>PTRDIFF_MAX - a:
        raise MemoryError(f"{a} + {b} items do not fit into memory")
    return a + b


cdef inline size_t product_of(size_t a, size_t b) except? 0:
    if b and a > <size_t>PTRDIFF_MAX // b:
        raise MemoryError(f"{a} x {b} items do not fit into memory")
    return a * b


# Numbers in memory that does not begin at a multiple of their size cannot be read by C. The rule of all kernels: inputs
# that lie so are copied, outputs that lie so are refused. `array` is an input; `out` is an output of numbers of `width`
# bytes.
ctypedef fused number:
    int32_t
    int64_t
    uint32_t
    uint64_t
    float
    double


cdef inline const number[::1] aligned(const number[::1] array):
    if array.shape[0] and <size_t>&array[0] % sizeof(number):
        return array.copy()
    return array


cdef inline const number[:, ::1] aligned_rows(const number[:, ::1] array):
    if array.shape[0] and array.shape[1] and <size_t>&array[0, 0] % sizeof(number):
        return array.copy()
    return array


cdef inline int check_out(const void* out, size_t width) except -1:
    if <size_t>out % width:
        raise ValueError(f"out must be aligned: begin at a multiple of {width} bytes")
    return 0
