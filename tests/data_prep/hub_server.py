"""A Hub on loopback that serves one data set from a dict of files, as far as ``datasets.load_dataset`` asks for it."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlparse

COMMIT = "0" * 39 + "1"


@contextmanager
def serve(repo: str, files: dict[str, bytes]) -> Iterator[str]:
    """Yield the endpoint; stops serving at the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(repo, files))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(repo: str, files: dict[str, bytes]) -> type[BaseHTTPRequestHandler]:
    entries: list[dict[str, Any]] = [
        {"type": "file", "path": name, "oid": hashlib.sha1(data).hexdigest(), "size": len(data)}
        for name, data in files.items()
    ]
    info = {"id": repo, "sha": COMMIT, "private": False, "siblings": [{"rfilename": name} for name in files]}

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._send(json.dumps([entry for entry in entries if entry["path"] in asked]).encode(), True)

        def _answer(self, with_body: bool) -> None:
            path = urlparse(self.path).path
            name = path.removeprefix(f"/datasets/{repo}/resolve/").partition("/")[2]
            if path.startswith(f"/datasets/{repo}/resolve/") and name in files:
                self._send(files[name], with_body)
            elif path.startswith(f"/api/datasets/{repo}/tree/"):
                self._send(json.dumps(entries).encode(), with_body)
            elif path == f"/api/datasets/{repo}" or path.startswith(f"/api/datasets/{repo}/revision/"):
                self._send(json.dumps(info).encode(), with_body)
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "EntryNotFound" if repo in path else "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()

        def _send(self, body: bytes, with_body: bool) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
