#!/bin/sh
# Builds what readers and writers of an index share with the thread sanitizer and has eight threads ask while one writes:
# the C of the tables alone, under a lock of POSIX; and the modules, under a Gate, in an index on each store, and in
# sessions. The sanitizer must stay silent, and must see the race when the lock is left out. They ask for a million keys in
# all. Needs gcc, its libtsan, Cython and redis-server; PYTHON names the interpreter.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TSAN_OPTIONS="exitcode=66 halt_on_error=0 report_signal_unsafe=0"
# Some kernels lay out memory in a way that the sanitizer of older compilers does not know.
plain="setarch -R"
$plain true 2>/dev/null || plain=""

# silent NAME COMMAND...: it ends well, and without a word from the sanitizer
silent() {
    name=$1
    shift
    if ! timeout 1200 "$@" >"$folder/output" 2>&1 || grep -q "WARNING: ThreadSanitizer" "$folder/output"; then
        cat "$folder/output" >&2
        echo "$name: failed" >&2
        exit 1
    fi
    echo "$name: silent" "$(tail -n 1 "$folder/output")"
}

# racy NAME COMMAND...: without the lock, the sanitizer sees it
racy() {
    name=$1
    shift
    timeout 120 "$@" >"$folder/output" 2>&1 || true
    grep -q "WARNING: ThreadSanitizer: data race" "$folder/output" || { echo "$name: no race was seen" >&2; exit 1; }
    echo "$name: seen"
}

# The first build takes minutes, later ones compile what changed.
LSHFAST_SANITIZE=thread "$python" setup.py -q build_ext --build-lib "$folder/built"
tar -cf - --exclude='*.so' lshfast | tar -C "$folder/built" --skip-old-files -xf -

sources="$(ls src/tables/*.c src/slots/*.c src/bits/*.c | grep -v _module) src/bands/bands.c src/bands/bands_avx512.c src/cpu/cpu.c"
# shellcheck disable=SC2086 (the list is meant to be split)
gcc -O1 -g -std=gnu11 -fsanitize=thread -Isrc -Wall -Wextra tests/sanitize/threads_tables.c $sources -lm \
    -o "$folder/threads_tables" -pthread
silent "C under a lock" $plain "$folder/threads_tables"
racy "C without a lock" $plain "$folder/threads_tables" without

threaded="$plain env LD_PRELOAD=$(gcc -print-file-name=libtsan.so) PYTHONPATH=$folder/built:. $python tests/index/threads_index.py"
silent "BandTables under a Gate" $threaded gate
racy "BandTables without a Gate" $threaded without
silent "LSHIndex in memory" $threaded memory 300000
silent "LSHIndex in a file" $threaded file 250000
silent "LSHIndex in a folder of shards" $threaded shards 200000
silent "LSHIndex in LMDB" $threaded lmdb 200000
silent "LSHIndex in Redis" $threaded redis 30000
silent "Sessions" $threaded sessions 20000
