#!/bin/sh
# Builds the compiled modules with the address and undefined-behaviour sanitizers, by LSHFAST_SANITIZE of setup.py, and runs
# tests on them: those of the kernels, or those that are given as arguments of pytest. The sanitizers must stay silent.
# Needs GCC and the packages of the tests; PYTHON names the interpreter. The first build takes minutes, later ones compile
# what changed.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

mkdir "$folder/tree"
LSHFAST_SANITIZE=address,undefined "$python" setup.py -q build_ext --build-lib "$folder/built"
tar -cf - --exclude='*.so' lshfast tests pyproject.toml | tar -xf - -C "$folder/tree"
cp "$folder"/built/lshfast/kernels/* "$folder/tree/lshfast/kernels"

# The leak check needs ptrace, which containers often forbid, and Python frees little at its end. Frames on a fake stack, for
# use after return, are not aligned as registers of 64 bytes need it. Arguments that ask for too much memory are tested.
export ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1:max_allocation_size_mb=1500"
export UBSAN_OPTIONS="print_stacktrace=1:log_path=$folder/undefined"
preload="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
[ $# -gt 0 ] || set -- tests/kernels
cd "$folder/tree"
status=0
LD_PRELOAD=$preload PYTHONPATH=$folder/tree "$python" -m pytest -q -p no:cacheprovider "$@" || status=$?
if ls "$folder"/undefined.* >/dev/null 2>&1; then
    cat "$folder"/undefined.* >&2
    status=1
fi
exit "$status"
