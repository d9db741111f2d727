#!/bin/sh
# Builds the tables of an index with the thread sanitizer and has eight threads ask while one writes: C alone, under a
# lock of POSIX; and the extension, under a Gate and as an LSHIndex. The sanitizer must stay silent, and must see the race
# when the lock is left out. Needs gcc, its libtsan and Cython; PYTHON names the interpreter.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
flags="-O1 -g -std=gnu11 -fsanitize=thread -Isrc"
sources="$(ls src/tables/*.c src/slots/*.c src/bits/*.c | grep -v _module) src/bands/bands.c src/bands/bands_avx512.c src/cpu/cpu.c"
distances=$(ls src/distances/*.c | grep -v _module)
export TSAN_OPTIONS="exitcode=66 halt_on_error=0 report_signal_unsafe=0"
# Some kernels lay out memory in a way that the sanitizer of older compilers does not know.
plain="setarch -R"
$plain true 2>/dev/null || plain=""

# silent NAME COMMAND...: it ends well, and without a word from the sanitizer
silent() {
    name=$1
    shift
    if ! timeout 120 "$@" >"$folder/output" 2>&1 || grep -q "WARNING: ThreadSanitizer" "$folder/output"; then
        cat "$folder/output" >&2
        echo "$name: failed" >&2
        exit 1
    fi
    echo "$name: silent"
}

# racy NAME COMMAND...: without the lock, the sanitizer sees it
racy() {
    name=$1
    shift
    timeout 120 "$@" >"$folder/output" 2>&1 || true
    grep -q "WARNING: ThreadSanitizer: data race" "$folder/output" || { echo "$name: no race was seen" >&2; exit 1; }
    echo "$name: seen"
}

# shellcheck disable=SC2086 (the lists are meant to be split)
gcc $flags -Wall -Wextra tests/sanitize/threads_tables.c $sources -o "$folder/threads_tables" -pthread
silent "C under a lock" $plain "$folder/threads_tables"
racy "C without a lock" $plain "$folder/threads_tables" without

include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
cp -r lshfast "$folder/lshfast"
for module in tables names tables_codes tables_queries tables_search; do
    rm -f "$folder/lshfast/kernels/$module$suffix"
    "$python" -m cython -3 -I . -I src/tables "src/tables/${module}_module.pyx" --module-name "lshfast.kernels.$module" \
        -o "$folder/${module}_module.c" >"$folder/output" 2>&1 || { cat "$folder/output" >&2; exit 1; }
    # shellcheck disable=SC2086
    gcc $flags -w -shared -fPIC -fvisibility=hidden -I"$include" "$folder/${module}_module.c" $sources $distances -lm \
        -o "$folder/lshfast/kernels/$module$suffix"
done
threaded="$plain env LD_PRELOAD=$(gcc -print-file-name=libtsan.so) PYTHONPATH=$folder $python tests/index/threads_index.py"
silent "BandTables under a Gate" $threaded gate
silent "LSHIndex" $threaded index
racy "BandTables without a Gate" $threaded without
