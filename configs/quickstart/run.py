"""The main job on a small real model: the README's commands, one after another, each printed before it runs.

Run as:
    python configs/quickstart/run.py

Each command has a process of its own. Where the system can fork (Linux), that process starts with the libraries loaded:
a third of the time of sixteen cold starts is imports.
"""

import multiprocessing
import runpy
import shlex
import sys
import time

FOLDER = "runs/quickstart"
JUDGE = "eval.judge --config configs/quickstart/judge.yaml --model_name_or_path"
COMMANDS = f"""
data_prep.convert --config configs/quickstart/records.yaml
train.embedded --output_dir {FOLDER}/base
train.sft --config configs/quickstart/train.yaml --language hi
train.sft --config configs/quickstart/train.yaml --language fr
merge.fold --adapter {FOLDER}/experts/hi --output_dir {FOLDER}/hi-full --if_exists overwrite
merge.fold --adapter {FOLDER}/experts/fr --output_dir {FOLDER}/fr-full --if_exists overwrite
merge.run --config configs/quickstart/linear.yaml
merge.run --config configs/quickstart/ties.yaml
{JUDGE} {FOLDER}/base --chat_template gemma --judge base --output {FOLDER}/judge-base
{JUDGE} {FOLDER}/hi-full --judge hi --min_scored 0.8 --output {FOLDER}/judge-hi
{JUDGE} {FOLDER}/fr-full --judge fr --min_scored 0.8 --output {FOLDER}/judge-fr
{JUDGE} {FOLDER}/linear --output {FOLDER}/judge-linear
{JUDGE} {FOLDER}/ties --output {FOLDER}/judge-ties
eval.agree --config configs/quickstart/agree.yaml
eval.directions --config configs/quickstart/directions.yaml --source hi --output {FOLDER}/directions-hi
eval.directions --config configs/quickstart/directions.yaml --source fr --output {FOLDER}/directions-fr
eval.summaries --config configs/quickstart/summaries.yaml
eval.report --config configs/quickstart/report.yaml
"""


def main() -> int:
    """Run all commands; the exit status of the first that fails, else 0."""
    start = time.monotonic()
    processes = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    if sys.platform == "linux":
        load_libraries()
    for line in COMMANDS.strip().splitlines():
        print(f"\n$ python -m {line}", flush=True)
        process = processes.Process(target=run, args=(shlex.split(line),))
        process.start()
        process.join()
        if process.exitcode:
            return process.exitcode
    print(f"\n{time.monotonic() - start:.0f} s. Open {FOLDER}/report/report.html")
    return 0


def run(words: list[str]) -> None:
    """``python -m words``, in this process."""
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


def load_libraries() -> None:
    """Import what the commands would each import. Nothing is computed here, so no thread is there to be lost in a fork."""
    import mergekit.merge  # noqa: F401
    import peft  # noqa: F401
    from transformers import Gemma3ForCausalLM  # noqa: F401
    from trl import SFTTrainer  # noqa: F401


if __name__ == "__main__":
    sys.exit(main())
