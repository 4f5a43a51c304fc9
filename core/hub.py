"""Uploads to the Hub that are there whole or not at all: one commit, checked file by file, then tagged.

What must not be is found before the first byte is sent: another visibility, a card of someone else, a tag that names other
files, a path of this machine in a text file. An upload that failed at any point is run again by the same call: files that
arrived are not sent twice, and a commit whose answer was lost is found and not made again.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from core.errors import HubError
from core.machine_paths import check_no_machine_path

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

CARD = "README.md"
_AGAIN = "run the command again: it goes on from what arrived"


class Repository(NamedTuple):
    """Where to: ``name`` is owner/name. ``tag`` None names the files by their content (``files-`` and twelve digits)."""

    name: str
    kind: Literal["model", "dataset"]
    private: bool = True
    tag: str | None = None


class Uploaded(NamedTuple):
    """``commit`` holds the files; ``sent`` are those that it was not already like; ``deleted`` went with it."""

    commit: str
    tag: str
    sent: list[str]
    deleted: list[str]


class LocalFile(NamedTuple):
    """A file to upload and both names that the Hub may know it by."""

    path: Path
    size: int
    sha256: str
    blob_id: str


class _Remote(NamedTuple):
    commit: str
    private: bool
    files: dict[str, "RepoFile"]
    tags: dict[str, str]


def upload_once(
    api: "HfApi",
    repository: Repository,
    files: Mapping[str, Path],
    message: str,
    replaces: Sequence[str] = (),
    overwrite_card: bool = False,
) -> Uploaded:
    """Bring a repository to hold ``files`` (path there → path here) in one commit, and tag that commit.

    Files there that match one of the patterns ``replaces`` and are not among ``files`` are deleted in the same commit (old
    shards of a model, say); all others stay. Raises HubError where the repository is of another visibility, has another
    card (unless ``overwrite_card``) or the tag on other files, and where the Hub refuses or does not answer.
    """
    check_no_machine_path(files)
    local = {name: local_file(path) for name, path in files.items()}
    tag = repository.tag or content_tag(local)
    with _hub_errors(repository):
        remote = _remote(api, repository)
        if remote is not None:
            _check_remote(api, repository, remote, local, tag, replaces, overwrite_card)
        else:
            remote = _create(api, repository)
        sent, deleted = changes(remote.files, local, replaces)
        head = remote.tags.get(tag, remote.commit)
        commit = _commit(api, repository, head, local, sent, deleted, message) if sent or deleted else head
        _verify(_files(api, repository, commit), local, repository)
        _tag(api, repository, tag, commit)
    return Uploaded(commit, tag, sent, deleted)


def local_file(path: Path) -> LocalFile:
    """Size and hashes of a file: SHA-256 as for large files, and git's blob id as for others."""
    size = path.stat().st_size
    sha256, blob = hashlib.sha256(), hashlib.sha1(f"blob {size}\0".encode())
    with open(path, "rb") as handle:
        while chunk := handle.read(2**20):
            sha256.update(chunk)
            blob.update(chunk)
    return LocalFile(path, size, sha256.hexdigest(), blob.hexdigest())


def content_tag(local: Mapping[str, LocalFile]) -> str:
    """A tag that names exactly these files: the same files get the same one."""
    named = "".join(f"{name} {file.sha256}\n" for name, file in sorted(local.items()))
    return f"files-{hashlib.sha256(named.encode()).hexdigest()[:12]}"


def plan(repository: Repository, files: Mapping[str, Path]) -> str:
    """What an upload would bring, without asking the Hub: how much, to where, under which tag; each file; the card."""
    local = {name: local_file(path) for name, path in files.items()}
    total = sum(file.size for file in local.values())
    kind = "data set" if repository.kind == "dataset" else "model"
    where = f"{'private' if repository.private else 'public'} {kind} {repository.name}"
    head = f"{len(local)} files, {total:,} bytes, to {where}, tag {repository.tag or content_tag(local)}"
    lines = [f"{file.size:>14,}  {name}" for name, file in local.items()]
    return "\n".join([head, *lines, f"----- {CARD}", files[CARD].read_text(encoding="utf-8").rstrip(), "-----"])


def changes(
    remote: Mapping[str, "RepoFile"], local: Mapping[str, LocalFile], replaces: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The files to send, for they are not there or differ, and those to delete."""
    sent = [name for name, file in local.items() if not _same(remote.get(name), file)]
    stale = [name for name in remote if name not in local and any(fnmatch(name, pattern) for pattern in replaces)]
    return sent, stale


def _same(there: "RepoFile | None", here: LocalFile) -> bool:
    if there is None or there.size != here.size:
        return False
    return there.lfs.sha256 == here.sha256 if there.lfs is not None else there.blob_id == here.blob_id


def _remote(api: "HfApi", repository: Repository) -> _Remote | None:
    """What is there, or None where nothing is that this login can see."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        info = api.repo_info(repository.name, repo_type=repository.kind)
    except GatedRepoError:
        raise
    except RepositoryNotFoundError:
        return None
    refs = api.list_repo_refs(repository.name, repo_type=repository.kind)
    tags = {ref.name: ref.target_commit for ref in refs.tags}
    return _Remote(str(info.sha), bool(info.private), _files(api, repository, str(info.sha)), tags)


def _check_remote(
    api: "HfApi",
    repository: Repository,
    remote: _Remote,
    local: Mapping[str, LocalFile],
    tag: str,
    replaces: Sequence[str],
    overwrite_card: bool,
) -> None:
    _check_visibility(repository, remote.private)
    if CARD in local and CARD in remote.files and not overwrite_card and not _same(remote.files[CARD], local[CARD]):
        raise HubError(f"{repository.name} has a card ({CARD}) already; pass --overwrite_card true to replace it")
    if tag in remote.tags:
        tagged = _files(api, repository, remote.tags[tag])
        if any(changes(remote.files, local, replaces)) or any(changes(tagged, local, replaces)):
            raise HubError(f"tag {tag} of {repository.name} names an earlier commit; choose another with --tag")


def _check_visibility(repository: Repository, private: bool) -> None:
    if private != repository.private:
        is_, asked = ("private", "public") if private else ("public", "private")
        raise HubError(
            f"{repository.name} is {is_} and {asked} was asked for; nothing was uploaded: change it in the settings of the "
            f"repository, or pass --private {str(private).lower()}"
        )


def _create(api: "HfApi", repository: Repository) -> _Remote:
    """Make the repository and read its visibility back before anything is sent."""
    api.create_repo(repository.name, repo_type=repository.kind, private=repository.private, exist_ok=True)
    remote = _remote(api, repository)
    if remote is None:
        raise HubError(f"{repository.name} was made but cannot be seen with this login; use one that may read it")
    _check_visibility(repository, remote.private)
    return remote


def _commit(
    api: "HfApi",
    repository: Repository,
    parent: str,
    local: Mapping[str, LocalFile],
    sent: Sequence[str],
    deleted: Sequence[str],
    message: str,
) -> str:
    """One commit on the head that was looked at."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    adds = [CommitOperationAdd(name, str(local[name].path)) for name in sent]
    deletes = [CommitOperationDelete(name) for name in deleted]
    made = api.create_commit(
        repository.name, [*adds, *deletes], commit_message=message, repo_type=repository.kind, parent_commit=parent
    )
    return str(made.oid)


def _files(api: "HfApi", repository: Repository, commit: str) -> dict[str, "RepoFile"]:
    from huggingface_hub.hf_api import RepoFile

    tree = api.list_repo_tree(repository.name, recursive=True, revision=commit, repo_type=repository.kind)
    return {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}


def _verify(remote: Mapping[str, "RepoFile"], local: Mapping[str, LocalFile], repository: Repository) -> None:
    """Every file is there with the hash that it has here."""
    wrong = [name for name, file in local.items() if not _same(remote.get(name), file)]
    if wrong:
        some = ", ".join(wrong[:5]) + (", …" if len(wrong) > 5 else "")
        raise HubError(
            f"{len(wrong)} files of {repository.name} are not as they are here ({some}); "
            "see whether its .gitignore names them, then run the command again"
        )


def _tag(api: "HfApi", repository: Repository, tag: str, commit: str) -> None:
    api.create_tag(repository.name, tag=tag, revision=commit, repo_type=repository.kind, exist_ok=True)
    refs = api.list_repo_refs(repository.name, repo_type=repository.kind)
    if commit not in [ref.target_commit for ref in refs.tags if ref.name == tag]:
        raise HubError(f"tag {tag} of {repository.name} does not name commit {commit}; choose another with --tag")


@contextmanager
def _hub_errors(repository: Repository) -> Iterator[None]:
    """What the Hub or the way to it refuses, as one line that says how to mend it."""
    from httpx2 import HTTPError  # what huggingface_hub speaks HTTP with
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except HfHubHTTPError as error:
        raise HubError(_refusal(repository, error.response.status_code, str(error))) from None
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        reason = _one_line(error.__cause__ or error)
        raise HubError(f"upload to {repository.name} stopped ({reason}); {_AGAIN}") from None


def _refusal(repository: Repository, status: int, reason: str) -> str:
    where = f"the Hub refused {repository.name} ({status})"
    if status == 401:
        return f"{where}: this login is not known; log in with `hf auth login`, or set HF_TOKEN"
    if status == 403:
        return f"{where}: this login may not write there; use a token with the right to write, or another owner"
    if status == 412:
        return f"{repository.name} changed while files were sent; {_AGAIN}"
    return f"{where}: {_one_line(reason)}; {_AGAIN}"


def _one_line(error: object) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
