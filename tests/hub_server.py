"""A Hub on loopback, as far as ``huggingface_hub`` and ``datasets`` ask: reading, creating, uploading, tagging.

``with HubServer() as hub:`` gives one; ``hub.fail(at, how)`` spoils one request. Any token opens private repositories.
"""

import json
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Literal
from urllib.parse import unquote, urlparse

from tests.hub_repo import LARGE, Blob, Commit, Repo

# refuse: answered 403 and not done; lost: done, but the connection drops before the answer.
Fault = Literal["refuse", "lost"]

_API = re.compile(
    r"/api/(models|datasets)/([^/]+/[^/]+?)(?:/(revision|tree|preupload|commit|refs|tag|paths-info)(?:/(.*))?)?"
)
_RESOLVE = re.compile(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_BATCH = re.compile(r"/(datasets/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch")


class HubServer:
    """The server and what it holds. ``requests`` are those since the last ``fail``, in order."""

    def __init__(self) -> None:
        self.repos: dict[tuple[str, str], Repo] = {}
        self.large: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.ignored: set[str] = set()  # files that the repository's .gitignore is taken to name
        self.before_commit: Callable[[], object] | None = None
        self.lock = Lock()
        self._fault: tuple[int, Fault] | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.hub = self  # type: ignore[attr-defined]
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "HubServer":
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, kind: str, name: str, files: dict[str, bytes], private: bool = False, gated: bool = False) -> Repo:
        """A repository (kind dataset or model) with one commit of these files."""
        repo = self.repos[kind, name] = Repo(kind, name, private, gated)
        blobs = {path: Blob(data, path.endswith(LARGE)) for path, data in files.items()}
        repo.add("files", {**repo.commits[-1].files, **blobs})
        return repo

    def fail(self, at: int | None = None, how: Fault = "refuse") -> None:
        """Count requests anew, and spoil the one numbered ``at`` (from 1); None spoils none."""
        self.requests.clear()
        self._fault = None if at is None else (at, how)

    def fault_of(self, request: str) -> Fault | None:
        """Note a request; how it fails, if it does."""
        with self.lock:
            self.requests.append(request)
            return self._fault[1] if self._fault and self._fault[0] == len(self.requests) else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet: two would each wait for the client's delayed acknowledgement
    disable_nagle_algorithm = True

    @property
    def hub(self) -> HubServer:
        return self.server.hub  # type: ignore[attr-defined, no-any-return]

    def do_GET(self) -> None:
        self._handle()

    do_HEAD = do_POST = do_PUT = do_GET

    def _handle(self) -> None:
        path = unquote(urlparse(self.path).path)
        body = self._body()
        fault = self.hub.fault_of(f"{self.command} {path}")
        if fault == "refuse":
            return self._send(403, b"refused")
        with self.hub.lock:
            status, answer, headers = self._answer(path, body)
        if fault == "lost":
            self.close_connection = True
            return None
        return self._send(status, answer, headers)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _answer(self, path: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        if path == "/api/validate-yaml":
            return _json({"errors": [], "warnings": []})
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path == "/lfs/verify":
            known = len(self.hub.large.get(json.loads(body)["oid"], b"")) == json.loads(body)["size"]
            return _json({}) if known else _error(400, "BadRequest")
        if path.startswith("/lfs/"):
            self.hub.large[path.removeprefix("/lfs/")] = body
            return 200, b"", {}
        if batch := _BATCH.fullmatch(path):
            return self._batch(json.loads(body)) if self._repo(batch[1], batch[2]) else _error(404, "RepoNotFound")
        if resolve := _RESOLVE.fullmatch(path):
            return self._resolve(self._repo(resolve[1], resolve[2]), resolve[3], resolve[4])
        api = _API.fullmatch(path)
        repo = self._repo(api[1], api[2]) if api else None
        if api is None or repo is None:
            return _error(404, "RepoNotFound")
        return self._api(repo, api[3] or "revision", api[4] or "main", body)

    def _repo(self, prefix: str | None, name: str) -> Repo | None:
        repo = self.hub.repos.get(("dataset" if (prefix or "").startswith("datasets") else "model", name))
        return repo if repo and (not repo.private or self.headers.get("Authorization")) else None

    def _create(self, asked: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        kind, name = asked["type"], f"{asked['organization']}/{asked['name']}"
        taken = (kind, name) in self.hub.repos
        if not taken:
            self.hub.repos[kind, name] = Repo(kind, name, asked.get("visibility") == "private")
        url = f"{self.hub.endpoint}/{'datasets/' if kind == 'dataset' else ''}{name}"
        return (409 if taken else 200), json.dumps({"url": url}).encode(), {}

    def _batch(self, asked: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        objects = []
        for item in asked["objects"]:
            actions = {
                "upload": {"href": f"{self.hub.endpoint}/lfs/{item['oid']}"},
                "verify": {"href": f"{self.hub.endpoint}/lfs/verify"},
            }
            objects.append(item | ({} if item["oid"] in self.hub.large else {"actions": actions}))
        return _json({"transfer": "basic", "objects": objects})

    def _resolve(self, repo: Repo | None, revision: str, path: str) -> tuple[int, bytes, dict[str, str]]:
        commit = repo.at(revision) if repo else None
        if repo is None or commit is None:
            return _error(404, "RevisionNotFound" if repo else "RepoNotFound")
        if repo.gated:
            return _error(401, "GatedRepo")
        if path not in commit.files:
            return _error(404, "EntryNotFound")
        blob = commit.files[path]
        return 200, blob.data, {"ETag": f'"{blob.sha256 if blob.large else blob.blob_id}"', "X-Repo-Commit": commit.sha}

    def _api(self, repo: Repo, verb: str, rest: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        if verb == "refs":
            branch = {"name": "main", "ref": "refs/heads/main", "targetCommit": repo.commits[-1].sha}
            tags = [{"name": n, "ref": f"refs/tags/{n}", "targetCommit": sha} for n, sha in repo.tags.items()]
            return _json({"branches": [branch], "converts": [], "tags": tags})
        revision, _, folder = rest.partition("/")
        commit = repo.at(revision)
        if commit is None:
            return _error(404, "RevisionNotFound")
        if verb == "tree":
            return _json([b.entry(p) for p, b in commit.files.items() if p.startswith(folder)])
        if verb == "paths-info":
            asked = unquote(body.decode())
            return _json([blob.entry(path) for path, blob in commit.files.items() if path in asked])
        if verb == "preupload":
            asked_files = [item["path"] for item in json.loads(body)["files"]]
            return _json({"files": [_mode(name, commit, name in self.hub.ignored) for name in asked_files]})
        if verb == "tag":
            return self._tag(repo, json.loads(body)["tag"], commit)
        if verb == "commit":
            if self.hub.before_commit:
                self.hub.before_commit()
            made = repo.commit(body.splitlines(), self.hub.large)
            if made is None:
                return _error(412, "PreconditionFailed")
            prefix = "datasets/" if repo.kind == "dataset" else ""
            url = f"{self.hub.endpoint}/{prefix}{repo.name}/commit/{made.sha}"
            return _json({"commitUrl": url, "commitOid": made.sha})
        return _json(repo.info(commit))

    def _tag(self, repo: Repo, name: str, commit: Commit) -> tuple[int, bytes, dict[str, str]]:
        if name in repo.tags:
            return _error(409, "Conflict")
        repo.tags[name] = commit.sha
        return _json({})

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _mode(path: str, head: Commit, ignored: bool) -> dict[str, Any]:
    """How a file is to be sent, and the name of what is there under its path."""
    blob = head.files.get(path)
    oid = None if blob is None else (blob.sha256 if blob.large else blob.blob_id)
    mode = "lfs" if path.endswith(LARGE) else "regular"
    return {"path": path, "uploadMode": mode, "shouldIgnore": ignored, "oid": oid}


def _json(value: Any) -> tuple[int, bytes, dict[str, str]]:
    return 200, json.dumps(value).encode(), {"Content-Type": "application/json"}


def _error(status: int, code: str) -> tuple[int, bytes, dict[str, str]]:
    return status, b"{}", {"X-Error-Code": code, "X-Error-Message": code}
