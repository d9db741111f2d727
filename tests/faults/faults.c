/* A library for LD_PRELOAD that counts calls of the process and lets one of them fail, or records what they change on disk.
 *
 * Three kinds of calls are counted: those that write, sync, rename, map or truncate files (CALLS), those that allocate
 * memory (MEMORY), and allocations of Python's objects (OBJECTS). A call is told by the lines of Python from which it is
 * made, so that each place of a program can fail once. Python calls the functions `faults_...` through ctypes. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

/* After the others: it would have the headers of the system rename functions to those with offsets of 64 bits. The
 * frames of other versions are laid out otherwise; there, a place is told by the caller in C alone. */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000
#define Py_BUILD_CORE 1
#define HAS_FRAMES 1
#endif
#include <Python.h>
#ifdef HAS_FRAMES
#include "internal/pycore_frame.h"
#endif

enum { CALLS = 1, MEMORY = 2, OBJECTS = 4, RECORD = 8 };
enum { NEAREST_LINES = 3 };
enum { SHORT = -1 }; /* for an error number: half of the bytes are written */

struct call {
    uint64_t place;   /* a hash of the lines of Python and of the caller in C, the same in each process */
    uint64_t nearest; /* the same of the innermost lines */
    char name[24];
};

static int counted = 0, error_number = 0, lasting = 0, log_file = -1, place_file = -1;
static uint64_t target_place = 0, target_number = 0;
static atomic_uint_fast64_t calls = 0;
static atomic_int fired = 0;
static struct call *noted = NULL;
static size_t room = 0;
static char root[PATH_MAX];
static size_t root_length = 0;
static __thread int inside = 0; /* this thread is in one of the functions below */

static PyThreadState *(*thread_state)(void) = NULL;
static void (*dump_traceback)(int, PyThreadState *) = NULL;

static uint64_t mixed(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_of_text(const char *text) {
    uint64_t hash = 1;
    for (; *text; text++) hash = mixed(hash, (unsigned char)*text);
    return hash | 1;
}

/* Hashes by addresses, which threads fill without a lock; 0 is none yet. */
enum { HASH_ROOM = 1 << 16 };
static struct {
    atomic_uintptr_t address;
    atomic_uint_fast64_t hash;
} hashes[HASH_ROOM];

/* Return the hash that is kept for an address, or that which a function finds. */
static uint64_t kept_hash(const void *address, uint64_t (*find)(const void *)) {
    uint64_t at = mixed(1, (uintptr_t)address) % HASH_ROOM;
    for (int tries = 0; tries < 64; tries++, at = (at + 1) % HASH_ROOM) {
        uintptr_t present = 0;
        if (atomic_compare_exchange_strong(&hashes[at].address, &present, (uintptr_t)address)) present = (uintptr_t)address;
        if (present != (uintptr_t)address) continue;
        uint64_t hash = atomic_load(&hashes[at].hash);
        if (hash == 0) atomic_store(&hashes[at].hash, hash = find(address));
        return hash;
    }
    return find(address);
}

/* A caller in C is told by its library and its place there. */
static uint64_t hash_of_caller(const void *caller) {
    Dl_info library;
    if (caller == NULL || !dladdr(caller, &library)) return 1;
    const char *file = strrchr(library.dli_fname, '/');
    return mixed(hash_of_text(file ? file : library.dli_fname), (uintptr_t)caller - (uintptr_t)library.dli_fbase) | 1;
}

#ifdef HAS_FRAMES
enum { NOT_OURS = 1 };

/* The text of a str without other characters than ASCII follows its header. */
static const char *text_of(PyObject *text) { return (const char *)text + sizeof(PyASCIIObject); }

/* A function of the library is told by its file, its name and its line. */
static uint64_t hash_of_code(const void *address) {
    const PyCodeObject *code = address;
    const char *path = strstr(text_of(code->co_filename), "/lshfast/");
    if (path == NULL || strstr(text_of(code->co_filename), "/tests/") != NULL) return NOT_OURS;
    uint64_t hash = mixed(hash_of_text(path), hash_of_text(text_of(code->co_qualname)));
    return mixed(hash, (uint64_t)code->co_firstlineno) | 2;
}
#endif

static uint64_t place_of(const char *name, void *caller, uint64_t *nearest) {
    int lines = 0;
    uint64_t hash = mixed(hash_of_text(name), kept_hash(caller, hash_of_caller));
#ifdef HAS_FRAMES
    PyThreadState *state = thread_state ? thread_state() : NULL;
    *nearest = hash;
    if (state == NULL) return hash;
    for (_PyInterpreterFrame *frame = state->cframe->current_frame; frame != NULL; frame = frame->previous) {
        PyCodeObject *code = frame->f_code;
        if (code == NULL) continue;
        uint64_t code_hash = kept_hash(code, hash_of_code);
        if (code_hash == NOT_OURS) continue;
        hash = mixed(mixed(hash, code_hash), (uint64_t)(frame->prev_instr - _PyCode_CODE(code)));
        if (++lines <= NEAREST_LINES) *nearest = hash;
    }
#endif
    return hash;
}

/* Whether the bytes before an address of a library are an instruction that calls: then it is where a call returns. */
static int is_behind_call(const uint8_t *at) { return at[-5] == 0xE8 || at[-2] == 0xFF || at[-3] == 0xFF || at[-6] == 0xFF; }

/* Print the libraries of an instruction and of the calls on the stack, the innermost first. */
static void print_libraries(int file, const void *instruction, const uintptr_t *stack) {
    const char *last = "";
    const void *at = instruction;
    int printed = 0;
    dprintf(file, "in");
    for (size_t word = 0; word < 400 && printed < 6; at = (const void *)stack[word++]) {
        Dl_info library;
        if (!dladdr(at, &library) || !strcmp(library.dli_fname, last) || strstr(library.dli_fname, "/faults.so")) continue;
        if (at != instruction && ((uintptr_t)at - (uintptr_t)library.dli_fbase < 4096 || !is_behind_call(at))) continue;
        dprintf(file, " %s", last = library.dli_fname);
        printed++;
    }
    dprintf(file, "\n");
}

/* Whether a call can fail because the disk is full. */
static int needs_space(const char *name) { return strcmp(name, "close") && strcmp(name, "mmap") && strcmp(name, "ftruncate"); }

/* Count a call; return the number of the error with which it is to fail, or 0. */
static int failing(int kind, const char *name, void *caller) {
    if (!(counted & kind) || inside) return 0;
    inside = 1;
    uint64_t number = atomic_fetch_add(&calls, 1) + 1;
    int before = atomic_load(&fired);
    int may_hit = target_place && !before && number + number / 16 + 200 >= target_number;
    uint64_t nearest = 0;
    uint64_t place = noted != NULL || may_hit ? place_of(name, caller, &nearest) : 0;
    if (noted != NULL && number <= room) {
        noted[number - 1].place = place;
        noted[number - 1].nearest = nearest;
        strncpy(noted[number - 1].name, name, sizeof noted->name - 1);
    }
    int hit = target_place ? may_hit && place == target_place : target_number && number == target_number;
    if (before && lasting) hit = error_number != ENOSPC || needs_space(name);
    if (before && !lasting) hit = 0;
    if (hit) {
        if (!before && place_file >= 0) {
            dprintf(place_file, "%s\n", name);
            if (dump_traceback && thread_state && thread_state()) dump_traceback(place_file, thread_state());
            print_libraries(place_file, __builtin_return_address(0), __builtin_frame_address(0));
        }
        atomic_store(&fired, 1);
    }
    inside = 0;
    return hit ? error_number : 0;
}

/* Let a function fail here if its turn has come. */
#define FAILS(kind, name, result) \
    do { \
        int error_ = failing(kind, name, __builtin_return_address(0)); \
        if (error_) { \
            errno = error_ < 0 ? EIO : error_; \
            return result; \
        } \
    } while (0)

/* ---- what Python calls ---- */

/* Say in which libraries and in which lines of Python the process ends. */
static void end_with_trace(int number, siginfo_t *signal, void *context) {
    counted = 0;
#ifdef __x86_64__
    const greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    print_libraries(2, (const void *)registers[REG_RIP], (const uintptr_t *)registers[REG_RSP]);
#endif
    if (dump_traceback && thread_state && thread_state()) dump_traceback(2, thread_state());
    raise(number);
}

void faults_start(void) {
    struct sigaction action = {.sa_sigaction = end_with_trace, .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    thread_state = (PyThreadState * (*)(void)) dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    dump_traceback = (void (*)(int, PyThreadState *))dlsym(RTLD_DEFAULT, "_Py_DumpTraceback");
}

/* Count calls of some kinds, and note the place of each. */
void faults_note(int kinds, struct call *notes, size_t length) {
    noted = notes;
    room = length;
    target_place = target_number = 0;
    atomic_store(&calls, 0);
    atomic_store(&fired, 0);
    counted = kinds;
}

/* Let the call of a number fail, or the first one at a place, or all from it on; `where` gets its traceback. To look for
 * a place takes time: it begins somewhat before the number at which the place is expected. */
void faults_arm(int kinds, uint64_t place, uint64_t number, int error, int all_later, int where) {
    noted = NULL;
    target_place = place;
    target_number = number;
    error_number = error;
    lasting = all_later;
    place_file = where;
    atomic_store(&calls, 0);
    atomic_store(&fired, 0);
    counted = kinds;
}

/* Count no more; return how many calls there were. */
uint64_t faults_stop(void) {
    counted = 0;
    noted = NULL;
    return atomic_load(&calls);
}

int faults_fired(void) { return atomic_load(&fired); }

/* Record what is changed below a folder in an open file, until `faults_stop`. */
void faults_record(int file, const char *folder) {
    log_file = file;
    strncpy(root, folder, sizeof root - 1);
    root_length = strlen(root);
    counted = RECORD;
}

/* ---- what is recorded ---- */

struct record {
    uint32_t operation, first_length, second_length;
    uint32_t unused;
    uint64_t inode, offset, length;
};

static void written_all(int file, const void *data, size_t length) {
    const char *at = data;
    while (length) {
        ssize_t done = syscall(SYS_write, file, at, length);
        if (done <= 0) _exit(97);
        at += done;
        length -= (size_t)done;
    }
}

/* Write the absolute path of a name in a folder, which is -100 for the current one. */
static void absolute(int folder, const char *name, char *path) {
    char base[PATH_MAX] = "";
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return;
    }
    if (folder == AT_FDCWD) {
        if (getcwd(base, sizeof base) == NULL) _exit(97);
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) _exit(97);
        base[length] = 0;
    }
    if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) _exit(97);
}

static void path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

static int below(const char *path) { return !strncmp(path, root, root_length) && path[root_length] == '/'; }

static void record(char operation, const char *first, const char *second, uint64_t inode, uint64_t offset,
                   const void *data, size_t length, int has_data) {
    if (!below(first) && !(second && below(second)) && strcmp(first, root)) return;
    size_t second_length = second ? strlen(second) : 0;
    struct record head = {(uint32_t)operation, (uint32_t)strlen(first), (uint32_t)second_length, 0, inode, offset, length};
    written_all(log_file, &head, sizeof head);
    written_all(log_file, first, head.first_length);
    written_all(log_file, second ? second : "", second_length);
    if (has_data) written_all(log_file, data, length);
}

static int is_file(int file) {
    struct stat state;
    int before = errno;
    int regular = fstat(file, &state) == 0 && S_ISREG(state.st_mode);
    errno = before;
    return regular;
}

static int recording(void) { return counted == RECORD && !inside; }

static uint64_t inode_of(int file) {
    struct stat state;
    return fstat(file, &state) ? 0 : state.st_ino;
}

static void record_file(char operation, int file, uint64_t offset, const void *data, size_t length) {
    char path[PATH_MAX];
    int before = errno;
    inside = 1;
    path_of(file, path);
    record(operation, path, NULL, inode_of(file), offset, data, length, operation == 'w');
    inside = 0;
    errno = before;
}

static void record_names(char operation, int first_folder, const char *first, int second_folder, const char *second,
                         uint64_t inode) {
    char first_path[PATH_MAX], second_path[PATH_MAX];
    int before = errno;
    inside = 1;
    absolute(first_folder, first, first_path);
    if (second) absolute(second_folder, second, second_path);
    record(operation, first_path, second ? second_path : NULL, inode, 0, NULL, 0, 0);
    inside = 0;
    errno = before;
}

/* ---- calls on files ---- */

static int is_written(int file) {
    int before = errno;
    int flags = fcntl(file, F_GETFL);
    errno = before;
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && is_file(file);
}

static uint64_t end_of(int file) {
    struct stat state;
    int flags = fcntl(file, F_GETFL);
    if (flags & O_APPEND) return fstat(file, &state) ? 0 : (uint64_t)state.st_size;
    return (uint64_t)lseek(file, 0, SEEK_CUR);
}

static int opened(int folder, const char *name, int flags, mode_t mode, void *caller) {
    int writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT;
    if (writes && counted & CALLS) {
        int error = failing(CALLS, "open", caller);
        if (error) {
            errno = error < 0 ? EIO : error;
            return -1;
        }
    }
    int is_new = 0;
    if (writes && recording()) {
        struct stat state;
        is_new = fstatat(folder, name, &state, 0) != 0;
    }
    int file = (int)syscall(SYS_openat, folder, name, flags, mode);
    if (file >= 0 && writes && recording() && is_file(file)) {
        if (is_new) record_names('c', folder, name, 0, NULL, inode_of(file));
        if (!is_new && flags & O_TRUNC) record_file('t', file, 0, NULL, 0);
    }
    return file;
}

#define MODE_OF(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode = va_arg(arguments, mode_t); \
        va_end(arguments); \
    }

int open(const char *name, int flags, ...) {
    MODE_OF(flags)
    return opened(AT_FDCWD, name, flags, mode, __builtin_return_address(0));
}

int open64(const char *name, int flags, ...) {
    MODE_OF(flags)
    return opened(AT_FDCWD, name, flags, mode, __builtin_return_address(0));
}

int openat(int folder, const char *name, int flags, ...) {
    MODE_OF(flags)
    return opened(folder, name, flags, mode, __builtin_return_address(0));
}

int openat64(int folder, const char *name, int flags, ...) {
    MODE_OF(flags)
    return opened(folder, name, flags, mode, __builtin_return_address(0));
}

/* The bytes of a call that are written: all, half of them, or -1 with an error. */
#define BYTES_OF_CALL(name, file, length) \
    if (counted & CALLS && is_file(file)) { \
        int error_ = failing(CALLS, name, __builtin_return_address(0)); \
        if (error_ > 0) { \
            errno = error_; \
            return -1; \
        } \
        if (error_ == SHORT && length > 1) length /= 2; \
    }

ssize_t write(int file, const void *data, size_t length) {
    BYTES_OF_CALL("write", file, length)
    uint64_t offset = recording() && is_file(file) ? end_of(file) : 0;
    ssize_t done = syscall(SYS_write, file, data, length);
    if (done > 0 && recording() && is_file(file)) record_file('w', file, offset, data, (size_t)done);
    return done;
}

static ssize_t written_at(int file, const void *data, size_t length, off_t offset) {
    ssize_t done = syscall(SYS_pwrite64, file, data, length, offset);
    if (done > 0 && recording()) record_file('w', file, (uint64_t)offset, data, (size_t)done);
    return done;
}

ssize_t pwrite(int file, const void *data, size_t length, off_t offset) {
    BYTES_OF_CALL("pwrite", file, length)
    return written_at(file, data, length, offset);
}

ssize_t pwrite64(int file, const void *data, size_t length, off_t offset) {
    BYTES_OF_CALL("pwrite", file, length)
    return written_at(file, data, length, offset);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    if (counted & CALLS && is_file(file)) FAILS(CALLS, "writev", -1);
    if (!recording() || !is_file(file)) return syscall(SYS_writev, file, parts, count);
    ssize_t total = 0;
    for (int part = 0; part < count; part++) {
        ssize_t done = write(file, parts[part].iov_base, parts[part].iov_len);
        if (done < 0) return total ? total : -1;
        total += done;
        if ((size_t)done < parts[part].iov_len) break;
    }
    return total;
}

ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t length, unsigned flags) {
    FAILS(CALLS, "copy_file_range", -1);
    if (recording()) { /* the caller copies otherwise, and that is recorded */
        errno = EXDEV;
        return -1;
    }
    return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, length, flags);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t length) {
    FAILS(CALLS, "sendfile", -1);
    if (recording()) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_sendfile, to, from, offset, length);
}

ssize_t sendfile64(int to, int from, off_t *offset, size_t length) {
    FAILS(CALLS, "sendfile", -1);
    if (recording()) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_sendfile, to, from, offset, length);
}

int fsync(int file) {
    FAILS(CALLS, "fsync", -1);
    int result = (int)syscall(SYS_fsync, file);
    if (!result && recording()) record_file(is_file(file) ? 's' : 'S', file, 0, NULL, 0);
    return result;
}

int fdatasync(int file) {
    FAILS(CALLS, "fdatasync", -1);
    int result = (int)syscall(SYS_fdatasync, file);
    if (!result && recording()) record_file(is_file(file) ? 's' : 'S', file, 0, NULL, 0);
    return result;
}

static int truncated(int file, off_t length) {
    int result = (int)syscall(SYS_ftruncate, file, length);
    if (!result && recording()) record_file('t', file, (uint64_t)length, NULL, 0);
    return result;
}

int ftruncate(int file, off_t length) {
    FAILS(CALLS, "ftruncate", -1);
    return truncated(file, length);
}

int ftruncate64(int file, off_t length) {
    FAILS(CALLS, "ftruncate", -1);
    return truncated(file, length);
}

static int reserved(int file, off_t offset, off_t length, void *caller) {
    int error = failing(CALLS, "posix_fallocate", caller);
    if (error) return error < 0 ? EIO : error;
    struct stat state;
    if (syscall(SYS_fallocate, file, 0, offset, length)) return errno;
    if (recording() && !fstat(file, &state)) record_file('t', file, (uint64_t)state.st_size, NULL, 0);
    return 0;
}

int posix_fallocate(int file, off_t offset, off_t length) {
    return reserved(file, offset, length, __builtin_return_address(0));
}

int posix_fallocate64(int file, off_t offset, off_t length) {
    return reserved(file, offset, length, __builtin_return_address(0));
}

int close(int file) {
    int error = counted & CALLS && is_written(file) ? failing(CALLS, "close", __builtin_return_address(0)) : 0;
    int result = (int)syscall(SYS_close, file);
    if (error) {
        errno = error < 0 ? EIO : error;
        return -1;
    }
    return result;
}

static int renamed(int old_folder, const char *old, int new_folder, const char *new, unsigned flags) {
    int result = (int)syscall(SYS_renameat2, old_folder, old, new_folder, new, flags);
    if (!result && recording()) record_names('r', old_folder, old, new_folder, new, 0);
    return result;
}

int rename(const char *old, const char *new) {
    FAILS(CALLS, "rename", -1);
    return renamed(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int renameat(int old_folder, const char *old, int new_folder, const char *new) {
    FAILS(CALLS, "rename", -1);
    return renamed(old_folder, old, new_folder, new, 0);
}

int renameat2(int old_folder, const char *old, int new_folder, const char *new, unsigned flags) {
    FAILS(CALLS, "rename", -1);
    return renamed(old_folder, old, new_folder, new, flags);
}

static int linked(int old_folder, const char *old, int new_folder, const char *new, int flags) {
    int result = (int)syscall(SYS_linkat, old_folder, old, new_folder, new, flags);
    if (!result && recording()) record_names('l', old_folder, old, new_folder, new, 0);
    return result;
}

int link(const char *old, const char *new) {
    FAILS(CALLS, "link", -1);
    return linked(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int linkat(int old_folder, const char *old, int new_folder, const char *new, int flags) {
    FAILS(CALLS, "link", -1);
    return linked(old_folder, old, new_folder, new, flags);
}

static int made(int folder, const char *name, mode_t mode) {
    int result = (int)syscall(SYS_mkdirat, folder, name, mode);
    if (!result && recording()) record_names('m', folder, name, 0, NULL, 0);
    return result;
}

int mkdir(const char *name, mode_t mode) {
    FAILS(CALLS, "mkdir", -1);
    return made(AT_FDCWD, name, mode);
}

int mkdirat(int folder, const char *name, mode_t mode) {
    FAILS(CALLS, "mkdir", -1);
    return made(folder, name, mode);
}

/* Removing is recorded and does not fail: what cannot be removed is left, as documented. */
int unlinkat(int folder, const char *name, int flags) {
    int result = (int)syscall(SYS_unlinkat, folder, name, flags);
    if (!result && recording()) record_names(flags & AT_REMOVEDIR ? 'd' : 'u', folder, name, 0, NULL, 0);
    return result;
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

ssize_t send(int file, const void *data, size_t length, int flags) {
    FAILS(CALLS, "send", -1);
    return syscall(SYS_sendto, file, data, length, flags, NULL, 0);
}

static void *mapped(void *at, size_t length, int protection, int flags, int file, off_t offset, void *caller) {
    int error = failing(flags & MAP_ANONYMOUS ? MEMORY : CALLS, "mmap", caller);
    if (error) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, length, protection, flags, file, offset);
}

void *mmap(void *at, size_t length, int protection, int flags, int file, off_t offset) {
    return mapped(at, length, protection, flags, file, offset, __builtin_return_address(0));
}

void *mmap64(void *at, size_t length, int protection, int flags, int file, off_t offset) {
    return mapped(at, length, protection, flags, file, offset, __builtin_return_address(0));
}

/* ---- memory ---- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    FAILS(MEMORY, "malloc", NULL);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    FAILS(MEMORY, "calloc", NULL);
    return __libc_calloc(count, size);
}

void *realloc(void *at, size_t size) {
    FAILS(MEMORY, "realloc", NULL);
    return __libc_realloc(at, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    FAILS(MEMORY, "aligned_alloc", NULL);
    return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size) {
    FAILS(MEMORY, "memalign", NULL);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **at, size_t alignment, size_t size) {
    FAILS(MEMORY, "posix_memalign", ENOMEM);
    *at = __libc_memalign(alignment, size);
    return *at == NULL ? ENOMEM : 0;
}

/* ---- Python's own allocators: of objects, and of what they own ---- */

static PyMemAllocatorEx real_allocators[2];

static void *object_malloc(void *context, size_t size) {
    PyMemAllocatorEx *real = context;
    FAILS(OBJECTS, "object", NULL);
    return real->malloc(real->ctx, size);
}

static void *object_calloc(void *context, size_t count, size_t size) {
    PyMemAllocatorEx *real = context;
    FAILS(OBJECTS, "object", NULL);
    return real->calloc(real->ctx, count, size);
}

static void *object_realloc(void *context, void *at, size_t size) {
    PyMemAllocatorEx *real = context;
    FAILS(OBJECTS, "object", NULL);
    return real->realloc(real->ctx, at, size);
}

static void object_free(void *context, void *at) {
    PyMemAllocatorEx *real = context;
    real->free(real->ctx, at);
}

/* Count the allocations of Python's objects, which it takes from memory of its own. */
void faults_hook_objects(void) {
    void (*get)(PyMemAllocatorDomain, PyMemAllocatorEx *) = dlsym(RTLD_DEFAULT, "PyMem_GetAllocator");
    void (*set)(PyMemAllocatorDomain, PyMemAllocatorEx *) = dlsym(RTLD_DEFAULT, "PyMem_SetAllocator");
    PyMemAllocatorDomain domains[2] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
    for (int number = 0; number < 2; number++) {
        get(domains[number], &real_allocators[number]);
        PyMemAllocatorEx hooked = {&real_allocators[number], object_malloc, object_calloc, object_realloc, object_free};
        set(domains[number], &hooked);
    }
}
