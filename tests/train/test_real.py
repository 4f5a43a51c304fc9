"""A few LoRA steps of the embedded model on real graded English records."""

import json
from pathlib import Path

import pytest

from core.records import JudgeRecord, write_records
from tests.train.pico_training import train
from train.check import check_checkpoint

pytestmark = [pytest.mark.real, pytest.mark.slow]


def graded(shared_data: Path) -> list[JudgeRecord]:
    lines = (shared_data / "recon_en_graded.jsonl").read_text(encoding="utf-8").splitlines()
    return [JudgeRecord.model_validate({**json.loads(line), "language": "en"}) for line in lines]


def test_the_embedded_model_learns_the_form_of_a_verdict(
    embedded_model: Path, shared_data: Path, tmp_path: Path
) -> None:
    records = sorted(graded(shared_data), key=lambda r: len(r.instruction + r.response + str(r.reference_answer)))
    held_out_items = sorted({record.item_id for record in records[:40]})[::5]
    train_rows = [record for record in records if record.item_id not in held_out_items][:16]
    held_out = [record for record in records[:40] if record.item_id in held_out_items][:4]
    write_records(train_rows, tmp_path / "train.jsonl")
    write_records(held_out, tmp_path / "validation.jsonl")

    output = train(
        tmp_path,
        "out",
        model_name_or_path=embedded_model,
        validation_file=tmp_path / "validation.jsonl",
        chat_template="gemma",
        dtype="bfloat16",
        attn_implementation="eager",
        use_peft=True,
        learning_rate=2e-3,
        max_steps=8,
        per_device_train_batch_size=2,
        save_strategy="no",
    )
    log = json.loads((output / "trainer_state.json").read_text())["log_history"]
    loss = [entry["loss"] for entry in log if "loss" in entry]
    (held_out_loss,) = [entry["eval_loss"] for entry in log if "eval_loss" in entry]
    assert len(loss) == 8
    assert sum(loss[-2:]) < sum(loss[:2])
    assert held_out_loss < loss[0]
    checked = check_checkpoint(output)
    assert checked.stops == [1, 106]  # <eos> and <end_of_turn>
    assert checked.tensors == 18 * 7 * 2
