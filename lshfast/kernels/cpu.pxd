# For the other modules of this package: what kernels are chosen by.

# The number of the CPU level in use, the same address for all modules: read it at each call.
cdef const int* level_in_use() noexcept nogil

# Whether the processor has the SHA instructions of x86, at whatever level.
cdef bint has_sha() noexcept nogil
