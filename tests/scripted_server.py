"""An OpenAI-compatible server on loopback that answers from a table, slowly or wrongly where told to, and counts what it was asked.

Run as: python -m tests.scripted_server --table FILE.jsonl --port 8000
with rows {"source": text, "answer": text}: the longest source within the last user message wins. In a test:

    with ScriptedServer(Answers({"Hello": "Habari"}), faults={1: "500"}) as server:
        ServerOptions(base_url=server.base_url, model="scripted", ...)

``faults`` maps the number of a chat request, from 1, to what happens instead of an answer (see FAULTS). GET /stats tells a
test in another process what was asked.
"""

import argparse
import asyncio
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from types import TracebackType
from typing import Any

from tests.scripted_answers import BAD_KINDS, Answers, last_user_message, read_table
from tests.scripted_batches import Batches

FAULTS = (
    *("400", "401", "403", "404", "408", "409", "429", "429-date", "429-quota", "500", "503"),
    *("hang", "drop", "cut", "not-json", "no-choices"),
)
HANG_SECONDS = 3600.0
Reply = tuple[int, dict[str, str], bytes]


class ScriptedServer:
    """Serves while the context lasts. ``base_url`` ends in /v1; ``bodies`` are the chat requests in the order they came.

    ``dead_after`` n: after n chat requests the server is gone, connections and all. ``unauthorized_after`` n: then 401.
    ``fault_share`` of the requests, by number and ``seed``, meets one of ``fault_kinds``. ``batches`` scripts /v1/batches.
    """

    def __init__(
        self,
        answers: Answers | None = None,
        port: int = 0,
        latency_ms: float = 0.0,
        faults: Mapping[int, str] | None = None,
        fault_share: float = 0.0,
        fault_kinds: Sequence[str] = ("429", "500", "drop", "cut"),
        retry_after: float = 0.1,
        dead_after: int | None = None,
        unauthorized_after: int | None = None,
        batches: Batches | None = None,
        seed: int = 0,
    ) -> None:
        self.answers = answers or Answers(default="an answer")
        self.port, self.latency_ms, self.seed = port, latency_ms, seed
        self.faults, self.fault_share, self.fault_kinds = dict(faults or {}), fault_share, fault_kinds
        self.retry_after, self.dead_after, self.unauthorized_after = retry_after, dead_after, unauthorized_after
        self.batches = batches or Batches()
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.in_flight = self.most_in_flight = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def asked(self) -> list[str]:
        """The last user message of each chat request."""
        return [last_user_message(body) for body in self.bodies]

    def __enter__(self) -> "ScriptedServer":
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=2**26, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    def _die(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in self._writers:
                writer.transport.abort()

    async def _stop(self) -> None:
        self._die()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, kept alive over many requests."""
        self._writers.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").rstrip().split("\r\n")
                headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
                method, path, _ = first.split(" ")
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                await self._answer(writer, method, path.partition("?")[0], headers, body)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(
        self, writer: asyncio.StreamWriter, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> None:
        if path == "/v1/chat/completions":
            self.keys.add(headers.get("authorization", "").removeprefix("Bearer "))
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                reply, cut = await self._chat(json.loads(body))
            finally:
                self.in_flight -= 1
        elif path == "/stats":
            times = self.answers.times_asked
            stats = {"asked": len(self.bodies), "times_asked": times, "most_in_flight": self.most_in_flight}
            reply, cut = json_reply(stats), False
        elif path == "/v1/models":
            reply, cut = json_reply({"object": "list", "data": [{"id": "scripted", "object": "model"}]}), False
        else:
            reply, cut = self.batches.answer(method, path, headers, body, self.answers), False
        send(writer, reply, cut)
        await writer.drain()

    async def _chat(self, body: dict[str, Any]) -> tuple[Reply, bool]:
        """The reply, and whether only half of it is sent."""
        self.bodies.append(body)
        number = len(self.bodies)
        if self.dead_after is not None and number > self.dead_after:
            self._die()
            raise ConnectionResetError
        if self.unauthorized_after is not None and number > self.unauthorized_after:
            return error_reply(401), False
        if self.latency_ms:
            await asyncio.sleep(self.latency_ms / 1000)
        fault = self._fault(number)
        if fault == "hang":
            await asyncio.sleep(HANG_SECONDS)
        if fault == "drop":
            raise ConnectionResetError
        if fault and fault[0].isdigit():
            return self._error(fault), False
        completion = self.answers.completion(body)
        if completion is None:
            return error_reply(400, "no row of the table fits this message"), False
        if fault == "not-json":
            return (200, {}, json.dumps(completion).encode()[:-20]), False
        return json_reply({"object": "chat.completion"} if fault == "no-choices" else completion), fault == "cut"

    def _fault(self, number: int) -> str | None:
        chance = random.Random(f"{self.seed} {number}")
        return self.faults.get(number) or (
            chance.choice(self.fault_kinds) if chance.random() < self.fault_share else None
        )

    def _error(self, fault: str) -> Reply:
        if fault == "429-quota":
            return error_reply(429, "You exceeded your current quota", "insufficient_quota")
        if fault == "429-date":
            return error_reply(429, headers={"retry-after": formatdate(time.time() + self.retry_after, usegmt=True)})
        headers = {"retry-after": str(self.retry_after)} if fault == "429" else {}
        return error_reply(int(fault), headers=headers)


def json_reply(value: Any) -> Reply:
    return 200, {}, json.dumps(value, ensure_ascii=False).encode()


def error_reply(
    status: int, message: str = "scripted fault", code: str | None = None, headers: dict[str, str] | None = None
) -> Reply:
    error = {"message": message, "type": code, "code": code}
    return status, headers or {}, json.dumps({"error": error}).encode()


def send(writer: asyncio.StreamWriter, reply: Reply, cut: bool) -> None:
    status, headers, body = reply
    lines = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(f"HTTP/1.1 {status} Scripted\r\n{head}\r\n".encode() + (body[: len(body) // 2] if cut else body))
    if cut:
        writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", help='JSON Lines of {"source": text, "answer": text}')
    parser.add_argument("--default", help="the answer to a message without a row; else HTTP 400")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--bad_share", type=float, default=0.0, help="share of bad answers")
    parser.add_argument("--bad_kinds", nargs="+", default=BAD_KINDS)
    parser.add_argument("--latency_ms", type=float, default=0.0)
    parser.add_argument("--fault_share", type=float, default=0.0, help="share of requests that meet a fault")
    parser.add_argument("--fault_kinds", nargs="+", default=("429", "500", "drop", "cut"), choices=FAULTS)
    parser.add_argument("--dead_after", type=int, help="gone after so many requests")
    parser.add_argument("--seed", type=int, default=0)
    flags = vars(parser.parse_args())
    table, default = flags.pop("table"), flags.pop("default")
    spoiling = {name: flags.pop(name) for name in ("bad_share", "bad_kinds")}
    answers = Answers(read_table(table) if table else {}, default, seed=flags["seed"], **spoiling)
    with ScriptedServer(answers, **flags) as server:
        print(f"serving at {server.base_url}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
