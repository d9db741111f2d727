# The C of an index's tables, for the modules that call it.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "rows.h":
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "bands/bands.h":
    ctypedef void band_key_kernel(const uint64_t*, const uint64_t*, size_t, size_t, uint64_t*) nogil
    band_key_kernel** bands_levels

cdef extern from "bits/bits.h":
    struct bits_kernels:
        pass
    const bits_kernels** bits_levels

cdef extern from "tables/tables_memory.h":
    struct tables_heap:
        int watched
    void tables_heap_sweep(tables_heap*) nogil

cdef extern from "tables/tables.h":
    const uint32_t TABLES_NO_ROW
    const size_t TABLES_NO_PLACE, TABLES_MOST_ROWS, TABLES_UNIT_WORDS
    const uint64_t TABLES_MOST_CAPACITY
    struct tables_table:
        uint64_t* entries
        uint64_t capacity, length, count
    struct tables_pool:
        uint32_t* words
        uint64_t length, used
    enum tables_outcome:
        TABLES_DONE, TABLES_NO_MEMORY, TABLES_TOO_LONG, TABLES_POOL_TOO_LONG, TABLES_TOO_MANY_ROWS
    struct tables_kernels:
        pass
    const tables_kernels** tables_levels
    uint64_t tables_most_entries(const tables_table*) nogil
    size_t tables_bucket_count(const tables_pool*, uint64_t) nogil
    bint tables_is_sound(const tables_table*, const tables_pool*, size_t) nogil

cdef extern from "tables/names.h":
    const size_t NAMES_LONGEST
    enum names_kind:
        NAMES_NONE, NAMES_INTEGERS, NAMES_STRINGS
    struct names_one:
        uint32_t tag
    struct names_crowd:
        tables_table table
    struct c_names "names":
        names_kind kind
        bint is_unsigned
        tables_table* table
        names_crowd crowd
        int64_t* integers
        uint8_t* bytes
        int64_t* starts
        uint32_t* lengths
        size_t size, used, limit, compared
        const uint8_t* gone
    void names_set_key(c_names*, uint64_t, uint64_t) nogil
    names_one names_integer(int64_t) nogil
    names_one names_string(const uint8_t*, size_t) nogil
    bint names_text(const c_names*, size_t, const uint8_t**) nogil
    bint names_of_row(const c_names*, size_t, names_one*) nogil
    uint32_t names_find(const c_names*, const names_one*, size_t*, size_t*) nogil
    size_t names_find_strings(const c_names*, const names_one*, size_t, int64_t*, size_t, size_t*) nogil
    size_t names_find_integers(const c_names*, const int64_t*, size_t, int64_t*, size_t, size_t*) nogil
    tables_outcome names_gather(const c_names*, tables_heap*, names_crowd*) nogil
    void names_end_crowd(names_crowd*) nogil

cdef extern from "tables/code_cells.h":
    size_t CODE_CELLS_LEAST
    struct code_cells:
        size_t limit, count, groups, dim
        bint wide
        double (*distance)(const uint64_t*, const uint64_t*, size_t) noexcept nogil

cdef extern from "tables/band_tables.h":
    size_t BAND_TABLES_GROUP
    struct band_tables_kept:
        uint32_t rows
    struct band_tables:
        size_t k, bands, rows, slots, head, bits, limit, capacity, room, free_count, idle
        bint apart
        const bits_kernels* bits_kernels
        band_key_kernel* keys
        const tables_kernels* kernels
        uint64_t** blocks
        uint64_t* heads
        code_cells cells
        unsigned shift
        tables_table* tables
        tables_pool pool
        c_names names
        const uint8_t* gone
        bint fixed
        tables_heap heap
        uint8_t* alive
        band_tables_kept* kept
    struct band_tables_batch:
        pass
    enum band_tables_outcome:
        BAND_TABLES_ANSWERED, BAND_TABLES_NO_ROOM, BAND_TABLES_UNSOUND, BAND_TABLES_UNFINISHED
    struct band_tables_answers:
        size_t work, least
        int count
        const int64_t* names
        uint32_t* rows
        uint32_t* agreements
        size_t capacity, used
        int64_t* offsets
    uint64_t* band_tables_signature(const band_tables*, size_t) nogil
    tables_outcome band_tables_begin(
        band_tables*, void* (*)(size_t) noexcept nogil, size_t, size_t, size_t, names_kind, size_t) nogil
    void band_tables_end(band_tables*) nogil
    tables_outcome band_tables_fix(band_tables*, const uint64_t*, size_t) nogil
    tables_outcome band_tables_code(band_tables*) nogil
    tables_outcome band_tables_reserve(band_tables*, size_t) nogil
    tables_outcome band_tables_prepare(band_tables*, const int64_t*, size_t) nogil
    size_t band_tables_same_block(const band_tables*, const int64_t*, size_t) nogil
    size_t band_tables_rest_of_block(const band_tables*, size_t) nogil
    void band_tables_keep(band_tables*, size_t, const uint64_t*, size_t, size_t) nogil
    size_t band_tables_let_go(band_tables*) nogil
    size_t band_tables_unwritten(const band_tables*, const int64_t*, size_t) nogil
    size_t band_tables_unused(const band_tables*, const int64_t*, size_t) nogil
    void band_tables_allot(band_tables*, size_t, int64_t*) nogil
    enum:
        BAND_TABLES_FREE, BAND_TABLES_IN_USE, BAND_TABLES_WRITTEN, BAND_TABLES_CHECKED
    size_t band_tables_turn(band_tables*, const int64_t*, size_t, uint8_t, uint8_t) nogil
    size_t band_tables_claim_once(band_tables*, int64_t*, size_t) nogil
    void band_tables_release(band_tables*, const int64_t*, size_t) nogil
    tables_outcome band_tables_admit(band_tables*, const names_one*, size_t, int64_t*, uint8_t*, size_t*) nogil
    tables_outcome band_tables_admit_integers(
        band_tables*, const int64_t*, size_t, int64_t*, uint8_t*, size_t*) nogil
    tables_outcome band_tables_expect(band_tables*, uint64_t, size_t, size_t) nogil
    tables_outcome band_tables_tidy(band_tables*) nogil
    tables_outcome band_tables_batch_begin(band_tables_batch*, const band_tables*, size_t) nogil
    void band_tables_batch_end(band_tables_batch*) nogil
    tables_outcome band_tables_write(
        band_tables*, band_tables_batch*, const int64_t*, const uint64_t*, size_t, size_t*) nogil
    void band_tables_erase(band_tables*, band_tables_batch*, const int64_t*, size_t) nogil
    void band_tables_hand_over(band_tables*, band_tables_batch*, const int64_t*, const int64_t*, size_t) nogil
    tables_outcome band_tables_insert_one(
        band_tables*, band_tables_batch*, const names_one*, const uint64_t*, int64_t*) nogil
    tables_outcome band_tables_answers_begin(band_tables_answers*, size_t, size_t) nogil
    tables_outcome band_tables_answers_grow(band_tables_answers*) nogil
    void band_tables_answers_end(band_tables_answers*) nogil
    band_tables_outcome band_tables_answer(
        const band_tables*, const uint64_t*, size_t, size_t*, band_tables_answers*) nogil
