"""Uploads, by the real client over HTTP to a Hub on loopback that can spoil any one request."""

from contextlib import suppress
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from core.errors import HubError
from core.hub import Repository, Uploaded, content_tag, local_file, upload_once
from tests.hub_repo import Repo
from tests.hub_server import Fault, HubServer

NAME = "org/judges"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Two large files and two small ones."""
    contents = {
        "README.md": "---\nlicense: mit\n---\n# Judges\n",
        "hi/train.parquet": "hi" * 500,
        "te/train.parquet": "te" * 500,
        "notes.json": '{"rows": 2}\n',
    }
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return {name: tmp_path / name for name in contents}


def upload(
    hub: HubServer, files: dict[str, Path], private: bool = True, tag: str | None = None, **more: bool
) -> Uploaded:
    api = HfApi(endpoint=hub.endpoint, token="hf_test")
    return upload_once(api, Repository(NAME, "dataset", private, tag), files, "Upload judges", ("*.parquet",), **more)


def ours(repo: Repo) -> list[str]:
    return [commit.sha for commit in repo.commits if commit.message == "Upload judges"]


def check_whole(hub: HubServer, files: dict[str, Path], done: Uploaded) -> None:
    """One commit of ours, every file right in it, and the tag on it."""
    repo = hub.repos["dataset", NAME]
    assert ours(repo) == [done.commit]
    assert repo.private
    head = repo.commits[-1]
    assert {name: head.files[name].data for name in files} == {name: path.read_bytes() for name, path in files.items()}
    assert set(head.files) == {*files, ".gitattributes"}
    assert repo.tags == {done.tag: done.commit}


def test_git_names_a_file_as_the_hub_does(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello\n")
    # printf 'hello\n' | git hash-object --stdin, and sha256sum of the same.
    assert local_file(tmp_path / "a").blob_id == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert local_file(tmp_path / "a").sha256 == "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


def test_a_new_repository_gets_one_commit_and_a_tag(hub: HubServer, files: dict[str, Path]) -> None:
    done = upload(hub, files)
    check_whole(hub, files, done)
    assert sorted(done.sent) == sorted(files)
    assert done.tag == content_tag({name: local_file(path) for name, path in files.items()})
    # The same again changes nothing.
    hub.fail()
    assert upload(hub, files) == Uploaded(done.commit, done.tag, [], [])
    check_whole(hub, files, done)
    assert not [request for request in hub.requests if request.startswith("POST") and "/tag/" not in request]


@pytest.mark.parametrize("how", ["refuse", "lost"])
def test_a_rerun_after_any_failure_ends_whole(hub: HubServer, files: dict[str, Path], how: Fault) -> None:
    upload(hub, files)
    requests = len(hub.requests)
    assert requests > 12
    went_through = 0
    for at in range(1, requests + 1):
        hub.repos.clear()
        hub.large.clear()
        hub.fail(at, how)
        with suppress(HubError):
            upload(hub, files)
            went_through += 1
        hub.fail()
        check_whole(hub, files, upload(hub, files))
    # A refusal always stops; after a lost answer the client asks again by itself where that does no harm.
    assert went_through == 0 if how == "refuse" else 0 < went_through < requests - 3


def test_a_rerun_sends_no_large_file_twice(hub: HubServer, files: dict[str, Path]) -> None:
    upload(hub, files)
    commit = next(n for n, request in enumerate(hub.requests, start=1) if "/commit/" in request)
    hub.repos.clear()
    hub.large.clear()
    hub.fail(commit)
    with pytest.raises(HubError, match="may not write there"):
        upload(hub, files)
    assert sum(request.startswith("PUT /lfs/") for request in hub.requests) == 2
    hub.fail()
    check_whole(hub, files, upload(hub, files))
    assert not [request for request in hub.requests if request.startswith("PUT")]


@pytest.mark.parametrize(("is_private", "asked"), [(False, True), (True, False)])
def test_case_35_another_visibility_is_refused_before_the_first_byte(
    hub: HubServer, files: dict[str, Path], is_private: bool, asked: bool
) -> None:
    repo = hub.add("dataset", NAME, {"a.txt": b"a"}, private=is_private)
    with pytest.raises(HubError, match=f"pass --private {str(is_private).lower()}"):
        upload(hub, files, private=asked)
    assert {request.split()[0] for request in hub.requests} == {"GET"}
    assert len(repo.commits) == 2


def test_a_card_is_not_overwritten_unless_told(hub: HubServer, files: dict[str, Path]) -> None:
    repo = hub.add("dataset", NAME, {"README.md": b"# Mine\n"}, private=True)
    with pytest.raises(HubError, match=r"has a card .* pass --overwrite_card true"):
        upload(hub, files)
    assert {request.split()[0] for request in hub.requests} == {"GET"}
    done = upload(hub, files, overwrite_card=True)
    assert ours(repo) == [done.commit]
    assert repo.commits[-1].files["README.md"].data == files["README.md"].read_bytes()


def test_old_files_of_the_kind_go_and_others_stay(hub: HubServer, files: dict[str, Path]) -> None:
    there = {
        "old/train.parquet": b"old",
        "figure.svg": b"<svg/>",
        "hi/train.parquet": files["hi/train.parquet"].read_bytes(),
    }
    repo = hub.add("dataset", NAME, there, private=True)
    done = upload(hub, files)
    assert done.deleted == ["old/train.parquet"]
    assert sorted(done.sent) == ["README.md", "notes.json", "te/train.parquet"]
    assert set(repo.commits[-1].files) == {*files, "figure.svg", ".gitattributes"}


def test_a_tag_keeps_the_files_that_it_names(hub: HubServer, files: dict[str, Path]) -> None:
    first = upload(hub, files, tag="v1")
    assert upload(hub, files, tag="v1") == Uploaded(first.commit, "v1", [], [])
    files["notes.json"].write_text('{"rows": 3}\n', encoding="utf-8")
    hub.fail()
    with pytest.raises(HubError, match="tag v1 of org/judges names an earlier commit; choose another"):
        upload(hub, files, tag="v1")
    assert {request.split()[0] for request in hub.requests} == {"GET"}
    second = upload(hub, files, tag="v2")
    assert hub.repos["dataset", NAME].tags == {"v1": first.commit, "v2": second.commit}


def test_files_that_came_out_otherwise_are_found(hub: HubServer, files: dict[str, Path]) -> None:
    ignored = {".gitattributes": b"*.parquet filter=lfs\n", ".gitignore": b"*.json\n"}
    hub.add("dataset", NAME, ignored, private=True)
    hub.ignored = {"notes.json"}
    with pytest.raises(HubError, match=r"1 files of org/judges are not as they are here \(notes.json\)"):
        upload(hub, files)
    assert hub.repos["dataset", NAME].tags == {}


def test_another_commit_meanwhile_is_not_built_over(hub: HubServer, files: dict[str, Path]) -> None:
    repo = hub.add("dataset", NAME, {"a.txt": b"a"}, private=True)
    hub.before_commit = lambda: repo.add("someone else", dict(repo.commits[-1].files))
    with pytest.raises(HubError, match="changed while files were sent; run the command again"):
        upload(hub, files)
    hub.before_commit = None
    done = upload(hub, files)
    assert ours(repo) == [done.commit]


@pytest.mark.parametrize("text", ["see /home/someone/data", "from {cwd}/runs", '{{"model": "/scratch/me/base"}}'])
def test_case_36_a_path_of_this_machine_is_not_uploaded(hub: HubServer, files: dict[str, Path], text: str) -> None:
    files["notes.json"].write_text(text.format(cwd=Path.cwd()), encoding="utf-8")
    with pytest.raises(HubError, match=r"notes\.json names a path of this machine"):
        upload(hub, files)
    assert hub.requests == []


def test_a_web_address_is_no_path_of_this_machine(hub: HubServer, files: dict[str, Path]) -> None:
    files["notes.json"].write_text("https://example.org/home/page and data/tmp/x", encoding="utf-8")
    assert upload(hub, files).sent


def test_a_server_that_is_gone_is_one_line(hub: HubServer, files: dict[str, Path]) -> None:
    endpoint = hub.endpoint
    api = HfApi(endpoint=endpoint.replace("http://127.0.0.1:", "http://127.0.0.1:1"), token="hf_test")
    with pytest.raises(HubError, match=r"upload to org/judges stopped .*; run the command again") as caught:
        upload_once(api, Repository(NAME, "dataset"), files, "Upload judges")
    assert "\n" not in str(caught.value)


def test_a_model_repository(hub: HubServer, files: dict[str, Path]) -> None:
    api = HfApi(endpoint=hub.endpoint, token="hf_test")
    done = upload_once(api, Repository(NAME, "model"), {"README.md": files["README.md"]}, "Upload judges")
    assert hub.repos["model", NAME].commits[-1].sha == done.commit
