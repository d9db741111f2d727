# For the other modules of this package.
cdef bint has_writer(object gate) except -1  # whether a writer holds the Gate; it cannot change while the caller keeps the interpreter lock
