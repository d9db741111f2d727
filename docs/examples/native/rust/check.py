import ctypes
import sys

from lshfast.kernels import native

library = ctypes.CDLL(sys.argv[1])
library.distance.argtypes = [ctypes.c_void_p, *[ctypes.c_char_p, ctypes.c_size_t] * 2]
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.argtypes, pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
table = pointer_of(native.TABLE, b"lshfast.kernels.native.TABLE")


def distance(a, b):
    a, b = a.encode(), b.encode()
    return library.distance(table, a, len(a), b, len(b))


print(distance("the quick brown fox jumps over the lazy dog", "The quick brown fox jumps over the lazy cat!"))
