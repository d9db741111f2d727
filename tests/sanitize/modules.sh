#!/bin/sh
# Runs tests on compiled modules that are built with the address and undefined-behaviour sanitizers: the tests of the
# kernels, or those that are given as arguments of pytest. What a sanitizer reports fails the test that was running; a line
# for each file of tests sums up at the end. Needs GCC and the packages of the tests; PYTHON names the interpreter. The first
# build takes minutes, later ones compile what changed.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

mkdir "$folder/tree"
LSHFAST_SANITIZE=address,undefined "$python" setup.py -q build_ext --build-lib "$folder/built"
tar -cf - --exclude='*.so' lshfast src tests benchmarks docs README.md pyproject.toml setup.py |
    tar -xf - -C "$folder/tree" # with what tests read
cp "$folder"/built/lshfast/kernels/* "$folder/tree/lshfast/kernels"

# The leak check needs ptrace, which containers often forbid, and Python frees little at its end. Frames on a fake stack, for
# use after return, are not aligned as registers of 64 bytes need it. Arguments that ask for too much memory are tested.
asan="detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1:max_allocation_size_mb=1500"
libubsan=$(gcc -print-file-name=libubsan.so)
mkdir "$folder/reports"
# Reports go to files. Beside ASan, UBSan ignores its log_path, but ASan takes it over; so every Python sets the path of UBSan.
cat >"$folder/tree/sitecustomize.py" <<END
import ctypes, os
ctypes.CDLL("$libubsan").__sanitizer_set_report_path((os.environ["SANITIZER_REPORTS"] + "-undefined").encode())
END
[ $# -gt 0 ] || set -- tests/kernels
cd "$folder/tree"
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $libubsan" PYTHONPATH=$folder/tree \
    SANITIZER_REPORTS=$folder/reports/process ASAN_OPTIONS="$asan:log_path=$folder/reports/process" \
    UBSAN_OPTIONS="print_stacktrace=1:log_path=$folder/reports/process" \
    "$python" -m pytest -q -p no:cacheprovider -p tests.sanitize.reports "$@"
