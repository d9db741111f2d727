#!/bin/sh
# Builds the programs of sanitize.sh for AArch64 and for this machine, runs the former under qemu, and compares what they
# print. The programs compare NEON with the portable code on random and edge inputs; equal digests say that AArch64
# computes the same bits as this machine. Ends with 77 where the cross compiler or qemu is missing: on Debian they are the
# packages gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user.
# Usage: tests/sanitize/neon.sh      DIGESTS=FOLDER: where sanitize.sh has left what the programs print on this machine
set -eu
cd "$(dirname "$0")"
while [ ! -f setup.py ]; do cd ..; done
cross=${CROSS_CC:-aarch64-linux-gnu-gcc}
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
if ! command -v "${cross%% *}" >/dev/null || [ -z "$qemu" ]; then
    echo "no $cross or no qemu-aarch64" >&2
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sources=$(find src -name '*.c' ! -name '*_module.c')
programs=$(find tests -name 'sanitize*.c')
flags="-std=gnu11 -ffp-contract=off -fvisibility=hidden -Wall -Wextra -Werror -Wno-maybe-uninitialized -Isrc"

# build NAME LEVEL COMPILER FLAGS...: only the kernels of AArch64 are optimized as they are shipped. Digests do not depend
# on that, and compiling takes longer than the programs. These are compiled before they are linked, so that ccache keeps
# their objects.
build() {
    name=$1
    level=$2
    shift 2
    mkdir "$folder/$name"
    # shellcheck disable=SC2086 (the lists are meant to be split)
    for source in $sources; do
        "$@" $flags "$level" -c "$source" -o "$folder/$name/$(basename "$source" .c).o"
    done
    # shellcheck disable=SC2086
    for program in $programs; do
        "$@" $flags -O1 -c "$program" -o "$folder/$name.o"
        "$@" $flags "$folder/$name.o" "$folder/$name"/*.o -o "$folder/$(basename "$program" .c)-$name" -lm
    done
}

# shellcheck disable=SC2086
[ -n "${DIGESTS:-}" ] || build native -O1 ${CC:-cc} &
# shellcheck disable=SC2086
build neon -O3 $cross -static
wait $!
for program in $programs; do
    program=$(basename "$program" .c)
    if [ -n "${DIGESTS:-}" ]; then expected=$(cat "$DIGESTS/$program"); else expected=$("$folder/$program-native"); fi
    found=$("$qemu" "$folder/$program-neon")
    echo "$program: $found"
    [ "$found" = "$expected" ] || { echo "$program computes something else on AArch64: $found, not $expected" >&2; exit 1; }
done
