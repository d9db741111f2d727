# Nothing of this stage is for other projects' Cython: its classes own memory.
