"""What a Hub on loopback keeps: repositories with their commits, tags and large files."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

LARGE = (".parquet", ".safetensors", ".bin")


@dataclass(frozen=True)
class Blob:
    """One file; a large one is known by its SHA-256, any other by its git blob id."""

    data: bytes
    large: bool

    @property
    def blob_id(self) -> str:
        content = f"oid sha256:{self.sha256}\nsize {len(self.data)}\n".encode() if self.large else self.data
        return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def entry(self, path: str) -> dict[str, Any]:
        """As a listing of the tree shows it."""
        large = {"oid": self.sha256, "size": len(self.data), "pointerSize": 130}
        shown = {"type": "file", "path": path, "oid": self.blob_id, "size": len(self.data)}
        return shown | ({"lfs": large} if self.large else {})


@dataclass(frozen=True)
class Commit:
    sha: str
    message: str
    files: dict[str, Blob]


@dataclass
class Repo:
    """A model or data set repository. A new one holds what the Hub puts there: .gitattributes."""

    kind: str
    name: str
    private: bool
    gated: bool = False
    commits: list[Commit] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.add("initial commit", {".gitattributes": Blob(b"*.parquet filter=lfs\n", False)})

    def add(self, message: str, files: dict[str, Blob]) -> Commit:
        parent = self.commits[-1].sha if self.commits else ""
        named = "".join(f"{path}{blob.sha256}" for path, blob in sorted(files.items()))
        sha = hashlib.sha1(f"{parent}{message}{named}".encode()).hexdigest()
        self.commits.append(Commit(sha, message, dict(files)))
        return self.commits[-1]

    def at(self, revision: str) -> Commit | None:
        """The commit of a branch (main alone), a tag or a commit's own name."""
        if revision == "main":
            return self.commits[-1]
        sha = self.tags.get(revision, revision)
        return next((commit for commit in self.commits if commit.sha == sha), None)

    def info(self, commit: Commit) -> dict[str, Any]:
        siblings = [{"rfilename": path} for path in commit.files]
        return {"id": self.name, "sha": commit.sha, "private": self.private, "gated": self.gated, "siblings": siblings}

    def commit(self, lines: Sequence[bytes], large: dict[str, bytes]) -> Commit | None:
        """Apply a commit as the client sends it, or None where its parent is no longer the head.

        Raises KeyError where it names a large file that was never uploaded.
        """
        files, message = dict(self.commits[-1].files), ""
        for line in lines:
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "header":
                message = value["summary"]
                if value.get("parentCommit", self.commits[-1].sha) != self.commits[-1].sha:
                    return None
            elif item["key"] == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"]), False)
            elif item["key"] == "lfsFile":
                files[value["path"]] = Blob(large[value["oid"]], True)
            elif item["key"] == "deletedFile":
                del files[value["path"]]
        return self.add(message, files)
