#!/usr/bin/env bash
# Build the C of src/ for platforms that the tests of Python do not run on, and run the C checks where that is possible.
#
# - this machine, as a reference: C11 without extensions of GCC, no implicit conversion to a narrower type
# - 32 bits (gcc -m32): size_t has 32 bits
# - Windows (MinGW-w64): long has 32 bits; once with GCC's builtins and once with MSVC's intrinsics. Run under Wine.
# - MSVC's branches for x86-64 and ARM64 (clang): syntax only, against declarations written here
#
# All programs that run must print the digests of the reference. Debian: gcc-multilib gcc-mingw-w64-x86-64 wine clang.
# What is not installed is left out, and named.
# Usage: tests/platforms.sh [PART...]     PART: msvc, which takes seconds; clang_cl, the same for clang in the place of MSVC;
# programs, which is what is run, but for Windows with GCC's builtins; builtins, which is that. By default all of them.
#                             DIGESTS=FOLDER: where sanitize/sanitize.sh has left the digests of the reference
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
cleared() { # Wine's server ends some seconds after the last program, and writes its registry into the folder until then
  for _ in {1..50}; do rm -rf "$folder" 2>/dev/null && return; sleep 0.2; done
  echo "$folder could not be removed" >&2
}
trap cleared EXIT
sources=$(ls src/*/*.c | grep -v '_module\.c$')
programs=$(ls tests/sanitize/sanitize*.c)
flags="-std=c11 -O2 -ffp-contract=off -Wall -Wextra -Wpedantic -Wvla -Wconversion -Wno-sign-conversion -Werror -Isrc"
mingw=x86_64-w64-mingw32-gcc
wine=$(command -v wine64 || ls /usr/lib/wine/wine64 2>/dev/null || true) # Debian's `wine` asks for 32-bit programs, too
export WINEPREFIX=$folder/wine WINEDEBUG=-all

# build NAME COMPILER...: all programs, into $folder/NAME. They are compiled before they are linked, so that ccache keeps
# their objects.
build() {
  local name=$1 source program
  shift
  mkdir "$folder/$name"
  for source in $sources; do
    # shellcheck disable=SC2086 (the flags are a list)
    "$@" $flags -c "$source" -o "$folder/$name/$(basename "$source" .c).o"
  done
  for program in $programs; do
    program=$(basename "$program" .c)
    "$@" -std=c11 -O1 -Isrc -c "tests/sanitize/$program.c" -o "$folder/program.o"
    "$@" "$folder/program.o" "$folder/$name"/*.o -o "$folder/$name/$program.exe" -static -lm
  done
}

# check NAME [RUNNER]: the programs print what the reference prints. On a busy machine Wine sometimes loses its own server
# and ends with "wine client error" or without a message, which no program does: it is then run again, at most twice.
check() {
  local name=$1 runner=${2:-} program digest status
  for program in $programs; do
    program=$(basename "$program" .c)
    for _ in 1 2 3; do
      status=0
      digest=$($runner "$folder/$name/$program.exe" 2>"$folder/errors" | tr -d '\r') || status=$?
      if [ $status = 0 ] || [ -z "$runner" ] || [ -n "$digest" ]; then break; fi
      if [ -s "$folder/errors" ] && ! grep -q '^wine client error' "$folder/errors"; then break; fi
    done
    [ $status = 0 ] || { cat "$folder/errors" >&2; echo "$name: $program failed with status $status" >&2; exit 1; }
    [ "$name" = reference ] && echo "$digest" >"$folder/$program.digest"
    [ "$digest" = "$(cat "$folder/$program.digest")" ] ||
      { echo "$name: $program computes something else" >&2; exit 1; }
  done
  echo "$name: run"
}

# read_by_clang NAME FLAGS FLAGS: the C for x86-64 and for ARM64 with flags of each, beside each other
read_by_clang() {
  local target check checks=()
  if command -v clang >/dev/null; then
    mkdir -p "$folder/include"
    cat >"$folder/include/string.h" <<'END'
#pragma once
#include <stddef.h>
typedef long long jmp_buf[32];
struct timespec { long long tv_sec; long tv_nsec; };
#define TIME_UTC 1
#define INFINITY ((float)(1e300 * 1e300))
int timespec_get(struct timespec *, int), memcmp(const void *, const void *, size_t);
float floorf(float), sqrtf(float);
double floor(double), sqrt(double), fabs(double), cos(double), acos(double), fmin(double, double), fmax(double, double);
unsigned long long _byteswap_uint64(unsigned long long);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
void free(void *), _aligned_free(void *), *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t), *_aligned_malloc(size_t, size_t), *memset(void *, int, size_t),
    *memcpy(void *, const void *, size_t), *memmove(void *, const void *, size_t), *memchr(const void *, int, size_t);
END
    for header in math time stdlib malloc setjmp; do echo '#include <string.h>' >"$folder/include/$header.h"; done
    # Clang's own headers for MSVC declare the instructions only of the processor that is named.
    avx="-mavx2 -mbmi -mbmi2 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512ifma -mavx512vbmi -mavx512vbmi2 -mavx512vpopcntdq -msha"
    for target in "x86_64 $avx $2" "aarch64 $3"; do
      # shellcheck disable=SC2086
      clang --target=${target%% *}-pc-windows-msvc -fsyntax-only -fms-extensions -fms-compatibility-version=19.30 \
        -std=c11 -Wall -Wextra -Werror -Wno-unknown-pragmas -Isrc -isystem "$folder/include" \
        ${target#"${target%% *}"} $sources &
      checks+=($!)
    done
    for check in "${checks[@]}"; do wait "$check"; done
    echo "$1: compiled"
  else
    echo "$1: left out, there is no clang"
  fi
}

msvc() { read_by_clang "MSVC's branches" -DLSHFAST_MSVC "-DLSHFAST_MSVC -D__prefetch=__builtin_prefetch"; }
clang_cl() { read_by_clang "the branches of clang-cl" "" ""; }

# The reference is built and run, or only compiled if its digests are known.
reference() {
  local program
  if [ -z "${DIGESTS:-}" ]; then
    build reference "${CC:-gcc}"
    check reference
    return
  fi
  # shellcheck disable=SC2086
  "${CC:-gcc}" $flags -fsyntax-only $sources
  for program in $programs; do
    program=$(basename "$program" .c)
    cp "$DIGESTS/$program" "$folder/$program.digest"
  done
  echo "reference: compiled, and its digests are known"
}

programs() {
  reference

  if echo 'int main(void) { return 0; }' | gcc -m32 -x c - -o "$folder/narrow" 2>/dev/null && "$folder/narrow"; then
    build "32 bits" gcc -m32 -msse2 -mfpmath=sse
    check "32 bits"
  else
    echo "32 bits: left out, there is no gcc -m32"
  fi

  windows "Windows, MSVC's intrinsics" -DLSHFAST_MSVC
}

builtins() {
  if [ ! -f "$folder/$(basename "${programs%%.c*}").digest" ]; then reference; fi
  windows "Windows, GCC's builtins"
}

windows() { # NAME FLAGS...
  local name=$1
  shift
  if ! command -v $mingw >/dev/null; then
    echo "$name: left out, there is no $mingw"
    return
  fi
  build "$name" $mingw "$@"
  if [ -n "$wine" ]; then
    check "$name" "$wine"
  else
    echo "$name: compiled, and not run, since there is no wine64"
  fi
}

for part in ${*:-msvc clang_cl programs builtins}; do "$part"; done
