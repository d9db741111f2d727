"""C, C++ and Rust use the kernels through lshfast.h and lshfast.rs: the examples of the pages are built and run.

The declarations are compared with each other and with the compiled functions, so that each function of the table is
in its place.
"""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import lshfast
from lshfast import Bands, MinHasher, SimHasher, shingle
from lshfast.kernels import native
from tests.kernels.test_cimport import OWN, declared, run

INCLUDE = Path(lshfast.get_include())
HEADER = (INCLUDE / "lshfast.h").read_text(encoding="utf-8")
RUST = (INCLUDE / "lshfast.rs").read_text(encoding="utf-8")
KERNELS = INCLUDE.parent / "kernels"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "native"
TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "The quick brown fox jumps over the lazy cat!",
    "Привет, МИР! \0 and more",
    "one",
    "",
]
RUST_TYPES = {
    "uint8_t": "u8",
    "uint32_t": "u32",
    "uint64_t": "u64",
    "int32_t": "i32",
    "int64_t": "i64",
    "size_t": "usize",
    "unsigned": "u32",
    "float": "f32",
    "double": "f64",
}

name_of = ctypes.pythonapi.PyCapsule_GetName
name_of.argtypes, name_of.restype = [ctypes.py_object], ctypes.c_char_p


def arguments_of(text):
    """Return (type, name) of each argument that C declares, the type as `uint8_t const *`."""
    found = [
        re.fullmatch(r"(const )?(\w+) ?(\*?) ?(\w+)", one.strip())
        for one in text.split(",")
        if text != "void"
    ]
    return [(f"{m[2]} {'const ' if m[1] else ''}{m[3]}".strip(), m[4]) for m in found]


def members():
    """Return (returned type, name, arguments, comment) of each function of the header, in its order."""
    found, comment = [], ""
    pattern = r"^    (?:/\* (?!--)(.*?) \*/|(\w+) \(\*(\w+)\)\(([^)]*)\);)$"
    for note, returned, name, arguments in re.findall(
        pattern, HEADER, re.MULTILINE | re.DOTALL
    ):
        comment = " ".join(note.split()) or comment
        if name:
            found.append(
                (returned, name, arguments_of(" ".join(arguments.split())), comment)
            )
    return found


def test_the_header_declares_what_the_table_holds():
    assert len(members()) > 40
    assert [name for _, name, _, _ in members()] == [
        name for _, name in native.FUNCTIONS
    ]
    for (returned, name, arguments, _), (module, _) in zip(
        members(), native.FUNCTIONS, strict=True
    ):
        capsule = vars(__import__(f"lshfast.kernels.{module}", fromlist=["."]))[
            "__pyx_capi__"
        ][name]
        types = ", ".join(kind for kind, _ in arguments) or "void"
        assert (
            name_of(capsule).decode().replace("unsigned int", "unsigned")
            == f"{returned} ({types})"
        ), name


def test_the_table_has_every_function_that_cython_has():
    offered = {
        path.stem: list(declared(path))
        for path in KERNELS.glob("*.pxd")
        if path.stem not in OWN
    }
    functions = {
        (stem, name.split()[-1].lstrip("*"))
        for stem, found in offered.items()
        for name, _, _ in found
    }
    assert functions == set(native.FUNCTIONS)


@pytest.mark.parametrize("member", members(), ids=lambda member: member[1])
def test_comments_of_the_header_name_every_argument(member):
    _, _, arguments, comment = member
    assert [
        name for _, name in arguments if not re.search(rf"\b{name}\b", comment)
    ] == []


def test_rust_declares_the_same_table():
    def rust(kind):
        base, *rest = kind.split()
        pointer = "" if "*" not in rest else "*const " if "const" in rest else "*mut "
        return pointer + RUST_TYPES[base]

    expected = []
    for returned, name, arguments, _ in members():
        given = ", ".join(f"{name}: {rust(kind)}" for kind, name in arguments)
        expected.append(
            (name, given, "" if returned == "void" else f" -> {rust(returned)}")
        )
    body = RUST[RUST.index("pub struct Kernels") :]
    found = re.findall(
        r'^    pub (\w+): unsafe extern "C" fn\((.*?)\)((?: -> \w+)?),$',
        body,
        re.MULTILINE | re.DOTALL,
    )
    assert [
        (name, " ".join(given.split()).removesuffix(","), returned)
        for name, given, returned in found
    ] == expected
    [version] = re.findall(r"INTERFACE: u32 = (\d+);", RUST)
    assert re.search(rf"^#define LSHFAST_INTERFACE {version}$", HEADER, re.MULTILINE)


# Calls the functions given, each with a count of 0; its items are at an address that cannot be
# read.
CALL = """
import ctypes, json, sys
from lshfast.kernels import native

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.argtypes, pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
table = pointer_of(native.TABLE, b"lshfast.kernels.native.TABLE")
addresses = (ctypes.c_void_p * len(native.FUNCTIONS)).from_address(table + 8)
PLAIN = {"uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "unsigned": ctypes.c_uint, "double": ctypes.c_double}
VALUES = {"k": 8, "bits": 8, "p": 4, "width": 1.0}
for place, (_, name) in enumerate(native.FUNCTIONS):
    arguments, counts, items = json.loads(sys.argv[1]).get(name, (None, [], []))
    if arguments is None:
        continue
    room = ctypes.create_string_buffer(b"\\1" * 2**20, 2**20)
    types, values = [], []
    for kind, argument in arguments:
        types.append(ctypes.c_void_p if "*" in kind else PLAIN[kind])
        if "*" in kind:
            values.append(8 if argument in items else ctypes.addressof(room))
        else:
            values.append(0 if argument in counts else VALUES.get(argument, 1))
    ctypes.CFUNCTYPE(ctypes.c_size_t, *types)(addresses[place])(*values)
    print(name, flush=True)
"""
ITEMS = [
    "tokens",
    "signatures",
    "hashes",
    "codes",
    "vectors",
    "packed",
    "data",
    "text",
    "weights",
]


def test_a_count_of_0_reads_no_items():
    allowed = {}
    for _, name, arguments, comment in members():
        counts = re.findall(
            r"\b(n|m|length|count)`? (?:and (m) )?(?:may be|is) 0", comment
        )
        counts = {count for pair in counts for count in pair if count}
        if (
            counts or "number returned are as above" in comment
        ):  # of the shingles of words
            items = ["a", "b"] if name == "jaccard_of_sets" else ITEMS
            allowed[name] = [arguments, [*(counts or {"length"})], items]
    assert len(allowed) > 22
    done = subprocess.run(
        [sys.executable, "-c", CALL, json.dumps(allowed)],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [*allowed], "")


def example(name, folder):
    shutil.copytree(EXAMPLES / name, folder, dirs_exist_ok=True)
    return folder


def built(name, folder):
    """Build the example of a language in a folder, by its setup.py."""
    done = run(example(name, folder), "setup.py", "-q", "build_ext", "--inplace")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def answer(folder, code):
    done = run(folder, "-c", code)
    assert done.returncode == 0, done.stderr
    return eval(done.stdout)


@pytest.fixture(scope="module")
def c_example(tmp_path_factory):
    pytest.importorskip("setuptools")
    if shutil.which("cc") is None:
        pytest.skip("no C compiler is installed")
    return built("c", tmp_path_factory.mktemp("c"))


def test_the_example_in_c(c_example):
    checked = run(c_example, "check.py")
    assert (checked.stdout, checked.stderr) == ("0.7578125\n", "")
    code = f"import near; print([near.similarity(a, b) for a in {TEXTS!r} for b in {TEXTS!r}])"
    signatures = MinHasher(128, "fast", seed=1).sketch(shingle(TEXTS, size=3, seed=1))
    empty = [not text for text in TEXTS]
    theirs = [
        0.0 if empty[i] or empty[j] else float((signatures[i] == signatures[j]).mean())
        for i in range(len(TEXTS))
        for j in range(len(TEXTS))
    ]
    assert answer(c_example, code) == theirs


@pytest.mark.slow
def test_the_example_in_c_raises(c_example):
    for arguments, error in (
        ("'a', b'a'", "TypeError"),
        ("'a', '\\ud800'", "UnicodeEncodeError"),
    ):
        done = run(c_example, "-c", f"import near; near.similarity({arguments})")
        assert error in done.stderr.splitlines()[-1]


@pytest.mark.weekly
def test_the_example_in_cpp(tmp_path):
    pytest.importorskip("pybind11", reason="pybind11 is not installed")
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler is installed")
    folder = built("cpp", tmp_path)
    assert run(folder, "check.py").stdout == "(2, 18) uint64 shared buckets: 7\n"
    code = f"import bands; print(bands.keys({TEXTS!r}, 18, 3).tolist(), bands.keys([], 18, 3).shape, sep=', ')"
    theirs = Bands(18, 3).keys(
        MinHasher(54, "fast", seed=1).sketch(shingle(TEXTS, size=3, seed=1))
    )
    assert answer(folder, code) == (theirs.tolist(), (0, 18))
    for arguments in (
        "0, 3",
        "18, 0",
        "65537, 1",
        "2**63, 2",
        "18, 3, 0",
        "18, 3, 257",
    ):
        done = run(folder, "-c", f"import bands; bands.keys(['a'], {arguments})")
        assert "ValueError" in done.stderr.splitlines()[-1], arguments


def rustc(folder, source):
    """Compile a library of Rust, and return its path."""
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed")
    library = folder / "codes.so"
    command = [
        "rustc",
        "--edition",
        "2021",
        "--crate-type",
        "cdylib",
        "-o",
        library,
        source,
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"LSHFAST_INCLUDE": str(INCLUDE)},
        capture_output=True,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return library


@pytest.mark.slow
def test_the_example_in_rust(tmp_path):
    library = rustc(example("rust", tmp_path), "codes.rs")
    assert run(tmp_path, "check.py", str(library)).stdout == "6\n"
    code = f"import sys; sys.argv[1:] = [{str(library)!r}]; sys.stdout = sys.stderr; from check import distance\n"
    code += f"sys.stdout = sys.__stdout__; print([distance(a, b) for a in {TEXTS!r} for b in {TEXTS!r}])"
    codes = [
        int(row[0])
        for row in SimHasher(64, seed=1).sketch(shingle(TEXTS, size=2, seed=1))
    ]
    theirs = [
        65 if 2**64 - 1 in (a, b) else (a ^ b).bit_count() for a in codes for b in codes
    ]
    assert answer(tmp_path, code) == theirs


@pytest.mark.slow
def test_rust_refuses_another_interface(tmp_path):
    head = ctypes.c_uint32 * 2
    library = ctypes.CDLL(str(rustc(example("rust", tmp_path), "codes.rs")))
    library.distance.argtypes = [
        ctypes.c_void_p,
        *[ctypes.c_char_p, ctypes.c_size_t] * 2,
    ]
    for version, functions in ((2, 100), (1, len(native.FUNCTIONS) - 1)):
        assert (
            library.distance(
                ctypes.addressof(head(version, functions)), b"a", 1, b"a", 1
            )
            == -1
        )


# Imports the table, by a header that is changed; prints how that ended.
MODULE = """
#include <lshfast.h>
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "other", NULL, -1, NULL, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_other(void) { return lshfast_import() ? PyModule_Create(&definition) : NULL; }
"""


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "", ""),
        (
            "#define LSHFAST_INTERFACE 1",
            "#define LSHFAST_INTERFACE 7",
            "built for version 7 .* has version 1 ",
        ),
        (
            "};\n\n/* Without",
            "    void (*later)(void);\n};\n\n/* Without",
            "with 50 functions; .* with 49 functions",
        ),
    ],
    ids=["same", "version", "functions"],
)
def test_another_interface_is_an_import_error(tmp_path, old, new, says):
    pytest.importorskip("setuptools")
    if shutil.which("cc") is None:
        pytest.skip("no C compiler is installed")
    assert old in HEADER
    (tmp_path / "lshfast.h").write_text(
        HEADER.replace(old, new, 1) if old else HEADER, encoding="utf-8"
    )
    (tmp_path / "other.c").write_text(MODULE, encoding="utf-8")
    setup = "from setuptools import Extension, setup\n"
    setup += "setup(name='other', ext_modules=[Extension('other', ['other.c'], include_dirs=['.'])])"
    (tmp_path / "setup.py").write_text(setup, encoding="utf-8")
    done = run(tmp_path, "setup.py", "-q", "build_ext", "--inplace")
    assert done.returncode == 0, done.stderr
    done = run(
        tmp_path, "-W", "ignore", "-c", "import other"
    )  # it needs the interpreter lock
    if says:
        assert re.search(f"ImportError: .*{says}", done.stderr.splitlines()[-1])
    else:
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.one_case
@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_the_header_compiles_without_warnings(tmp_path, compiler):
    """Also under the limited API of the oldest Python, and without Python."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / ("header.cpp" if compiler.endswith("++") else "header.c")
    source.write_text(
        "#include <lshfast.h>\nsize_t size = sizeof(struct lshfast_kernels);\n",
        encoding="utf-8",
    )
    standard = "-std=c++11" if compiler.endswith("++") else "-std=c11"
    strict = [
        standard,
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-Wno-unused-function",
        f"-I{INCLUDE}",
    ]
    python = ["-isystem", sysconfig.get_path("include")]
    for options in (
        python,
        [*python, "-DPy_LIMITED_API=0x030A0000"],
        ["-DLSHFAST_NO_PYTHON"],
    ):
        command = [compiler, *strict, *options, "-c", source.name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_folder_is_found_without_numpy():
    code = "import sys, lshfast; print(lshfast.get_include()); assert 'numpy' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, str(INCLUDE)), done.stderr
