#!/usr/bin/env bash
# Pickles and bytes written by one Python are read by every other: each of the given Pythons (by default all of 3.10 to
# 3.13 that are found) gets an environment with a wheel built by itself, all write, and all read what all have written.
# Takes about a minute; needs a C compiler. Usage: tests/cross_version.sh [PYTHON...]
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

pythons=("$@")
if [ ${#pythons[@]} = 0 ]; then
  for version in 3.10 3.11 3.12 3.13; do
    found=$(command -v "python$version" || true)
    if [ -n "$found" ] && "$found" -c '' 2>/dev/null; then pythons+=("$found"); fi
  done
fi
if [ ${#pythons[@]} -lt 2 ]; then
  echo "two Pythons are needed, found: ${pythons[*]:-none}" >&2
  exit 2
fi

# Each builds from a copy, so that the tree stays as it is; the script runs from a folder that holds no package.
mkdir -p "$work/run/tests"
cp tests/cross_version.py "$work/run/tests/"
touch "$work/run/tests/__init__.py"
environments=()
for python in "${pythons[@]}"; do
  name=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  mkdir "$work/$name"
  cp -r pyproject.toml setup.py MANIFEST.in README.md LICENSE src lshfast "$work/$name/"
  rm -f "$work/$name"/lshfast/kernels/*.so
  "$python" -m venv "$work/env-$name"
  "$work/env-$name/bin/pip" install "$work/$name" >"$work/$name/log" 2>&1 || { tail -n 40 "$work/$name/log"; exit 1; }
  environments+=("$name")
done
cd "$work/run"
for name in "${environments[@]}"; do "$work/env-$name/bin/python" -m tests.cross_version write "$work/written/$name"; done
for name in "${environments[@]}"; do
  for writer in "${environments[@]}"; do
    "$work/env-$name/bin/python" -m tests.cross_version read "$work/written/$writer"
  done
  echo "Python $name reads what ${environments[*]} wrote"
done
