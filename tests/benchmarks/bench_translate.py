"""What data_prep.translate costs: against the ideal and the bare openai client, from stored answers, and its join of texts.

Run as: python -m tests.benchmarks.bench_translate
or, smaller: python -m tests.benchmarks.bench_translate --texts 1000 --rows 1000 10000

Prints ratios of runs made one after the other. The server has a process of its own.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import openai

from core.answer_store import AnswerStore
from core.client import Answer
from core.languages import language
from core.records import JudgeRecord, read_records, write_records
from data_prep.translate import TranslateConfig, main
from data_prep.translation import Translated, text_key, translation_request
from data_prep.translation_records import unique_texts
from data_prep.translation_table import TranslationTable
from tests.data_prep.made_up_texts import hindi_text, records
from tests.scripted_answers import Answers, last_user_message
from tests.scripted_server import ScriptedServer

CONCURRENCY = 64
_PROCESSES = multiprocessing.get_context("spawn")


def bench() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=5000, help="unique texts to ask for")
    parser.add_argument("--latencies", type=float, nargs="*", default=[500, 50], help="milliseconds")
    parser.add_argument(
        "--rows", type=int, nargs="*", default=[10_000, 100_000], help="records built from stored answers"
    )
    parser.add_argument("--joined", type=int, default=5000, help="records of the comparison with a search of a table")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for latency in flags.latencies:
            compare_with_client(Path(folder) / f"asked-{latency:g}", flags.texts, latency)
        build_times([(rows, *in_own_process(build, Path(folder) / f"built-{rows}", rows)) for rows in flags.rows])
        compare_with_search(Path(folder), flags.joined)


def compare_with_client(folder: Path, texts: int, latency: float) -> None:
    """The whole command against the ideal, and against as many requests of the bare client."""
    folder.mkdir()
    write_records(records(texts * 5 // 6), folder / "records.jsonl")
    requests = [
        translation_request(text.text, language("hi"), text.kind, options(folder))
        for text in unique_texts(folder / "records.jsonl", ("instruction", "response"))
    ]
    parent, child = _PROCESSES.Pipe()
    server = _PROCESSES.Process(target=serve, args=(child, latency), daemon=True)
    server.start()
    base_url = parent.recv()
    bare, bare_cpu = timed(lambda: asyncio.run(ask_all(base_url, [request.body("scripted") for request in requests])))
    whole, whole_cpu = timed(lambda: main(options(folder, base_url=base_url)))
    parent.send(None)
    server.join()
    ideal = -(-len(requests) // CONCURRENCY) * latency / 1000
    texts = len(requests)
    print(
        f"{texts} texts, {latency:g} ms, concurrency {CONCURRENCY}: translate {whole:.2f} s, {ideal / whole:.0%} of the "
        f"ideal {ideal:.2f} s; bare openai client {bare:.2f} s, {ideal / bare:.0%}; translate at {bare / whole:.0%} of it "
        f"(processor: {whole_cpu / texts * 1e3:.2f} and {bare_cpu / texts * 1e3:.2f} ms a text)"
    )


def serve(pipe: Connection, latency: float) -> None:
    def answer(body: dict[str, Any]) -> str:
        return hindi_text(last_user_message(body).split("\n", 1)[1].rsplit("\n", 1)[0])

    with ScriptedServer(Answers(answer), latency_ms=latency) as server:
        pipe.send(server.base_url)
        pipe.recv()


async def ask_all(base_url: str, bodies: Sequence[dict[str, Any]]) -> None:
    waiting = iter(bodies)
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:

        async def worker() -> None:
            for body in waiting:
                await client.chat.completions.create(**body)

        await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))


def build(folder: Path, rows: int) -> tuple[float, float, float]:
    """Seconds of a run that finds every answer in the store, MiB at most, and MiB before it."""
    folder.mkdir()
    path = folder / "records.jsonl"
    write_records(records(rows), path)
    store, target, config = AnswerStore(folder / "store"), language("hi"), options(folder)
    wanted = (
        (text, translation_request(text.text, target, text.kind, config))
        for text in unique_texts(path, ("instruction", "response"))
    )
    store.extend(
        Answer(request.key("scripted"), request.task, "hi", "scripted", hindi_text(text.text), "stop")
        for text, request in wanted
    )
    store.close()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, most = in_own_process(run_built, folder)
    return seconds, most, before


def run_built(folder: Path) -> tuple[float, float]:
    seconds, _ = timed(lambda: main(options(folder, base_url="http://127.0.0.1:9/v1")))
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def build_times(built: Sequence[tuple[int, float, float, float]]) -> None:
    for rows, seconds, most, _ in built:
        print(
            f"{rows} records from stored answers: {seconds:.1f} s, {seconds / rows * 1e3:.2f} ms a record, {most:.0f} MiB at most"
        )
    for (few, short, *_), (many, long, *_) in itertools.pairwise(built):
        print(f"{many / few:g} times the records took {long / short:.1f} times the time")


def compare_with_search(folder: Path, rows: int) -> None:
    """Putting translations into records: by key, and by looking through a table for the equal text, row by row."""
    import pandas as pd

    path = folder / "joined.jsonl"
    write_records(records(rows), path)
    english = read_records(path)
    texts = list(unique_texts(path, ("instruction", "response")))
    frame = pd.DataFrame({"source": [t.text for t in texts], "translation": [hindi_text(t.text) for t in texts]})
    with TranslationTable(folder) as table:
        for text in texts:
            table.add(text_key(text.text), Translated(hindi_text(text.text)))
        by_key: list[Any] = []
        quick, _ = timed(
            lambda: by_key.extend(table.translate(one, "hi", ("instruction", "response")) for one in english)
        )
    searched: list[JudgeRecord] = []
    slow, _ = timed(lambda: searched.extend(search(one, frame) for one in english))
    assert by_key == searched
    print(
        f"{rows} records joined with {len(texts)} translations: {quick:.3f} s; search of a table {slow:.1f} s, {slow / quick:.0f} times as long"
    )


def search(record: JudgeRecord, frame: Any) -> JudgeRecord:
    found = {
        name: frame.loc[frame["source"] == getattr(record, name), "translation"].iloc[0]
        for name in ("instruction", "response")
    }
    return record.model_copy(update={"language": "hi", **found})


def options(folder: Path, base_url: str | None = None) -> TranslateConfig:
    return TranslateConfig(
        model="scripted",
        base_url=base_url,
        concurrency=CONCURRENCY,
        store=folder / "store",
        input=folder / "records.jsonl",
        language="hi",
        output=folder / "out",
    )


def in_own_process(work: Any, *arguments: Any) -> Any:
    """What ``work`` returns, run where no earlier work has taken memory."""
    parent, child = _PROCESSES.Pipe()
    process = _PROCESSES.Process(target=send_result, args=(child, work, arguments))
    process.start()
    try:
        return parent.recv()
    except EOFError:
        sys.exit(f"{work.__name__} failed")
    finally:
        process.join()


def send_result(pipe: Connection, work: Any, arguments: Sequence[Any]) -> None:
    pipe.send(work(*arguments))


def timed(work: Any) -> tuple[float, float]:
    """Seconds by the clock and of this process's processor time."""
    start, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - processor


if __name__ == "__main__":
    bench()
