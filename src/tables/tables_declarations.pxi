# Included by tables_module.pyx: the C that it calls.

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef extern from "rows.h":
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "bands/bands.h":
    ctypedef void band_key_kernel(const uint64_t*, const uint64_t*, size_t, size_t, uint64_t*) nogil
    band_key_kernel** bands_levels
    void bands_starts(size_t, size_t, uint64_t*) nogil

cdef extern from "tables/tables.h":
    const uint32_t NO_ROW
    const size_t NO_PLACE
    const size_t MOST_ROWS
    const uint64_t MOST_CAPACITY
    const size_t UNIT_WORDS
    struct table:
        uint64_t* entries
        uint64_t capacity, length, count
    struct c_pool "pool":
        uint32_t* words
        uint64_t length, used, wanted
    enum outcome:
        DONE, TABLE_IS_FULL, POOL_IS_FULL
    const size_t LINE
    void prefetch(const void*) nogil
    void prefetch_home(const table*, uint32_t) nogil
    void prefetch_next(const table*, uint32_t) nogil
    size_t table_home(const table*, uint32_t) nogil
    uint64_t most_entries(const table*) nogil
    void table_clear(table*) nogil
    outcome table_put(table*, c_pool*, uint32_t, uint32_t) nogil
    bint table_take(table*, c_pool*, uint32_t, uint32_t) nogil
    bint table_move(const table*, table*) nogil
    bint table_rename(table*, c_pool*, uint32_t, uint32_t, uint32_t) nogil
    size_t tag_order(const uint32_t*, const int64_t*, const uint8_t*, size_t, uint64_t*) nogil
    struct table_kernels:
        outcome (*put)(table*, c_pool*, const uint64_t*, size_t, size_t*) nogil
        void (*take)(table*, c_pool*, const uint64_t*, size_t) nogil
    const table_kernels** tables_levels
    void pool_clear(c_pool*) nogil
    void table_move_blocks(table*, const c_pool*, c_pool*) nogil
    size_t bucket_count(const c_pool*, uint64_t) nogil
    bint table_is_sound(const table*, const c_pool*, size_t) nogil

cdef extern from "tables/band_tables.h":
    const size_t SOON, UNDER_WAY
    struct band_tables:
        size_t k, bands, rows, limit
        const uint64_t* starts
        band_key_kernel* keys
        const table_kernels* kernels
        uint64_t** blocks
        unsigned shift
        table* tables
        c_pool* pool
        const uint8_t* gone
    enum answer:
        ANSWERED, NO_ROOM, UNSOUND, UNFINISHED
    struct c_answers "answers":
        uint64_t* keys
        uint32_t* tags
        uint64_t* entries
        uint64_t* records
        size_t room, needed, work, least
        int count
        const int64_t* names
        uint32_t* rows
        uint32_t* agreements
        size_t capacity, used
        int64_t* offsets
    struct c_names "names":
        const int64_t* integers
        const uint8_t* bytes
        const int64_t* starts
        const uint32_t* lengths
        size_t size, limit
        const uint8_t* gone
    uint64_t* signature_of(const band_tables*, size_t) nogil
    void prefetch_signature(const band_tables*, const uint64_t*) nogil
    void band_tags(const band_tables*, const uint64_t*, uint64_t*, uint32_t*, size_t) nogil
    answer answer_queries(const band_tables*, const uint64_t*, size_t, size_t*, c_answers*) nogil
    uint32_t tag_of_integer(int64_t) nogil
    uint32_t tag_of_bytes(const uint8_t*, size_t) nogil
    uint32_t row_of_integer(const table*, const c_pool*, const c_names*, uint32_t, int64_t) nogil
    uint32_t row_of_bytes(const table*, const c_pool*, const c_names*, uint32_t, const uint8_t*, size_t) nogil

# Signatures of a block, in bytes, about; at most 4,096 of them. (numpy has arrays from 4 MB on in huge pages, which take
# longer to come by where memory is filled little by little.)
BLOCK_BYTES = 1 << 21

# Entries beyond a table's capacity, at first, and rows that are looked at side by side.
cdef enum:
    NAMELESS, INTEGERS, STRINGS  # the kinds of names: None, "int" and "str" outside
    SLACK = 64
    GROUP = 16
    BATCH = 1 << 17
    NAMES = 4096  # are admitted in one go
    SOME_NAMES = 1 << 16  # are looked up between two calls of pause()
    WASTE = 1 << 20  # bytes of removed names that may always lie about
    LONGEST_NAME = 1 << 30
    MOST_SLOTS = 1 << 16
    MOST_SPARE = 1 << 16  # candidates that there is always memory for
