/* The memory of tables. C owns it, grows it and gives it back.
 *
 * Contract: memory begins with a cache line and is not initialised. A function that asks for memory returns NULL where
 * there is none, and has changed nothing. Arrays over the memory of tables may be handed to readers; while there may be
 * such readers, the heap is `watched`, and memory that is given back is kept until the next sweep. */
#ifndef LSHFAST_TABLES_MEMORY_H
#define LSHFAST_TABLES_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct tables_heap {
    void *(*source)(size_t bytes); /* malloc, or a function that fails at times; free takes what it returns */
    int watched;
    void *retired; /* a list of memory that is out of use but may be read */
};

/* Memory for `count` items of `width` bytes. */
void *tables_memory_get(struct tables_heap *heap, uint64_t count, size_t width);

/* A copy of the first `used` of an array's items in memory for `count` items. */
void *tables_memory_copy(struct tables_heap *heap, const void *items, uint64_t used, uint64_t count, size_t width);

/* Free memory that no reader knows; NULL is ignored. */
void tables_memory_free(void *memory);

/* Free memory, or retire it while the heap is watched; NULL is ignored. */
void tables_heap_give(struct tables_heap *heap, void *memory);

/* Free all retired memory. */
void tables_heap_sweep(struct tables_heap *heap);

#endif
