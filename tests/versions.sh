#!/usr/bin/env bash
# Test on each supported Python that is found: the oldest with the oldest dependencies (oldest.txt), the others with the
# newest. Each gets an environment with a wheel built by itself, runs the tests that depend on versions most, and writes
# pickles, bytes and files, which all of them then read. Pythons are looked for on PATH and among those of pyenv. Needs a
# C compiler; ends with 77, and says why, where there is no Python. Takes some four minutes for each Python.
# Usage: [BUT="3.11 3.12"] [BESIDE=PYTHON] tests/versions.sh [PYTHON...]     BUT: versions that are left out
# BESIDE: a Python of another version that has lshfast already, and is not tested: it writes and reads as the others do
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'wait; rm -rf "$work"' EXIT # installations may be writing there
unset PYTHONPATH # the installed package is meant
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
tests="sketch/test_texts sketch/test_tokens io/test_readers io/test_writers engine/test_dedup
  index/test_lsh_index index/test_files index/test_stores index/test_format index/test_lmdb_store
  kernels/test_gate index/test_forest datasketch/test_hyperloglog datasketch/test_minhash
  datasketch/test_lsh"

version_of() { "$1" -c 'import ensurepip, sys, venv; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

pythons=("$@")
if [ ${#pythons[@]} = 0 ]; then
  roots=$(pyenv root 2>/dev/null || true)
  for version in 3.10 3.11 3.12 3.13; do
    if [[ " ${BUT:-} " = *" $version "* ]]; then continue; fi
    for python in "python$version" "${PYTHON:-python3}" ${roots:+"$roots"/versions/"$version".*/bin/python}; do
      if [ "$(version_of "$python")" = "$version" ]; then
        pythons+=("$python")
        break
      fi
    done
  done
fi
if [ ${#pythons[@]} = 0 ]; then
  echo "left out: no Python of 3.10 to 3.13 with venv is found" >&2
  exit 77
fi

# From copies, so that the tree stays as it is, and in a folder that holds no package.
mkdir "$work/source" "$work/run"
cp -r pyproject.toml setup.py MANIFEST.in README.md LICENSE src lshfast "$work/source/"
rm -f "$work"/source/lshfast/kernels/*.so
if [ -d build/cython ]; then # the generated C, which is the same for each Python
  mkdir "$work/source/build"
  cp -r build/cython "$work/source/build/"
fi
# Compilers do not optimize, which takes less than half of the time, and changes no answer.
sed -i.before 's/"-O[23]"/"-O0"/' "$work/source/setup.py"
cp -r tests benchmarks docs README.md pyproject.toml "$work/run/"
chosen=""
for part in $tests; do chosen="$chosen tests/$part.py"; done

installed() { # an environment for a Python: NAME PYTHON
  local name=$1 python=$2 constraints=""
  if [ "$name" = 3.10 ]; then constraints="-c $work/run/tests/oldest.txt"; fi
  cp -r "$work/source" "$work/$name"
  "$python" -m venv "$work/env-$name"
  "$work/env-$name/bin/pip" install --upgrade pip
  # shellcheck disable=SC2086 (two words, or none)
  "$work/env-$name/bin/pip" install $constraints "$work/$name[light]"
}

# The environments are made beside each other: pip and Cython, which take most of that time, keep one core busy each.
declare -A installations
for python in "${pythons[@]}"; do
  name=$(version_of "$python")
  (set -e; installed "$name" "$python") >"$work/$name.log" 2>&1 &
  installations[$name]=$!
done

declare -A interpreters
names=()
for python in "${pythons[@]}"; do
  name=$(version_of "$python")
  if [ "$name" = 3.10 ]; then echo "Python 3.10, the oldest dependencies"; else echo "Python $name"; fi
  wait "${installations[$name]}" || { tail -n 40 "$work/$name.log" && exit 1; }
  interpreters[$name]=$work/env-$name/bin/python
  names+=("$name")
  cd "$work/run"
  "${interpreters[$name]}" -m pytest -q -m "not slow and not weekly" $chosen
done
if [ -n "${BESIDE:-}" ]; then
  name=$(version_of "$BESIDE")
  interpreters[$name]=$BESIDE
  names+=("$name")
fi
for name in "${names[@]}"; do
  "${interpreters[$name]}" -m tests.cross_version write "$work/written/$name"
done
for name in "${names[@]}"; do
  for writer in "${names[@]}"; do
    "${interpreters[$name]}" -m tests.cross_version read "$work/written/$writer"
  done
  echo "Python $name reads what ${names[*]} wrote"
done
