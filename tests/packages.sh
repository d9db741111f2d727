#!/usr/bin/env bash
# Check what others package lshfast by, each with the tool that is made for it: the workflows and their rights, the targets of
# cibuildwheel, the recipe of conda-forge (as it is rendered), the citation, the classifiers, and the image. The image itself
# needs its base, which is not always to be had; so the commands of the Containerfile are run in folders, from the files that
# it copies, and the command that they install is run by a user without rights, or by this one who is not root.
# Needs a C compiler and Python 3.11 or later; ends with 77, and says why, where tools cannot be installed.
# Usage: tests/packages.sh
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH # the installed package is meant
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
python=${PYTHON:-python3}

"$python" -m venv "$work/tools"
"$python" -m venv "$work/citation"
"$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["packages"], sep="\n")' \
  >"$work/required.txt"
if ! "$work/tools/bin/pip" install -r "$work/required.txt" >"$work/pip.log" 2>&1 ||
  ! "$work/citation/bin/pip" install 'cffconvert>=2' >"$work/pip.log" 2>&1; then
  tail -n 3 "$work/pip.log" >&2
  echo "left out: the tools cannot be installed" >&2
  exit 77
fi
tool() { PATH="$work/tools/bin:$PATH" "$@"; }

tool check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
tool check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
tool check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
"$work/citation/bin/cffconvert" --validate
tool zizmor --offline --quiet .github
tool hadolint Containerfile

# Eight Pythons for each platform; numpy has no wheel of CPython 3.10 for Windows on ARM.
for target in linux:x86_64:16 linux:aarch64:16 macos:x86_64:8 macos:arm64:8 windows:AMD64:8 windows:ARM64:7; do
  IFS=: read -r platform arch expected <<<"$target"
  found=$(tool cibuildwheel --print-build-identifiers --platform "$platform" --archs "$arch" . | tr '\n' ' ')
  echo "$platform $arch: $found"
  [ "$(wc -w <<<"$found")" = "$expected" ] || { echo "expected $expected wheels" >&2 && exit 1; }
done

tool python - <<'END'
import tomllib
from rattler_build import Stage0Recipe, VariantConfig
from trove_classifiers import classifiers

project = tomllib.load(open("pyproject.toml", "rb"))["project"]
assert not {*project["classifiers"]} - classifiers, {*project["classifiers"]} - classifiers
variants = {"python": ["3.10.* *_cpython", "3.13.* *_cp313"], "c_compiler": ["gcc"], "c_stdlib": ["sysroot"]}
rendered = Stage0Recipe.from_file("packaging/conda/recipe.yaml").render(VariantConfig(variants))
assert len(rendered) == 2
for variant in rendered:
    recipe = variant.recipe.to_dict()
    assert recipe["package"]["version"] == project["version"]
    print("recipe:", recipe["package"]["name"], recipe["build"]["string"], *recipe["requirements"]["run"])
END

# The files that are copied into the image, and its two commands of pip with the paths of this folder.
mkdir "$work/source" "$work/data"
grep '^!' .containerignore | cut -c 2- | tar -c --exclude='*.so' --exclude=__pycache__ -T - | tar -x -C "$work/source"
mkdir "$work/source/build"
cp -r build/{cython,kernels.*} "$work/source/build/" 2>/dev/null || true # objects, under the digests of what they are made from
"$python" -m venv --copies "$work/image"
mapfile -t commands < <(grep -oE 'python3 -m pip (wheel|install) .*' Containerfile)
[ ${#commands[@]} = 2 ]
for command in "${commands[@]}"; do
  command=${command/python3/"$work/image/bin/python"}
  command=${command//\/wheels/"$work/wheels"}
  command=${command/\/source/"$work/source"}
  echo "$command"
  EXTRAS=cli bash -c "$command"
done
cd "$work/data"
printf '%s\n' '{"text": "one two three four five six"}' '{"text": "one two three four five six"}' '{"text": "no"}' >in.jsonl
environment=(env -i "PATH=$work/image/bin:/usr/bin:/bin" HOME=/nonexistent PYTHONDONTWRITEBYTECODE=1)
user=()
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$work"
  chown -R 10001:10001 "$work/data"
  user=(setpriv --reuid=10001 --regid=10001 --clear-groups)
  # Where the interpreter is in a folder of root, another user has no library for it, or that of another interpreter.
  "${user[@]}" "${environment[@]}" python -c 'import pyarrow, typer' 2>/dev/null ||
    { user=() && echo "run as root: others cannot run $python"; }
fi
"${user[@]}" "${environment[@]}" lshfast dedup in.jsonl -o kept.jsonl >/dev/null
[ "$(wc -l <kept.jsonl)" = 2 ]
"${user[@]}" "${environment[@]}" lshfast --version
cd "$here"
echo "packages: all checks passed"
