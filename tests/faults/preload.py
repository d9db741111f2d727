"""The library faults.c: compiled for this Python, loaded before it, and called through ctypes."""

import ctypes
import errno
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("faults.c")
ROOT = SOURCE.parents[2]
LIBRARY = "FAULTS_LIBRARY"

# What is counted, and the number of a fault that is no error: half of the bytes are written.
CALLS, MEMORY, OBJECTS = 1, 2, 4
SHORT = -1

MOST_CALLS = 1 << 22


class Call(ctypes.Structure):
    """A counted call: the hash of its place, that of the innermost lines, and the function."""

    _fields_ = (
        ("place", ctypes.c_uint64),
        ("nearest", ctypes.c_uint64),
        ("name", ctypes.c_char * 24),
    )


def compiled(folder):
    """Compile the library into a folder; return its path."""
    library = Path(folder) / "faults.so"
    include = sysconfig.get_path("include")
    flags = [
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-shared",
        "-fPIC",
    ]
    # Memory of threads that is found without a call, which could allocate.
    flags.append("-ftls-model=initial-exec")
    command = ["cc", *flags, f"-I{include}", str(SOURCE), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def run_with_library(module, arguments, **options):
    """Run a module of Python under the library; return the completed process."""
    with tempfile.TemporaryDirectory() as folder:
        library = str(compiled(folder))
        environment = {
            **os.environ,
            "LD_PRELOAD": library,
            LIBRARY: library,
            "OPENBLAS_NUM_THREADS": "1",
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "PYTHONPATH": os.pathsep.join(
                [str(ROOT), os.environ.get("PYTHONPATH", "")]
            ),
        }
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            command, env=environment, cwd=ROOT, check=False, **options
        )


class Preloaded:
    """The library in this process, which `run_with_library` started."""

    def __init__(self):
        self._counts_objects = False
        self._library = ctypes.CDLL(os.environ[LIBRARY])
        os.environ.pop("LD_PRELOAD", None)  # not for processes that this one starts
        number = ctypes.c_uint64
        whole = ctypes.c_int
        self._library.faults_arm.argtypes = [whole, number, number, whole, whole, whole]
        self._library.faults_stop.restype = number
        self._library.faults_start()

    def hook_objects(self):
        """Also count the allocations of Python's objects, from here on."""
        if not self._counts_objects:
            ctypes.PyDLL(os.environ[LIBRARY]).faults_hook_objects()
            self._counts_objects = True

    def note(self, kinds):
        """Count calls from here on, and note their places; return the array for `noted`."""
        notes = (Call * MOST_CALLS)()
        self._library.faults_note(kinds, notes, MOST_CALLS)
        return notes

    def noted(self, notes):
        """Stop; return the place, the innermost lines and the name of each call."""
        count = min(self._library.faults_stop(), MOST_CALLS)
        return [
            (call.place, call.nearest, call.name.decode()) for call in notes[:count]
        ]

    def arm(self, fault, where):
        """Let a fault happen from here on; its traceback is written to an open file."""
        self._library.faults_arm(
            fault.kind,
            fault.place,
            fault.number,
            fault.error,
            fault.lasting,
            where,
        )

    def stop(self):
        """Stop; return whether the fault happened."""
        self._library.faults_stop()
        return bool(self._library.faults_fired())

    def record(self, log, folder):
        """Record changes below a folder in an open file, until `stop`."""
        self._library.faults_record(log, os.fsencode(folder))


# The errors with which a function fails, in turn.
ERRORS = {
    "open": [errno.ENOSPC, errno.EMFILE, errno.EIO],
    "write": [errno.ENOSPC, errno.EIO, errno.EINTR, SHORT],
    "pwrite": [errno.ENOSPC, errno.EIO, errno.EINTR, SHORT],
    "writev": [errno.ENOSPC, errno.EIO],
    "copy_file_range": [errno.ENOSPC, errno.EIO],
    "sendfile": [errno.ENOSPC, errno.EIO],
    "fsync": [errno.EIO, errno.ENOSPC],
    "fdatasync": [errno.EIO, errno.ENOSPC],
    "ftruncate": [errno.EIO, errno.ENOSPC],
    "posix_fallocate": [errno.ENOSPC, errno.EIO],
    "close": [errno.EIO, errno.ENOSPC, errno.EINTR],
    "rename": [errno.EIO, errno.ENOSPC],
    "link": [errno.EIO, errno.ENOSPC],
    "mkdir": [errno.ENOSPC, errno.EIO],
    "send": [errno.ECONNRESET, errno.EINTR],
}


def errors_of(name):
    """Return the errors of a function; allocations have one."""
    return ERRORS.get(name, [errno.ENOMEM])
