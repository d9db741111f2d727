#!/usr/bin/env bash
# Pickles, bytes and files written by one Python are read by every other: each of the given Pythons (by default the
# oldest and the newest of 3.10 to 3.13 that are found) gets an environment with a wheel built by itself, all write, and
# all read what all have written. Needs a C compiler; ends with 77, and says why, where there are no two Pythons. The
# builds take nearly all of the time: two to three minutes for two Pythons.
# Usage: tests/cross_version.sh [PYTHON...]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH # the installed package is meant
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

pythons=("$@")
if [ ${#pythons[@]} = 0 ]; then
  for version in 3.10 3.11 3.12 3.13; do
    for python in "python$version" "${PYTHON:-python3}"; do
      check="import ensurepip, sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$version')"
      if "$python" -c "$check" >/dev/null 2>&1; then
        pythons+=("$python")
        break
      fi
    done
  done
  if [ ${#pythons[@]} -gt 2 ]; then pythons=("${pythons[0]}" "${pythons[${#pythons[@]} - 1]}"); fi
fi
if [ ${#pythons[@]} -lt 2 ]; then
  echo "left out: two Pythons of 3.10 to 3.13 with venv are needed, found: ${pythons[*]:-none}" >&2
  exit 77
fi

build() { # an environment, from a copy, so that the tree stays as it is
  mkdir "$work/$2"
  cp -r pyproject.toml setup.py MANIFEST.in README.md LICENSE src lshfast "$work/$2/"
  rm -f "$work/$2"/lshfast/kernels/*.so
  "$1" -m venv "$work/env-$2"
  "$work/env-$2/bin/pip" install "$work/$2" >"$work/$2/log" 2>&1 || { tail -n 40 "$work/$2/log" && exit 1; }
}
names=()
builds=()
for python in "${pythons[@]}"; do
  name=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  build "$python" "$name" &
  builds+=($!)
  names+=("$name")
done
failed=0
for pid in "${builds[@]}"; do wait "$pid" || failed=1; done
[ $failed = 0 ] || exit 1

# The script runs from a folder that holds no package.
mkdir -p "$work/run/tests"
cp tests/cross_version.py "$work/run/tests/"
touch "$work/run/tests/__init__.py"
cd "$work/run"
for name in "${names[@]}"; do "$work/env-$name/bin/python" -m tests.cross_version write "$work/written/$name"; done
for name in "${names[@]}"; do
  for writer in "${names[@]}"; do
    "$work/env-$name/bin/python" -m tests.cross_version read "$work/written/$writer"
  done
  echo "Python $name reads what ${names[*]} wrote"
done
