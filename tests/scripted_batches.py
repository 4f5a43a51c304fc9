"""The batch endpoints of the scripted server: files in, results in another order out, failures in a second file."""

import json
import random
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tests.scripted_answers import Answers, last_user_message

Reply = tuple[int, dict[str, str], bytes]


@dataclass
class Batches:
    """``polls``: how often a batch is looked at before it ends in ``status``. ``fail``: sources that land in the error file.

    ``output`` False: the batch ends without an output file, as OpenAI's do where every request failed.
    """

    polls: int = 1
    status: str = "completed"
    fail: Collection[str] = ()
    output: bool = True
    seed: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    made: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes, answers: Answers) -> Reply:
        if (method, path) == ("POST", "/v1/files"):
            return _reply(self._upload(headers, body))
        if (method, path) == ("POST", "/v1/batches"):
            return _reply(self._create(json.loads(body)))
        if (method, path) == ("GET", "/v1/batches"):
            return _reply({"object": "list", "data": list(self.made.values())[::-1], "has_more": False})
        if (found := re.fullmatch(r"/v1/batches/([\w-]+)", path)) and found[1] in self.made:
            return _reply(self._poll(found[1], answers))
        if (found := re.fullmatch(r"/v1/files/([\w-]+)/content", path)) and found[1] in self.files:
            return 200, {"content-type": "application/octet-stream"}, self.files[found[1]]
        return 404, {}, json.dumps({"error": {"message": f"no {method} {path}"}}).encode()

    def _upload(self, headers: dict[str, str], body: bytes) -> dict[str, Any]:
        boundary = headers["content-type"].partition("boundary=")[2].encode()
        parts = [part.partition(b"\r\n\r\n") for part in body.split(b"--" + boundary)]
        content = next(data.removesuffix(b"\r\n") for head, _, data in parts if b"filename=" in head)
        return self._keep(content)

    def _keep(self, content: bytes) -> dict[str, Any]:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        shown = {"object": "file", "bytes": len(content), "created_at": 0, "filename": "f.jsonl"}
        return {"id": name, "purpose": "batch", "status": "processed", **shown}

    def _create(self, asked: dict[str, Any]) -> dict[str, Any]:
        name = f"batch_{len(self.made)}"
        self.made[name] = {
            "id": name,
            "object": "batch",
            "status": "validating",
            "created_at": 0,
            "output_file_id": None,
            "error_file_id": None,
            "polled": 0,
            **asked,
        }
        return self.made[name]

    def _poll(self, name: str, answers: Answers) -> dict[str, Any]:
        batch = self.made[name]
        batch["polled"] += 1
        if batch["polled"] > self.polls and batch["status"] != self.status:
            batch["status"] = self.status
            if self.status == "failed":
                batch["errors"] = {"object": "list", "data": [{"code": "invalid", "message": "line 1 is not valid"}]}
            else:
                self._work(batch, answers)
        elif batch["status"] != self.status:
            batch["status"] = "in_progress"
        return batch

    def _work(self, batch: dict[str, Any], answers: Answers) -> None:
        done, failed = [], []
        for line in self.files[batch["input_file_id"]].splitlines():
            row = json.loads(line)
            completion = answers.completion(row["body"])
            if completion is None or any(source in last_user_message(row["body"]) for source in self.fail):
                body = {"error": {"message": "scripted failure", "code": "server_error"}}
                failed.append(_result(row["custom_id"], 500, body))
            else:
                done.append(_result(row["custom_id"], 200, completion))
        random.Random(self.seed).shuffle(done)
        for field_name, rows in (("output_file_id", done if self.output else []), ("error_file_id", failed)):
            if rows:
                content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
                batch[field_name] = self._keep(content)["id"]


def _result(custom_id: str, status: int, body: dict[str, Any]) -> dict[str, Any]:
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": f"batch_req_{custom_id[:8]}", "custom_id": custom_id, "response": response, "error": None}


def _reply(value: Any) -> Reply:
    return 200, {}, json.dumps(value).encode()
