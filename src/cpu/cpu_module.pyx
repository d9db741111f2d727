"""The CPU level that the kernels run on: one number a process, which every module of kernels reads through `level_in_use`."""

cdef extern from "cpu/cpu.h":
    cdef enum cpu_level:
        pass
    const char** cpu_level_names
    cpu_level cpu_detect() nogil
    int cpu_has_sha() nogil

cdef int in_use = <int>cpu_detect()
cdef bint sha = cpu_has_sha()  # asked once: cpuid takes microseconds in virtual machines


cdef str _name(int level):
    return cpu_level_names[level].decode()


def available():
    """Return the names of the CPU levels that this machine can run, the slowest first."""
    return tuple([_name(level) for level in range(<int>cpu_detect() + 1)])


def level():
    """Return the name of the CPU level in use."""
    return _name(in_use)


def use_level(str name not None):
    """Run all kernels of the process on one of the `available` CPU levels from now on."""
    global in_use
    if name not in available():
        raise ValueError(f"CPU level must be one of {', '.join(available())} here, not {name!r}")
    in_use = available().index(name)


cdef const int* level_in_use() noexcept nogil:
    return &in_use


cdef bint has_sha() noexcept nogil:
    return sha
