# Nothing of this is for other projects' Cython.
