#!/bin/sh
# Builds the C of src/ with sanitize.c and the other programs three ways and runs them: with the address and
# undefined-behaviour sanitizers; the same without SIMD and without 128-bit integers; and as it is shipped. All must pass,
# and the three of each print one digest. modules.sh runs tests on modules that setup.py builds with the sanitizers.
# Usage: tests/sanitize/sanitize.sh      DIGESTS=FOLDER: where the digests are left, in which neon.sh and ../platforms.sh
# find those of this machine
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sources=$(ls src/*/*.c | grep -v _module)
sanitizers="-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
programs=$(cd tests/sanitize && ls sanitize*.c | sed "s/\.c$//")

# build NAME FLAGS...: the programs themselves are optimized little, since compiling them takes longer than to run them. They
# are compiled before they are linked, so that ccache keeps their objects.
build() {
    name=$1
    shift
    mkdir "$folder/$name"
    flags="-std=gnu11 -ffp-contract=off -Wall -Wextra -Isrc $*"
    # shellcheck disable=SC2086 (the lists are meant to be split)
    for source in $sources; do
        ${CC:-cc} $flags -c "$source" -o "$folder/$name/$(basename "$source" .c).o"
    done
    # shellcheck disable=SC2086
    for program in $programs; do
        ${CC:-cc} $flags -O1 -c "tests/sanitize/$program.c" -o "$folder/$name.o"
        ${CC:-cc} $flags "$folder/$name.o" "$folder/$name"/*.o -o "$folder/$program-$name" -lm
    done
}

build sanitized $sanitizers &
build portable $sanitizers -DLSHFAST_NO_SIMD -U__SIZEOF_INT128__ &
build shipped -O3 -fvisibility=hidden -fstack-usage &
wait

# Threads of some systems have 128 KB of stack in all: no function may take more than 8 KB of it.
awk '$2 > 8192 { print "takes " $2 " bytes of stack: " $1; found = 1 } END { exit found }' "$folder"/shipped/*.su >&2

for program in $programs; do
    first=""
    for name in sanitized portable shipped; do
        # The leak check needs ptrace, which containers often forbid. Frames on a fake stack, for use after return, are
        # not aligned as registers of 64 bytes need it.
        digest=$(ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1 \
            "$folder/$program-$name")
        echo "$program, $name: $digest"
        first=${first:-$digest}
        [ "$digest" = "$first" ] || { echo "$program, $name computes something else" >&2; exit 1; }
    done
    [ -z "${DIGESTS:-}" ] || echo "$first" >"$DIGESTS/$program"
done
