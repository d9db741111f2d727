/* Memory that grows, and the least of some distances. */
#ifndef LSHFAST_NEAREST_H
#define LSHFAST_NEAREST_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Have memory for `wanted` items of an array; 0 if there is none, and then the array is as it was. */
static inline int have(void **array, size_t *capacity, size_t wanted, size_t width) {
    size_t length = wanted + wanted / 2 + 64;
    if (wanted <= *capacity) return 1;
    void *longer = length > PTRDIFF_MAX / width ? NULL : realloc(*array, length * width);
    if (!longer) return 0;
    *array = longer;
    *capacity = length;
    return 1;
}

/* A heap of the `held` least distances, the greatest first. Begin with zeros; free the distances. */
struct nearest {
    double *distances;
    size_t held, capacity;
};

/* Put a distance into the heap; if it has `most`, the distance takes the place of the greatest unless it is greater. 0: there
 * is no memory. */
static inline int nearest_note(struct nearest *nearest, size_t most, double distance) {
    size_t at = 0;
    if (nearest->held < most) {
        if (!have((void **)&nearest->distances, &nearest->capacity, nearest->held + 1, sizeof distance)) return 0;
        double *heap = nearest->distances;
        for (at = nearest->held++; at && heap[(at - 1) / 2] < distance; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
        heap[at] = distance;
        return 1;
    }
    double *heap = nearest->distances;
    if (!most || distance >= heap[0]) return 1;
    for (size_t child; (child = 2 * at + 1) < nearest->held; at = child) {
        child += child + 1 < nearest->held && heap[child + 1] > heap[child];
        if (heap[child] <= distance) break;
        heap[at] = heap[child];
    }
    heap[at] = distance;
    return 1;
}

#endif
