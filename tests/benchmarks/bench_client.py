"""How near the client comes to the ideal of its concurrency, and to the bare openai client, against a loopback server.

Run as: python -m tests.benchmarks.bench_client [--texts 5000] [--concurrency 64] [--latency_ms 500 50] [--rounds 1]
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from openai import AsyncOpenAI

from core.client import Answer, Client, Request, ServerOptions

SOURCE = "The committee met on Tuesday and decided, after a long debate, that the bridge is to be repaired. " * 4
ANSWER = "समिति की बैठक मंगलवार को हुई और लंबी बहस के बाद तय हुआ कि पुल की मरम्मत की जाएगी। " * 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency_ms", type=int, nargs="+", default=[500, 50])
    parser.add_argument("--rounds", type=int, default=1, help="the best of so many counts")
    flags = parser.parse_args()
    requests = [translation(number) for number in range(flags.texts)]
    for latency_ms in flags.latency_ms:
        with scripted_server(latency_ms) as url:
            times = [work(url, requests, flags.concurrency) for _ in range(flags.rounds) for work in (ours, bare)]
        ideal = latency_ms / 1000 * flags.texts / flags.concurrency
        our_best, bare_best = min(times[::2]), min(times[1::2])
        print(
            f"{latency_ms} ms, {flags.texts} texts, concurrency {flags.concurrency}: {our_best:.1f} s; "
            f"{ideal / our_best:.0%} of the ideal throughput ({ideal:.1f} s), "
            f"{bare_best / our_best:.0%} of the bare openai client's ({bare_best:.1f} s)"
        )


def translation(number: int) -> Request:
    messages = (
        {"role": "system", "content": "You translate into Hindi. Give the translation and nothing else."},
        {"role": "user", "content": f"{number}. {SOURCE}"},
    )
    return Request(str(number), messages, "translate", "1", "hi", {"temperature": 0.0, "max_tokens": 512})


def ours(url: str, requests: list[Request], concurrency: int) -> float:
    async def handle(request: Request) -> Answer:
        return await client.answer(request)

    with tempfile.TemporaryDirectory() as folder:
        start = perf_counter()
        with Client(ServerOptions(base_url=url, model="scripted", concurrency=concurrency, store=folder)) as client:
            answers = [answer for _, answer in client.map(requests, handle, "texts", len(requests))]
        seconds = perf_counter() - start
    assert len(answers) == len(requests)
    assert all(answer.text == ANSWER for answer in answers)
    return seconds


def bare(url: str, requests: list[Request], concurrency: int) -> float:
    async def run() -> None:
        slots = asyncio.Semaphore(concurrency)

        async def ask(request: Request) -> None:
            async with slots:
                await api.chat.completions.create(
                    model="scripted", messages=list(request.messages), **request.parameters
                )

        async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as api:
            await asyncio.gather(*map(ask, requests))

    start = perf_counter()
    asyncio.run(run())
    return perf_counter() - start


@contextmanager
def scripted_server(latency_ms: int) -> Iterator[str]:
    """In a process of its own, so that its work is not ours."""
    command = [sys.executable, "-m", "tests.scripted_server", "--port", "0", "--default", ANSWER]
    process = subprocess.Popen([*command, "--latency_ms", str(latency_ms)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
