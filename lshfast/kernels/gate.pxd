# For the other modules of this package.

# Return whether a writer may hold or await `gate`, a Gate. 0 holds as long as the caller keeps the interpreter lock; always 1
# where there is none.
cdef bint has_writer(object gate) except -1
