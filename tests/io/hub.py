"""A server that answers as the Hugging Face Hub does to uploads of small files to one data set, without its storage."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

REPOSITORY = "/api/datasets/owner/texts"


class Hub(ThreadingHTTPServer):
    """The data set owner/texts.

    Attributes
    ----------
    files : dict of str to bytes
        Its files.
    commits : list of list of str
        The files of each commit.
    writable : bool
        Whether the token may write.
    """

    files: dict[str, bytes]
    commits: list[list[str]]
    writable: bool

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answers(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        inside = path.removeprefix("/datasets/owner/texts/resolve/main/")
        if path == REPOSITORY or path.startswith(f"{REPOSITORY}/revision/"):
            self._json(
                {"id": "owner/texts", "sha": "0" * 40, "private": False, "siblings": []}
            )
        elif path.startswith(f"{REPOSITORY}/auth-check"):
            self._json(
                {} if self.server.writable else {"error": "no right to write"},
                200 if self.server.writable else 403,
            )
        elif path.startswith(f"{REPOSITORY}/tree/"):
            self._json([self._entry(name) for name in self.server.files])
        elif inside in self.server.files:
            self._send(200, self.server.files[inside])
        else:
            self._json(
                {"error": "not found"},
                404,
                {
                    "X-Error-Code": "EntryNotFound"
                    if REPOSITORY in path
                    else "RepoNotFound"
                },
            )

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        if path.startswith(f"{REPOSITORY}/paths-info/"):
            wanted = json.loads(body)["paths"] if body[:1] == b"{" else _form(body)
            self._json(
                [self._entry(name) for name in wanted if name in self.server.files]
            )
        elif path.startswith(f"{REPOSITORY}/preupload/"):
            names = [file["path"] for file in json.loads(body)["files"]]
            self._json(
                {
                    "files": [
                        {"path": name, "uploadMode": "regular", "shouldIgnore": False}
                        for name in names
                    ]
                }
            )
        elif path.startswith(f"{REPOSITORY}/commit/"):
            lines = [json.loads(line) for line in body.splitlines()]
            added = {
                line["value"]["path"]: line["value"]["content"]
                for line in lines
                if line["key"] == "file"
            }
            self.server.files.update(
                {name: base64.b64decode(content) for name, content in added.items()}
            )
            self.server.commits.append(list(added))
            self._json(
                {
                    "commitUrl": f"{self.server.url}/datasets/owner/texts/commit/1",
                    "commitOid": "1" * 40,
                    "success": True,
                }
            )
        else:
            self._json({"error": "not found"}, 404)

    def _entry(self, name: str) -> dict[str, Any]:
        return {
            "type": "file",
            "path": name,
            "size": len(self.server.files[name]),
            "oid": "2" * 40,
        }

    def _json(
        self, content: Any, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self._send(
            status,
            json.dumps(content).encode(),
            {"Content-Type": "application/json", **(headers or {})},
        )

    def _send(
        self, status: int, data: bytes, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _form(body: bytes) -> list[str]:
    from urllib.parse import parse_qs

    return parse_qs(body.decode()).get("paths", [])


@contextmanager
def running_hub() -> Iterator[Hub]:
    """Run the server on loopback."""
    hub = Hub(("127.0.0.1", 0), _Answers)
    hub.files, hub.commits, hub.writable = {}, [], True
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
