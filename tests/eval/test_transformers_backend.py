"""Generation in process: verdicts and digit probabilities against forward passes written out by hand."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import LogitsProcessorList, PreTrainedTokenizerFast

from core.chat import encode_prompt
from core.length import Fitted
from core.prompt import build_messages
from core.verdict import parse_verdict
from eval.backends.completion import Completion, DigitStep, ExpectedScore
from eval.backends.transformers import DigitRecorder, DigitTokens, Sampling, TransformersBackend
from eval.grading import fit_records
from tests import pico
from tests.conftest import REPO
from tests.eval.pico_judge import RECORDS, SPEC
from train.generation import batches
from train.load import load_model, load_tokenizer

END = 6  # <end>, the end-of-turn token of the pico chat template


def backend(folder: Path, sampling: Sampling | None = None, max_new_tokens: int = 24) -> TransformersBackend:
    return TransformersBackend(load_model(folder, "float32", "cpu"), load_tokenizer(folder), max_new_tokens, sampling)


def prompts(tokenizer: Any) -> list[list[int]]:
    return [encode_prompt(tokenizer, build_messages(one, *SPEC[:2])) for one in RECORDS]


def greedy_by_hand(model: Any, prompt: list[int], most: int = 100) -> tuple[list[int], list[torch.Tensor]]:
    """Generated tokens up to <end>, or the first ``most``, and the probabilities [vocab] of each step's forward pass."""
    tokens: list[int] = []
    steps: list[torch.Tensor] = []
    with torch.no_grad():
        while len(tokens) < most:
            logits = model(torch.tensor([prompt + tokens])).logits[0, -1]
            if logits.argmax() == END:
                break
            tokens.append(int(logits.argmax()))
            steps.append(logits.softmax(-1))
    return tokens, steps


def test_expected_score_is_that_of_a_forward_pass_at_the_digit(judge_folder: Path) -> None:
    judge = backend(judge_folder)
    digits = [judge.tokenizer.convert_tokens_to_ids(f"Ġ{score}") for score in range(1, 6)]
    for prompt, record in zip(prompts(judge.tokenizer), RECORDS, strict=True):
        tokens, steps = greedy_by_hand(judge.model, prompt)
        step = next(n for n, token in enumerate(tokens) if token in digits)
        p = steps[step][digits].tolist()
        completion = judge.complete([prompt])[0]
        assert completion.text == judge.tokenizer.decode(tokens) == f"good feedback. [RESULT] {record.score}"
        found = completion.expected_score(parse_verdict(completion.text).digit_offset)
        assert found is not None
        assert found.mass == pytest.approx(sum(p), abs=1e-5)
        assert found.mass < 0.9999  # else p would say nothing of the denominator
        weighted = 1 * p[0] + 2 * p[1] + 3 * p[2] + 4 * p[3] + 5 * p[4]
        assert found.value == pytest.approx(weighted / sum(p), abs=1e-5)


def test_expected_score_by_hand() -> None:
    # (1·.1 + 2·0 + 3·0 + 4·.5 + 5·.2) / .8 = 3.1 / .8
    completion = Completion("2: [RESULT] 4", [DigitStep(0, (0, 1, 0, 0, 0)), DigitStep(12, (0.1, 0, 0, 0.5, 0.2))])
    found = completion.expected_score(12)
    assert found is not None
    assert found.value == pytest.approx(3.875)
    assert found.mass == pytest.approx(0.8)
    assert completion.expected_score(0) == ExpectedScore(2.0, 1)
    assert completion.expected_score(11) is None
    assert completion.expected_score(None) is None


def test_a_batch_of_different_lengths_gives_what_one_by_one_gives(judge_folder: Path) -> None:
    judge = backend(judge_folder)
    ids = prompts(judge.tokenizer)
    assert len({len(prompt) for prompt in ids}) == len(ids)
    for alone, together in zip((judge.complete([prompt])[0] for prompt in ids), judge.complete(ids), strict=True):
        assert together.text == alone.text
        assert [step.offset for step in together.digits] == [step.offset for step in alone.digits]
        assert together.digits[-1].probabilities == pytest.approx(alone.digits[-1].probabilities, abs=1e-5)


def test_what_else_a_generation_config_asks_for_is_left_out(judge_folder: Path) -> None:
    plain = backend(judge_folder)
    model = load_model(judge_folder, "float32", "cpu")
    model.generation_config.repetition_penalty = 9.0
    model.generation_config.suppress_tokens = [plain.tokenizer.convert_tokens_to_ids("Ġ4")]
    altered = TransformersBackend(model, plain.tokenizer, 24)
    ids = prompts(plain.tokenizer)
    assert altered.complete(ids) == plain.complete(ids)


def test_recorded_probabilities_are_those_of_the_raw_logits_also_where_decoding_alters_them(judge_folder: Path) -> None:
    judge = backend(judge_folder, Sampling(temperature=0.3, top_p=0.8))
    prompt = prompts(judge.tokenizer)[1]
    digits = DigitTokens(judge.tokenizer)
    recorder = DigitRecorder(digits, len(prompt))
    out = judge.model.generate(
        input_ids=torch.tensor([prompt, prompt]),
        attention_mask=torch.ones(2, len(prompt), dtype=torch.long),
        logits_processor=LogitsProcessorList([recorder]),
        output_logits=True,
        return_dict_in_generate=True,
    )
    recorder.settle(out.sequences)
    seen = 0
    for row in range(2):
        for step, token in enumerate(out.sequences[row, len(prompt) :].tolist()):
            five = digits.alternatives(token)
            if five is not None:
                expected = out.logits[step][row].softmax(-1)[five].tolist()
                assert recorder.found[row][step] == pytest.approx(expected, abs=1e-6)
                seen += 1
    assert seen >= 2
    assert seen == sum(len(steps) for steps in recorder.found.values())


def test_a_model_that_never_stops_ends_at_max_new_tokens(tmp_path: Path) -> None:
    judge = backend(pico.save(tmp_path / "untaught"), max_new_tokens=7)
    prompt = prompts(judge.tokenizer)[0]
    tokens, _ = greedy_by_hand(judge.model, prompt, most=7)
    assert len(tokens) == 7
    assert judge.complete([prompt])[0].text == judge.tokenizer.decode(tokens)


def test_a_digit_that_max_new_tokens_leaves_last_has_its_probabilities(judge_folder: Path) -> None:
    whole = backend(judge_folder)
    prompt = prompts(whole.tokenizer)[0]
    tokens, _ = greedy_by_hand(whole.model, prompt)
    cut = backend(judge_folder, max_new_tokens=len(tokens))  # no room for <end>
    (ended,), (unended,) = whole.complete([prompt]), cut.complete([prompt])
    assert (unended.text, unended.digits) == (ended.text, ended.digits)
    assert (ended.failure, unended.failure) == (None, "cut at max_new_tokens")


def test_sampling_is_fixed_by_seed_and_batch_number(tmp_path: Path) -> None:
    folder = pico.save(tmp_path / "untaught")
    hot = Sampling(temperature=2.0, seed=1)
    ids = prompts(load_tokenizer(folder))
    judge = backend(folder, hot)
    first, second = judge.complete(ids, 0), judge.complete(ids, 1)
    assert backend(folder, hot).complete(ids, 0) == first
    assert first != second
    assert backend(folder, hot._replace(seed=2)).complete(ids, 0) != first


def test_digit_tokens_keep_their_form() -> None:
    tokenizer = pico.tokenizer()
    digits = DigitTokens(tokenizer)
    four, space_four = tokenizer.convert_tokens_to_ids(["4", "Ġ4"])
    assert digits.alternatives(four) == tokenizer.convert_tokens_to_ids(["1", "2", "3", "4", "5"])
    assert digits.alternatives(space_four) == tokenizer.convert_tokens_to_ids(["Ġ1", "Ġ2", "Ġ3", "Ġ4", "Ġ5"])
    for other in ("6", "0", "Ġgood", "<end>", "Ġ"):
        assert digits.alternatives(tokenizer.convert_tokens_to_ids(other)) is None


@pytest.mark.parametrize(("pieces", "known"), [("१२३४५", True), ("१२३४", False)])
def test_digits_of_any_script_count_if_all_five_are_tokens(pieces: str, known: bool) -> None:
    vocabulary = {"<unk>": 0, **{piece: n for n, piece in enumerate(pieces, start=1)}}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>")), unk_token="<unk>"
    )
    assert DigitTokens(tokenizer).alternatives(vocabulary["४"]) == ([1, 2, 3, 4, 5] if known else None)


def test_batches_hold_a_budget_of_padded_tokens() -> None:
    rows = [Fitted(RECORDS[0], [], tokens, False) for tokens in (10, 90, 40, 100, 30)]
    # Longest first: 100, 90, 40, 30, 10, each with 20 to come. 250 hold 2 of 120 (3 of 60, the third batch's).
    assert batches(rows, 8, 250, 20) == [[3, 1], [2, 4, 0]]
    assert batches(rows, 2, 250, 20) == [[3, 1], [2, 4], [0]]
    assert batches(rows, 8, 119, 20) == [[3], [1], [2], [4, 0]]  # 120 by itself is over it; 30 + 20 twice is not
    assert batches(rows, 8) == [[3, 1, 2, 4, 0]]


def test_a_batch_that_is_done_in_part_is_planned_whole(judge_folder: Path) -> None:
    judge = TransformersBackend(load_model(judge_folder, device="cpu"), load_tokenizer(judge_folder), batch_size=2)
    fitted = fit_records(RECORDS, judge.tokenizer, SPEC)
    assert judge.plan(fitted) == [(0, [1, 2]), (1, [0, 3])]
    assert judge.plan(fitted, {"c", "a", "d"}) == [(0, [1, 2])]
    assert judge.plan(fitted, {"a", "b", "c", "d"}) == []


@pytest.mark.slow
def test_where_memory_runs_out_batches_are_halved_and_the_verdicts_are_the_same(judge_folder: Path) -> None:
    """In a process of its own, whose address space ends a little above what it has."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.eval.little_memory", str(judge_folder)],
        cwd=REPO,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["one prompt alone: ModelError", "32 equal"]
    said = [line for line in done.stderr.splitlines() if "out of memory" in line]
    assert "out of memory at 32 prompts of up to " in said[0]
    assert 1 <= len(said) <= 4
