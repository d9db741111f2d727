/* Two pointers stand in front of the memory: the next of the retired list, and what free takes. malloc aligns to the size
 * of both, so one more cache line is always enough room for them and for the alignment. */
#include "tables/tables_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TABLES_MEMORY_ALIGNMENT 64

struct head {
    void *next, *start;
};

static inline struct head *head_of(void *memory) { return (struct head *)memory - 1; }

void *tables_memory_get(struct tables_heap *heap, uint64_t count, size_t width) {
    if (count > (PTRDIFF_MAX - TABLES_MEMORY_ALIGNMENT) / width) return NULL;
    char *start = heap->source((size_t)count * width + TABLES_MEMORY_ALIGNMENT);
    if (!start) return NULL;
    uintptr_t first = (uintptr_t)start + sizeof(struct head);
    size_t before = (size_t)(-first % TABLES_MEMORY_ALIGNMENT) + sizeof(struct head);
    void *memory = start + before;
    head_of(memory)->start = start;
    return memory;
}

void *tables_memory_copy(struct tables_heap *heap, const void *items, uint64_t used, uint64_t count, size_t width) {
    void *made = tables_memory_get(heap, count, width);
    if (made && used) memcpy(made, items, (size_t)used * width);
    return made;
}

void tables_memory_free(void *memory) {
    if (memory) free(head_of(memory)->start);
}

void tables_heap_give(struct tables_heap *heap, void *memory) {
    if (!memory) return;
    if (!heap->watched) {
        tables_memory_free(memory);
        return;
    }
    head_of(memory)->next = heap->retired;
    heap->retired = memory;
}

void tables_heap_sweep(struct tables_heap *heap) {
    while (heap->retired) {
        void *memory = heap->retired;
        heap->retired = head_of(memory)->next;
        tables_memory_free(memory);
    }
}
