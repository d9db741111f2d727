/* What numpy's arrays begin with. Its order is part of the binary interface of numpy 1 and 2. Reading it takes a few
 * nanoseconds, where the buffer protocol takes 80 and keeps a description of each array that it was asked for. */
#ifndef LSHFAST_PLAIN_ARRAYS_H
#define LSHFAST_PLAIN_ARRAYS_H

#include <Python.h>

#include <stdint.h>

struct plain_array {
    PyObject_HEAD
    char *data;
    int dimensions;
    Py_ssize_t *shape, *strides;
    PyObject *base, *dtype;
    int flags;
};

/* The numbers of an array of one dimension with this dtype, whose items have `width` bytes, if there are k of them, aligned and
 * side by side; else NULL. */
static inline const void *plain_numbers(PyObject *array, PyObject *dtype, size_t width, size_t k) {
    const struct plain_array *plain = (const struct plain_array *)array;
    if (plain->dtype != dtype || plain->dimensions != 1 || (size_t)plain->shape[0] != k) return NULL;
    if (k > 1 && plain->strides[0] != (Py_ssize_t)width) return NULL;
    return (uintptr_t)plain->data % width ? NULL : plain->data;
}

static inline const uint64_t *plain_slots(PyObject *array, PyObject *dtype, size_t k) {
    return (const uint64_t *)plain_numbers(array, dtype, sizeof(uint64_t), k);
}

#endif
