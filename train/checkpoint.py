"""A trained judge on disk: what train.sft saves at the end, and where it goes on after a crash."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.prompt_spec import PromptSpec
from core.run import shown_path

TRAINER_STATE = "trainer_state.json"


def last_checkpoint(output_dir: str | Path) -> str | None:
    """The last checkpoint that was written to its end (the trainer's state is its last file), or None."""
    complete = [path.parent for path in Path(output_dir).glob(f"checkpoint-*/{TRAINER_STATE}")]
    return str(max(complete, key=lambda path: int(path.name.split("-")[-1]))) if complete else None


def save_judge(trainer: Any, spec: PromptSpec, languages: Sequence[str], base_model: str) -> None:
    """Write model or adapter, tokenizer, generation config, trainer state and judge.json. All processes call it."""
    trainer.save_model()
    trainer.save_state()
    if trainer.is_world_process_zero():
        folder = Path(trainer.args.output_dir)
        trainer.model.generation_config.save_pretrained(folder)  # an adapter's save leaves it out
        (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle of what the manifest says in plain text
        spec.save(folder, languages=list(languages), base_model=shown_path(base_model))
