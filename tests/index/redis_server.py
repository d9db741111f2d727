"""A Redis server of a test's own: on a free port of the loopback, in a temporary folder, gone at the end."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

try:
    import redis
except ImportError:
    redis = None

EXECUTABLE = shutil.which("redis-server")
MISSING = (
    "redis-server is not installed"
    if not EXECUTABLE
    else "redis-py is not installed"
    if redis is None
    else ""
)
needs_redis = pytest.mark.skipif(bool(MISSING), reason=MISSING)

SECONDS = 30  # until a server has to answer


class RedisServer:
    """Start a server, as a context; options are those of redis.conf, with ``_`` for ``-``.

    Nothing is saved unless `appendonly` says so. Another process may take the port before the server does: then the
    server gives up, and the next port is tried.
    """

    def __init__(self, **options: str) -> None:
        self.options = {
            "save": "",
            "bind": "127.0.0.1",
            "loglevel": "warning",
            "logfile": "log",
        } | options
        self.folder = Path(tempfile.mkdtemp(prefix="lshfast-redis-"))
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RedisServer:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def client(self, **options: Any) -> Any:
        """Return a new client, which tries nothing twice unless told so."""
        retry = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
        usual = {"retry": retry, "password": self.options.get("requirepass")}
        return redis.Redis(host="127.0.0.1", port=self.port, **usual | options)

    def start(self) -> None:
        """Start the server, for the first time or again with what it kept."""
        for _ in range(20):
            self.port = free_port()
            options = {"port": str(self.port), "dir": str(self.folder)} | self.options
            if "cluster_enabled" in options:
                options["cluster_port"] = str(free_port())
            command = [EXECUTABLE or "redis-server"]
            for name, value in options.items():
                command += [f"--{name.replace('_', '-')}", value]
            self._process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            if self._answers():
                return
        raise RuntimeError(f"redis-server does not start:\n{self.log()}")

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Keep the server from answering."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _answers(self) -> bool:
        """Wait until this very server answers, or has given up."""
        assert self._process is not None
        give_up = time.monotonic() + SECONDS
        with contextlib.closing(self.client()) as client:
            while self._process.poll() is None:
                with contextlib.suppress(redis.ConnectionError, redis.TimeoutError):
                    state = client.info()
                    if (
                        state["process_id"] == self._process.pid
                        and not state["loading"]
                    ):
                        return True
                if time.monotonic() > give_up:
                    self.kill()
                    raise RuntimeError(
                        f"redis-server does not answer for {SECONDS} s:\n{self.log()}"
                    )
                time.sleep(0.01)
        return False


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """Give one server to all tests: keep to names of your own."""
    if MISSING:
        pytest.skip(MISSING)
    with RedisServer() as server:
        yield server
